import type { Problem } from "../../errors.ts";
import { LogAllowance, type LogLimits, type LogVerdict, noteOf } from "../../wire/log-allowance.ts";
import { parseFault } from "./parse-messages.ts";

/** The factor for the limits here. A guest applies them by its own clock, and its notes about dropped lines come on top. */
const TOLERANCE = 2;
const WARN = 2;

/** Receives the log lines and late errors of a run, also after its answer. It must not keep the request alive. */
export interface RunLogSink {
  /** Receives a line that the task wrote to its console. */
  log(level: number, text: Buffer): void;
  /** Receives a failure that the answer of the run does not report. */
  lateError(problem: Problem): void;
}

/** The log lines and late errors of one run, within its limits. */
export class RunLog {
  readonly #sink: RunLogSink;
  /** Created with the first line. */
  #allowance: LogAllowance | null = null;

  constructor(sink: RunLogSink) {
    this.#sink = sink;
  }

  /** @returns false if the line exceeds the limits: the guest should have dropped it. */
  line(payload: Buffer, limits: LogLimits): boolean {
    if (this.#take(payload, limits) !== "keep") return false;
    this.#sink.log(payload[0] ?? 0, payload.subarray(1));
    return true;
  }

  /** @returns as `line` does. @throws {TypeError} if the message is invalid. */
  lateError(payload: Buffer, limits: LogLimits): boolean {
    if (this.#take(payload, limits) !== "keep") return false;
    this.#sink.lateError(parseFault(payload).problem);
    return true;
  }

  /** Reports a late error that the service detected. */
  lateProblem(problem: Problem): void {
    this.#sink.lateError(problem);
  }

  #take(payload: Buffer, limits: LogLimits): LogVerdict {
    this.#allowance ??= new LogAllowance({
      bytes: limits.bytes * TOLERANCE,
      linesPerSecond: limits.linesPerSecond * TOLERANCE,
    });
    const verdict = this.#allowance.take(payload.length, performance.now());
    if (verdict === "full" || verdict === "fast") this.#sink.log(WARN, Buffer.from(noteOf(verdict, limits)));
    return verdict;
  }
}

/** The minimum number of ended runs whose logs are kept. At a few hundred runs a second they last for some seconds. */
const MIN_LOGS = 1_024;

/**
 * The logs of the last ended runs of a guest. Timers and promises that a run left behind may still write to its log.
 *
 * Two maps that are only filled, and dropped as a whole. If a map is filled and emptied all the time, V8 keeps what it held.
 */
export class PastLogs {
  #newer: Map<number, RunLog> = new Map();
  #older: Map<number, RunLog> = new Map();

  add(id: number, log: RunLog): void {
    if (this.#newer.size >= MIN_LOGS) {
      this.#older = this.#newer;
      this.#newer = new Map();
    }
    this.#newer.set(id, log);
  }

  get(id: number): RunLog | null {
    return this.#newer.get(id) ?? this.#older.get(id) ?? null;
  }
}
