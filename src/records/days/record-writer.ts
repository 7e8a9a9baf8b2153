import { existsSync } from "node:fs";

import type { RecordThreads } from "../record-threads.ts";
import { type Channel, THREAD_LOST, type ThreadError } from "../request-thread.ts";
import type { Day } from "./day.ts";
import { Pending } from "./pending.ts";
import type { StoredRow } from "./stored-row.ts";
import type { Batch, BatchOutcome, Check, KeptFiles, WriteRequest, WriterSettings } from "./thread-messages.ts";

/** The interval of the batches. A process that is killed loses the records of about this time. */
const BATCH_MS = 250;
/** The interval at which old days are deleted. */
const CHECK_MS = 60_000;
/** The first and the longest pause after a failure. Each failure doubles the pause. */
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;
/** The number of threads that may end over one batch, which may be the cause. */
const MOST_LOST_THREADS = 3;
/** The time after which a batch without an answer is reported. */
const SLOW_MS = 10_000;
/** The time in which the last batches must be written. */
const CLOSE_MS = 5_000;

/** The batch that the thread has, or that is to be sent again. */
interface SentBatch {
  readonly batch: Batch;
  readonly sentMs: number;
  readonly lostThreads: number;
}

/** Hands records to the thread that writes. Nothing that happens to the thread or the disk reaches the caller. */
export class RecordWriter {
  /** Rows that were lost: the queue was full, or the writer had failed. */
  dropped = 0;
  /** Rows that a quota left out, in the thread. */
  omitted = 0;
  /** The names of files, at the latest check. */
  kept: KeptFiles = { oldest: "", setAside: [] };
  readonly #settings: WriterSettings;
  readonly #writes: Channel<WriteRequest, BatchOutcome>;
  readonly #checks: Channel<WriterSettings, Check>;
  readonly #closes: Channel<null, void>;
  readonly #onWritten: (day: Day, outcome: BatchOutcome) => void;
  readonly #pending: Pending;
  readonly #checkTimer: NodeJS.Timeout;
  #sent: SentBatch | null = null;
  /** What sends batches now, or null. */
  #sending: Promise<void> | null = null;
  #timer: NodeJS.Timeout | null = null;
  #failure: string | null = null;
  #pauseMs = 0;
  #closing: Promise<void> | null = null;
  /** Whether the thread may have files open. */
  #mayHaveOpened = false;

  constructor(
    threads: Pick<RecordThreads, "writer">,
    settings: WriterSettings,
    queueBytes: number,
    onWritten: (day: Day, outcome: BatchOutcome) => void,
  ) {
    this.#settings = settings;
    this.#pending = new Pending(queueBytes);
    this.#writes = threads.writer("runs");
    this.#checks = threads.writer("oldRuns");
    this.#closes = threads.writer("closeRuns");
    this.#onWritten = onWritten;
    this.#checkTimer = setInterval(() => void this.#check(), CHECK_MS).unref();
    // Old days are deleted at the start. A new folder has none, and the thread starts with the first batch.
    if (existsSync(settings.folder)) void this.#check();
  }

  /** Why nothing is written, or null while the writer works. */
  get failure(): string | null {
    const isSlow = this.#sending !== null && this.#sent && performance.now() - this.#sent.sentMs > SLOW_MS;
    return this.#failure ?? (isSlow ? "the disk does not answer" : null);
  }

  hasRoom(family: string, bytes: number): boolean {
    return this.#closing === null && this.#pending.hasRoom(family, bytes);
  }

  add(day: Day, row: StoredRow): void {
    this.#pending.add(day, row);
    this.#schedule();
  }

  omit(day: Day, family: string, container: string): void {
    this.#pending.omit(day, family, container);
    this.#schedule();
  }

  /** Writes what is waiting, and closes the files. */
  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    clearInterval(this.#checkTimer);
    clearTimeout(this.#timer ?? undefined);
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, CLOSE_MS);
    await Promise.race([this.#writeRest(), late.promise]);
    clearTimeout(timer);
    if (this.#sent) this.#giveUp(this.#sent.batch);
    this.dropped += this.#pending.clear();
  }

  async #writeRest(): Promise<void> {
    await this.#sending;
    await this.#send();
    // Otherwise a thread would be started only to close nothing.
    if (!this.#mayHaveOpened) return;
    // A failure of a batch is reported already.
    await this.#closes.request(null).catch(() => {});
  }

  #schedule(): void {
    if (this.#sending || this.#closing) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.#sending = this.#send().finally(() => {
        this.#sending = null;
        if (this.#sent || !this.#pending.isEmpty) this.#schedule();
      });
    }, this.#pauseMs || BATCH_MS).unref();
  }

  /** Sends batches until less than a batch waits, or all while the store is being closed. Ends at a failure. */
  async #send(): Promise<void> {
    for (let daysLeft = this.#pending.days; ; daysLeft -= 1) {
      const batch = this.#sent?.batch ?? this.#pending.take();
      if (!batch || !(await this.#write(batch))) return;
      if (!(this.#sent || this.#closing || this.#pending.isLong || daysLeft > 1)) return;
    }
  }

  /** @returns whether the thread has taken the batch, or a part of it. */
  async #write(batch: Batch): Promise<boolean> {
    const sent: SentBatch = { batch, sentMs: performance.now(), lostThreads: this.#sent?.lostThreads ?? 0 };
    this.#sent = sent;
    this.#mayHaveOpened = true;
    try {
      const outcome = await this.#writes.request({ settings: this.#settings, batch });
      // The answer can arrive after the batch was given up.
      if (this.#sent === sent) this.#written(batch, outcome);
      return true;
    } catch (error) {
      if (this.#sent === sent) this.#failed(sent, error as ThreadError);
      return false;
    }
  }

  #written(batch: Batch, outcome: BatchOutcome): void {
    const rows = batch.rows.slice(outcome.rows);
    this.#sent = rows.length === 0 ? null : { batch: { ...batch, rows, omissions: [] }, sentMs: 0, lostThreads: 0 };
    this.#failure = null;
    this.#pauseMs = 0;
    this.#pending.release(batch.rows.slice(0, outcome.rows));
    this.omitted += outcome.omitted;
    this.dropped += outcome.dropped;
    this.#onWritten(batch.day, outcome);
  }

  /** Keeps the batch, which is sent again after a pause. New records wait as long as the queue has room. */
  #failed(sent: SentBatch, error: ThreadError): void {
    this.#failure = reasonOf(error);
    this.#sent = { ...sent, lostThreads: sent.lostThreads + (error.code === THREAD_LOST ? 1 : 0) };
    if (this.#sent.lostThreads >= MOST_LOST_THREADS) this.#giveUp(sent.batch);
    this.#pauseMs = Math.min(LONGEST_PAUSE_MS, this.#pauseMs * 2 || FIRST_PAUSE_MS);
  }

  #giveUp({ rows }: Batch): void {
    this.#sent = null;
    this.#pending.release(rows);
    this.dropped += rows.length;
  }

  /** Deletes old days, one step after the other, so that other requests come in between. */
  async #check(): Promise<void> {
    this.#mayHaveOpened = true;
    try {
      for (let more = true; more && !this.#closing;) {
        const check = await this.#checks.request(this.#settings);
        this.kept = check.kept;
        more = check.more;
      }
      // A batch that waits to be sent again shows best whether the writer works.
      if (this.#sent === null) this.#failure = null;
    } catch (error) {
      this.#failure = reasonOf(error as ThreadError);
    }
  }
}

function reasonOf({ code }: ThreadError): string {
  return code === THREAD_LOST ? "the writer thread ended" : code;
}
