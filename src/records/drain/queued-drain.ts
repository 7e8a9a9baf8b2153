import { setTimeout as pause } from "node:timers/promises";

import { type Drain, type DrainLosses, type DrainSink, DeliveryError, RejectedBatch } from "./drain.ts";

/** The bounds and times of a queue. */
export interface QueueOptions {
  /** The bytes of all queued lines. A collector that does not answer costs no more memory. */
  readonly queueBytes?: number;
  /** The bytes of a batch. A single longer line is a batch by itself. */
  readonly batchBytes?: number;
  /** How long lines are collected for a batch. */
  readonly collectMs?: number;
  /** The pause after the first failure. It doubles up to `longestPauseMs`. */
  readonly firstPauseMs?: number;
  readonly longestPauseMs?: number;
  /** How long `close` waits for the queue. */
  readonly closeMs?: number;
  /** Called when the delivery fails for the first time after it worked. */
  readonly onFailure?: (error: Error) => void;
}

const DEFAULTS = {
  queueBytes: 16 * 2 ** 20,
  batchBytes: 256 * 2 ** 10,
  collectMs: 250,
  firstPauseMs: 500,
  longestPauseMs: 30_000,
  closeMs: 5_000,
  onFailure: () => {},
};

/** A queue in front of a sink. A slow or lost collector costs records, which are counted, and never a run. */
export class QueuedDrain implements Drain {
  readonly #sink: DrainSink;
  readonly #options: Required<QueueOptions>;
  /** The queued lines from `#first` on, oldest first. */
  #lines: string[] = [];
  #first = 0;
  #bytes = 0;
  #dropped = 0;
  #failure: string | null = null;
  #work: Promise<void> | null = null;
  #timer: NodeJS.Timeout | null = null;
  /** Aborted when `close` gives up. */
  readonly #end = new AbortController();
  /** Aborted when `close` begins, which ends the pause after a failure. */
  readonly #closing = new AbortController();

  constructor(sink: DrainSink, options: QueueOptions = {}) {
    this.#sink = sink;
    this.#options = { ...DEFAULTS, ...options };
  }

  get losses(): DrainLosses {
    return { dropped: this.#dropped, failure: this.#failure };
  }

  add(text: string): void {
    const bytes = Buffer.byteLength(text) + 1;
    if (this.#closing.signal.aborted || this.#bytes + bytes > this.#options.queueBytes) {
      this.#dropped++;
      return;
    }
    this.#lines.push(text);
    this.#bytes += bytes;
    if (this.#work) return;
    if (this.#bytes >= this.#options.batchBytes) this.#start();
    else this.#timer ??= setTimeout(() => this.#start(), this.#options.collectMs).unref();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    const { promise: givenUp, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(() => resolve(this.#end.abort()), this.#options.closeMs);
    this.#start();
    // A pipe that is not read cannot be aborted.
    await Promise.race([this.#work, givenUp]);
    clearTimeout(timer);
    this.#dropped += this.#lines.length - this.#first;
    this.#lines = [];
    await this.#sink.close();
  }

  #start(): void {
    clearTimeout(this.#timer ?? undefined);
    this.#timer = null;
    this.#work ??= this.#deliverAll().finally(() => (this.#work = null));
  }

  async #deliverAll(): Promise<void> {
    while (this.#first < this.#lines.length && !this.#end.signal.aborted) {
      const { lines, count } = this.#nextBatch();
      const outcome = await this.#deliver(lines);
      if (outcome === "retry") continue;
      if (outcome === "rejected") this.#dropped += count;
      this.#remove(count, lines.length);
    }
  }

  #nextBatch(): { lines: Buffer; count: number } {
    let bytes = 0;
    let count = 0;
    for (let at = this.#first; at < this.#lines.length; at++) {
      bytes += this.#lines[at]!.length + 1;
      if (count > 0 && bytes > this.#options.batchBytes) break;
      count++;
    }
    const lines = this.#lines.slice(this.#first, this.#first + count);
    return { lines: Buffer.from(`${lines.join("\n")}\n`), count };
  }

  /** Removes the oldest lines. @param bytes their bytes, with their line breaks. */
  #remove(count: number, bytes: number): void {
    this.#first += count;
    this.#bytes -= bytes;
    // The delivered lines are cut off now and then, because each cut copies the rest of the list.
    if (this.#first * 2 < this.#lines.length) return;
    this.#lines = this.#lines.slice(this.#first);
    this.#first = 0;
  }

  async #deliver(lines: Buffer): Promise<"delivered" | "rejected" | "retry"> {
    for (let pauseMs = this.#options.firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, this.#options.longestPauseMs)) {
      try {
        await this.#sink.deliver(lines, this.#end.signal);
        this.#failure = null;
        return "delivered";
      } catch (error) {
        if (this.#end.signal.aborted) return "retry";
        this.#report(error as Error);
        if (error instanceof RejectedBatch) return "rejected";
        const least = error instanceof DeliveryError ? error.pauseMs : 0;
        await this.#pause(Math.min(Math.max(pauseMs, least), this.#options.longestPauseMs));
        if (this.#end.signal.aborted) return "retry";
      }
    }
  }

  /** Waits with a random part, so that the nodes of a service do not return to a collector all at once. */
  async #pause(ms: number): Promise<void> {
    // While closing, the pauses are short, because there are only seconds.
    const isClosing = this.#closing.signal.aborted;
    const longest = isClosing ? this.#options.firstPauseMs : ms;
    const signal = isClosing ? this.#end.signal : this.#closing.signal;
    await pause(longest * (0.5 + Math.random() / 2), undefined, { ref: isClosing, signal }).catch(() => {});
  }

  #report(error: Error): void {
    if (this.#failure === null) this.#options.onFailure(error);
    this.#failure = `records cannot be sent to the log drain: ${error.message}`;
  }
}
