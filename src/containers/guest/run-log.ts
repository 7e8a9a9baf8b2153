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

/** The number of ended runs that are remembered. At a few hundred runs a second they last for some seconds. */
const MAX_RUNS = 2_048;

/**
 * The last ended runs of a guest, with their logs and token families. Timers and promises that a run left behind may still write to its log
 * and use the network.
 *
 * A ring, because each run is added, and few are looked up. A search takes about a microsecond.
 */
export class PastRuns {
  readonly #ids: number[] = [];
  readonly #logs: RunLog[] = [];
  readonly #families: string[] = [];
  /** The place of the next run, that of the oldest when the ring is full. */
  #next = 0;

  add(id: number, log: RunLog, family: string): void {
    this.#ids[this.#next] = id;
    this.#logs[this.#next] = log;
    this.#families[this.#next] = family;
    this.#next = (this.#next + 1) % MAX_RUNS;
  }

  logOf(id: number): RunLog | null {
    return this.#logs[this.#ids.lastIndexOf(id)] ?? null;
  }

  familyOf(id: number): string | null {
    return this.#families[this.#ids.lastIndexOf(id)] ?? null;
  }
}
