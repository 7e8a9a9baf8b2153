import path from "node:path";
import { Worker } from "node:worker_threads";

import { reasonOf } from "../sqlite-fault.ts";
import type { Day } from "./day.ts";
import type { Batch, BatchOutcome, FromWriter, KeptFiles, ToWriter, WriterSettings } from "./messages.ts";
import { Pending } from "./pending.ts";
import type { StoredRow } from "./stored-row.ts";

const PROGRAM = path.join(import.meta.dirname, `writer-thread${path.extname(import.meta.filename)}`);
/** The interval of the batches. A process that is killed loses the records of about this time. */
const BATCH_MS = 250;
/** The first and the longest pause after a failure. Each failure doubles the pause. */
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;
/** The number of threads that may end over one batch, which may be the cause. */
const MOST_LOST_THREADS = 3;
/** The time after which a batch without an answer is reported. */
const SLOW_MS = 10_000;
/** The time in which the last batches must be written. */
const CLOSE_MS = 5_000;

interface SentBatch {
  readonly batch: Batch;
  sentMs: number;
  lostThreads: number;
}

/** Hands records to the writer thread. Nothing that happens to the thread or the disk reaches the caller. */
export class RecordWriter {
  /** Rows that were lost: the queue was full, or the writer had failed. */
  dropped = 0;
  /** Rows that a quota left out, in the thread. */
  omitted = 0;
  /** The names of files, at the latest check. */
  kept: KeptFiles = { oldest: "", setAside: [] };
  readonly #settings: WriterSettings;
  readonly #onWritten: (day: Day, outcome: BatchOutcome) => void;
  readonly #pending = new Pending();
  #thread: Worker | null = null;
  /** The batch that the thread has, or that is to be sent again. */
  #sent: SentBatch | null = null;
  #isWaiting = false;
  /** The days whose rows were waiting at the latest interval and are not sent yet. */
  #daysLeft = 0;
  #timer: NodeJS.Timeout | null = null;
  #failure: string | null = null;
  #pauseMs = 0;
  #closing: PromiseWithResolvers<void> | null = null;

  constructor(settings: WriterSettings, onWritten: (day: Day, outcome: BatchOutcome) => void) {
    this.#settings = settings;
    this.#onWritten = onWritten;
    // At once, because old days are deleted at the start.
    this.#start();
  }

  /** Why nothing is written, or null while the writer works. */
  get failure(): string | null {
    const isSlow = this.#isWaiting && performance.now() - this.#sent!.sentMs > SLOW_MS;
    return this.#failure ?? (isSlow ? "the disk does not answer" : null);
  }

  hasRoom(bytes: number): boolean {
    return this.#closing === null && this.#pending.hasRoom(bytes);
  }

  add(day: Day, row: StoredRow): void {
    this.#pending.add(day, row);
    this.#schedule(BATCH_MS);
  }

  omit(day: Day, family: string, container: string): void {
    this.#pending.omit(day, family, container);
    this.#schedule(BATCH_MS);
  }

  /** Writes what is waiting, and ends the thread. */
  close(): Promise<void> {
    if (this.#closing) return this.#closing.promise;
    const closing = (this.#closing = Promise.withResolvers<void>());
    const timer = setTimeout(() => {
      this.#giveUp();
      void this.#thread?.terminate();
      closing.resolve();
    }, CLOSE_MS);
    this.#cancel();
    if (!this.#isWaiting) this.#send();
    return closing.promise.finally(() => clearTimeout(timer));
  }

  #schedule(ms: number): void {
    if (this.#isWaiting || this.#closing) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.#daysLeft = this.#pending.days;
      this.#send();
    }, this.#pauseMs || ms).unref();
  }

  #cancel(): void {
    clearTimeout(this.#timer ?? undefined);
    this.#timer = null;
  }

  #send(): void {
    if (!this.#thread) this.#start();
    const batch = this.#sent?.batch ?? this.#pending.take();
    if (!this.#thread) return this.#failed();
    if (!batch) {
      if (this.#closing) this.#post({ kind: "close" });
      return;
    }
    this.#sent ??= { batch, sentMs: 0, lostThreads: 0 };
    this.#sent.sentMs = performance.now();
    this.#isWaiting = true;
    this.#post({ kind: "batch", batch });
  }

  #post(message: ToWriter): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    this.#thread!.postMessage(message);
  }

  #start(): void {
    try {
      const thread = new Worker(PROGRAM, { workerData: this.#settings });
      this.#thread = thread;
      thread.unref();
      thread.on("message", (message: FromWriter) => this.#receive(message));
      thread.on("error", (error) => this.#fail(`the writer thread failed: ${reasonOf(error)}`));
      thread.on("exit", () => this.#lose(thread));
    } catch (error) {
      this.#fail(`the writer thread cannot be started: ${reasonOf(error)}`);
    }
  }

  #receive(message: FromWriter): void {
    if (message.kind === "checked") {
      if (message.reason === null) this.kept = message.kept;
      // A batch that waits to be sent again shows best whether the writer works.
      if (message.reason !== null || this.#sent === null) this.#failure = message.reason;
      return;
    }
    // An answer that arrives after the batch was given up.
    if (!this.#sent) return;
    this.#isWaiting = false;
    if (message.kind === "failed") {
      this.#fail(message.reason);
      return this.#failed();
    }
    const { batch } = this.#sent;
    const { outcome } = message;
    this.#sent = null;
    this.#failure = null;
    this.#pauseMs = 0;
    this.#pending.release(batch);
    this.omitted += outcome.omitted;
    this.dropped += outcome.dropped;
    this.#onWritten(batch.day, outcome);
    this.#daysLeft -= 1;
    if (this.#closing || this.#pending.isLong || this.#daysLeft > 0) this.#send();
    else if (!this.#pending.isEmpty) this.#schedule(BATCH_MS);
  }

  #fail(reason: string): void {
    this.#failure = reason;
  }

  /** Tries again after a pause. The batch that failed is kept, and new records wait as long as the queue has room. */
  #failed(): void {
    if (this.#closing) {
      this.#giveUp();
      if (this.#thread) this.#post({ kind: "close" });
      else this.#closing.resolve();
      return;
    }
    this.#pauseMs = Math.min(LONGEST_PAUSE_MS, this.#pauseMs * 2 || FIRST_PAUSE_MS);
    this.#schedule(this.#pauseMs);
  }

  #lose(thread: Worker): void {
    if (this.#thread !== thread) return;
    this.#thread = null;
    this.#isWaiting = false;
    if (this.#closing && this.#sent === null && this.#pending.isEmpty) return this.#closing.resolve();
    this.#failure ??= "the writer thread ended";
    if (this.#sent && ++this.#sent.lostThreads >= MOST_LOST_THREADS) this.#giveUpBatch(this.#sent.batch);
    this.#failed();
  }

  #giveUp(): void {
    if (this.#sent) this.#giveUpBatch(this.#sent.batch);
    this.dropped += this.#pending.clear();
  }

  #giveUpBatch(batch: Batch): void {
    this.#sent = null;
    this.#pending.release(batch);
    this.dropped += batch.rows.length;
  }
}
