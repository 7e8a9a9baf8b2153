const SECOND_MS = 1_000;
/** The bytes that a note counts for. So a run that logs too fast for ever also reaches its byte limit. */
const NOTE_BYTES = 128;

/** The log limits of one run. */
export interface LogLimits {
  /** The total. A run that logs in a loop must not fill the service's memory or the reader's disk. */
  readonly bytes: number;
  /** Short lines cost the service and the reader as much as long lines. */
  readonly linesPerSecond: number;
}

/**
 * The decision about a line. `full` and `fast` drop the line as `drop` does, and the text of `noteOf` is logged instead.
 */
export type LogVerdict = "keep" | "drop" | "full" | "fast";

/** Counts what one run has logged. The guest counts to send less; the service counts too, because a guest may lie. */
export class LogAllowance {
  readonly #limits: LogLimits;
  #bytes = 0;
  #isFull = false;
  #secondMs = -Infinity;
  #lines = 0;

  constructor(limits: LogLimits) {
    this.#limits = limits;
  }

  /** @param nowMs The current time of a monotonic clock, for example `performance.now()`. */
  take(bytes: number, nowMs: number): LogVerdict {
    if (this.#isFull) return "drop";
    if (nowMs - this.#secondMs >= SECOND_MS) {
      this.#secondMs = nowMs;
      this.#lines = 0;
    }
    this.#lines += 1;
    const { linesPerSecond } = this.#limits;
    const isFast = this.#lines > linesPerSecond;
    if (isFast && this.#lines > linesPerSecond + 1) return "drop";
    this.#bytes += isFast ? NOTE_BYTES : bytes;
    if (this.#bytes <= this.#limits.bytes) return isFast ? "fast" : "keep";
    this.#isFull = true;
    return "full";
  }
}

/** Returns the note that is logged when lines are dropped. */
export function noteOf(verdict: "full" | "fast", { bytes, linesPerSecond }: LogLimits): string {
  if (verdict === "full") return `the run has logged ${bytes} bytes; the rest is dropped`;
  return `the run has logged ${linesPerSecond} lines in a second; the rest of the second is dropped`;
}
