import { write, writeSync } from "node:fs";

/** The most bytes of lines that wait for a reader that is too slow. */
const MOST_WAITING_BYTES = 8 << 20;
/** The most bytes of one write, but for a single line that is longer. */
const WRITE_BYTES = 64 << 10;
/** The pauses before a full pipe is tried again: each is twice as long as the one before, until the reader takes something. */
const FIRST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 160;
/** The pause before a write is repeated that failed, such as on a full disk. */
const FAILED_PAUSE_MS = 1_000;
/** The time that a process that ends gives to a reader of the lines that are left. */
const LAST_WRITES_MS = 1_000;
const LAST_PAUSE_MS = 20;
/** After these errors no reader can read the log again. */
const FINAL: ReadonlySet<unknown> = new Set(["EPIPE", "EBADF", "ECONNRESET"]);

/** Characters that JSON leaves as they are, and that some terminals obey: C1 controls, line separators and directions of text. */
const OBEYED = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** What the log has lost since the start. */
export interface LogLosses {
  /** The number of lines that no reader can read. */
  readonly dropped: number;
  /** Why the last write failed; null if it did not, and for a reader that is only slow. */
  readonly failure: string | null;
}

/**
 * Writes the lines of the log to a file descriptor. A reader that stalls or fails costs lines and nothing else: at most 8 MiB
 * wait for it, no write throws, and the end of the process waits a second for it at most.
 */
export class LogOutput {
  readonly #descriptor: number;
  #waiting: { readonly line: string; readonly bytes: number }[] = [];
  #waitingBytes = 0;
  /** The bytes that the running or next write begins with. */
  #chunk: Buffer = Buffer.alloc(0);
  /** Whether the chunk is being written, or waits to be tried again. */
  #isBusy = false;
  /** Whether the system has the chunk. */
  #isInFlight = false;
  #isClosed = false;
  #pauseMs = FIRST_PAUSE_MS;
  #dropped = 0;
  /** The lines that were dropped since the last line that counts them. */
  #uncounted = 0;
  #failure: string | null = null;

  constructor(descriptor: number) {
    this.#descriptor = descriptor;
    process.once("exit", () => this.flush());
  }

  get losses(): LogLosses {
    return { dropped: this.#dropped, failure: this.#failure };
  }

  /** Writes a line of JSON, which ends with a line break, now or when the reader is ready. */
  write(json: string): void {
    const line = json.replaceAll(OBEYED, escaped);
    const bytes = Buffer.byteLength(line);
    if (this.#isClosed || this.#waitingBytes + bytes > MOST_WAITING_BYTES) {
      this.#dropped++;
      this.#uncounted++;
      return;
    }
    if (this.#uncounted > 0) this.#countDropped();
    this.#push(line, bytes);
    if (!this.#isBusy) this.#next();
  }

  /** Writes what waits, in the order of its lines, until the reader takes no more for a second. Blocks the process. */
  flush(): void {
    const deadlineMs = performance.now() + LAST_WRITES_MS;
    const sleeper = new Int32Array(new SharedArrayBuffer(4));
    if (this.#isInFlight) {
      // Another thread writes the chunk. Written here too, it could stand in the log twice.
      Atomics.wait(sleeper, 0, 0, LAST_PAUSE_MS);
      this.#written(this.#chunk.length);
    }
    while (!this.#isClosed && this.#take()) {
      try {
        this.#written(writeSync(this.#descriptor, this.#chunk));
      } catch (error) {
        if (!isFull(error) || performance.now() > deadlineMs) return;
        Atomics.wait(sleeper, 0, 0, LAST_PAUSE_MS);
      }
    }
  }

  #push(line: string, bytes: number): void {
    this.#waiting.push({ line, bytes });
    this.#waitingBytes += bytes;
  }

  #countDropped(): void {
    const msg = `${this.#uncounted} lines of the log were left out, because its reader was too slow or had failed`;
    const line = `${JSON.stringify({ level: "warn", time: new Date().toISOString(), msg })}\n`;
    this.#uncounted = 0;
    this.#push(line, Buffer.byteLength(line));
  }

  /** Makes the next chunk of the lines that wait, unless one is left. @returns whether there is a chunk */
  #take(): boolean {
    if (this.#chunk.length > 0) return true;
    let count = 0;
    let bytes = 0;
    for (const next of this.#waiting) {
      if (count > 0 && bytes + next.bytes > WRITE_BYTES) break;
      bytes += next.bytes;
      count++;
    }
    if (count === 0) return false;
    const taken = this.#waiting.splice(0, count);
    this.#chunk = Buffer.from(taken.map(({ line }) => line).join(""));
    return true;
  }

  #written(bytes: number): void {
    this.#chunk = this.#chunk.subarray(bytes);
    this.#waitingBytes -= bytes;
    this.#failure = null;
  }

  #next(): void {
    this.#isBusy = this.#take();
    if (!this.#isBusy) return;
    this.#isInFlight = true;
    write(this.#descriptor, this.#chunk, (error, bytes) => this.#done(error, bytes));
  }

  #done(error: Error | null, bytes: number): void {
    this.#isInFlight = false;
    if (error === null) {
      this.#written(bytes);
      this.#pauseMs = FIRST_PAUSE_MS;
      return this.#next();
    }
    if (isFull(error)) {
      const pauseMs = this.#pauseMs;
      this.#pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
      return this.#nextAfter(pauseMs);
    }
    this.#failure = error.message;
    if (!FINAL.has(codeOf(error))) return this.#nextAfter(FAILED_PAUSE_MS);
    this.#isClosed = true;
    this.#dropped += this.#waiting.length + 1;
    this.#waiting = [];
    this.#chunk = Buffer.alloc(0);
  }

  #nextAfter(pauseMs: number): void {
    setTimeout(() => this.#next(), pauseMs).unref();
  }
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** Whether a pipe has no room. */
function isFull(error: unknown): boolean {
  return codeOf(error) === "EAGAIN";
}

function codeOf(error: unknown): unknown {
  return (error as NodeJS.ErrnoException).code;
}
