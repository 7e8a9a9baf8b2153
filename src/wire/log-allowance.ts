const SECOND_MS = 1_000;
/** What a note is counted as, so that a run which logs too fast for ever comes to an end of it too. */
const NOTE_BYTES = 128;

/** What one run may write to its log. */
export interface LogLimits {
  /** In all. A run that logs in a loop must not fill the service's memory or the reader's disk. */
  readonly bytes: number;
  /** In one second. Short lines cost the service and the reader as much as long ones. */
  readonly linesPerSecond: number;
}

/**
 * What becomes of a line: `full` and `fast` are dropped like those that follow them, and what `noteOf` says is kept in
 * their stead.
 */
export type LogVerdict = "keep" | "drop" | "full" | "fast";

/** Counts what one run has logged. The guest counts, so that less is sent; the service does, because a guest may lie. */
export class LogAllowance {
  readonly #limits: LogLimits;
  #bytes = 0;
  #isFull = false;
  #secondMs = -Infinity;
  #lines = 0;

  constructor(limits: LogLimits) {
    this.#limits = limits;
  }

  /** @param nowMs on the clock of `performance.now()`. */
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

/** What the reader of the log is told. */
export function noteOf(verdict: "full" | "fast", { bytes, linesPerSecond }: LogLimits): string {
  if (verdict === "full") return `the run has logged ${bytes} bytes; the rest is dropped`;
  return `the run has logged ${linesPerSecond} lines in a second; the rest of the second is dropped`;
}
