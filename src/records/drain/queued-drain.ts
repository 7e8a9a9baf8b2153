import { setTimeout as pause } from "node:timers/promises";

import { publicPartOf } from "../days/public-shares.ts";
import { Shares } from "../days/shares.ts";
import { DrainQueue } from "./drain-queue.ts";
import {
  type Drain,
  type DrainLosses,
  type DrainRecord,
  type DrainSink,
  DeliveryError,
  RejectedBatch,
} from "./drain.ts";

/** The bounds and times of a queue. */
export interface QueueOptions {
  /** The bytes that a family of tokens, and a container, sends in a minute: stops a flood of a collector or of its file. */
  readonly rateBytes?: number;
  /** The most families, containers and networks whose bytes of a minute are counted apart. */
  readonly counted?: number;
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
  rateBytes: Infinity,
  counted: 10_000,
  queueBytes: 16 * 2 ** 20,
  batchBytes: 256 * 2 ** 10,
  collectMs: 250,
  firstPauseMs: 500,
  longestPauseMs: 30_000,
  closeMs: 5_000,
  onFailure: () => {},
};

/**
 * A queue in front of a sink. A slow or lost collector costs records, which are counted, and never a run. Token families
 * have shares of the queue and of each minute.
 */
export class QueuedDrain implements Drain {
  readonly #sink: DrainSink;
  readonly #options: Required<QueueOptions>;
  readonly #queue: DrainQueue;
  readonly #shares: Shares;
  /** The lines of the batch that is being delivered. */
  #sent = 0;
  #dropped = 0;
  #omitted = 0;
  #rejected = 0;
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
    this.#queue = new DrainQueue(this.#options.queueBytes);
    this.#shares = new Shares(this.#options.rateBytes, Infinity, this.#options.counted);
  }

  get losses(): DrainLosses {
    return { dropped: this.#dropped, omitted: this.#omitted, rejected: this.#rejected, failure: this.#failure };
  }

  add({ family, network, container, leastBytes, text }: DrainRecord): void {
    const nowMs = Date.now();
    // Records of clients without a token must not displace those of the owner.
    const holder = network === null ? family : publicPartOf(family);
    if (!this.#shares.fits(family, container, leastBytes, nowMs, network)) {
      this.#omitted++;
    } else if (this.#closing.signal.aborted || !this.#queue.mayAdd(holder, leastBytes)) {
      this.#dropped++;
    } else {
      const line = text();
      const bytes = Buffer.byteLength(line) + 1;
      if (this.#shares.take(family, container, bytes, nowMs, network)) {
        this.#dropped += this.#queue.add(holder, line, bytes);
      } else this.#omitted++;
      this.#schedule();
    }
  }

  async close(): Promise<void> {
    this.#closing.abort();
    const { promise: givenUp, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(() => resolve(this.#end.abort()), this.#options.closeMs);
    this.#start();
    // A pipe that is not read cannot be aborted.
    await Promise.race([this.#work, givenUp]);
    clearTimeout(timer);
    this.#dropped += this.#sent + this.#queue.clear();
    this.#sent = 0;
    await this.#sink.close();
  }

  #start(): void {
    clearTimeout(this.#timer ?? undefined);
    this.#timer = null;
    this.#work ??= this.#deliverAll().finally(() => (this.#work = null));
  }

  #schedule(): void {
    if (this.#work || this.#queue.length === 0) return;
    if (this.#queue.bytes >= this.#options.batchBytes) this.#start();
    else this.#timer ??= setTimeout(() => this.#start(), this.#options.collectMs).unref();
  }

  async #deliverAll(): Promise<void> {
    while (this.#queue.length > 0 && !this.#end.signal.aborted) {
      const batch = this.#queue.take(this.#options.batchBytes);
      this.#sent = batch.count;
      const outcome = await this.#deliver(batch.lines);
      // `close` gave up, and counts the batch.
      if (outcome === "ended") return;
      if (outcome === "rejected") this.#rejected += batch.count;
      this.#sent = 0;
      this.#queue.release(batch);
    }
  }

  async #deliver(lines: Buffer): Promise<"delivered" | "rejected" | "ended"> {
    for (let pauseMs = this.#options.firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, this.#options.longestPauseMs)) {
      try {
        await this.#sink.deliver(lines, this.#end.signal);
        this.#failure = null;
        return "delivered";
      } catch (error) {
        if (this.#end.signal.aborted) return "ended";
        this.#report(error as Error);
        if (error instanceof RejectedBatch) return "rejected";
        const least = error instanceof DeliveryError ? error.pauseMs : 0;
        await this.#pause(Math.min(Math.max(pauseMs, least), this.#options.longestPauseMs));
        if (this.#end.signal.aborted) return "ended";
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
    const failure = `records cannot be sent to the log drain: ${error.message}`;
    if (this.#failure === null) this.#options.onFailure(new Error(failure, { cause: error }));
    this.#failure = failure;
  }
}
