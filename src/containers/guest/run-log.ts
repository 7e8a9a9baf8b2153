import type { Problem } from "../../errors.ts";
import { LogAllowance, type LogLimits, type LogVerdict, noteOf } from "../../wire/log-allowance.ts";
import { parseFault } from "./parse-messages.ts";

/** A guest drops what is too much by its own clock, and what it says of that comes on top. */
const TOLERANCE = 2;
const WARN = 2;

/** Who hears what a run says beside its answer, also when it has been answered. It must hold nothing of the request. */
export interface RunLogSink {
  /** The task wrote to its console. */
  log(level: number, text: Buffer): void;
  /** Something of the run failed of which its answer tells nothing. */
  lateError(problem: Problem): void;
}

/** What one run says beside its answer, within bounds. */
export class RunLog {
  readonly #sink: RunLogSink;
  /** Made when it first says something. */
  #allowance: LogAllowance | null = null;

  constructor(witness: RunLogSink) {
    this.#sink = witness;
  }

  /** @returns false for what is too much: the guest should have dropped it by itself. */
  line(payload: Buffer, limits: LogLimits): boolean {
    if (this.#take(payload, limits) !== "keep") return false;
    this.#sink.log(payload[0] ?? 0, payload.subarray(1));
    return true;
  }

  /** @returns as `line` does. @throws {TypeError} when the message does not fit. */
  lateError(payload: Buffer, limits: LogLimits): boolean {
    if (this.#take(payload, limits) !== "keep") return false;
    this.#sink.lateError(parseFault(payload).problem);
    return true;
  }

  /** As `unheard`, in the words of the service. */
  lost(problem: Problem): void {
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

/** Of so many runs at least: at a few hundred a second, what they left behind has some seconds to say something. */
const KEPT = 1_024;

/**
 * The logs of the runs that a guest answered last: what they left behind may still say something, and belongs to them.
 *
 * Two tables that are only ever filled, and dropped whole: V8 keeps what one held that is filled and emptied all the time.
 */
export class PastLogs {
  #last: Map<number, RunLog> = new Map();
  #before: Map<number, RunLog> = new Map();

  add(id: number, log: RunLog): void {
    if (this.#last.size >= KEPT) {
      this.#before = this.#last;
      this.#last = new Map();
    }
    this.#last.set(id, log);
  }

  get(id: number): RunLog | null {
    return this.#last.get(id) ?? this.#before.get(id) ?? null;
  }
}
