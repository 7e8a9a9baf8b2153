import type { RecordConfig } from "../../config/groups/records.ts";
import { Problem } from "../../errors.ts";
import { FairQueue } from "../../fair-queue.ts";
import { nextTurn } from "../../next-turn.ts";
import { FamilyReads } from "../family-reads.ts";
import { ReadPlaces } from "../read-places.ts";
import type { RecordThreads } from "../record-threads.ts";
import type { RunStatus } from "../record.ts";
import { type Channel, ThreadError } from "../request-thread.ts";
import type { Cell, CellBatch } from "./cell.ts";
import { cellBounds, UsageCells } from "./cells.ts";
import type { ReadReply, ReadRequest } from "./usage-reads.ts";
import type { WriteReply, WriteRequest } from "./usage-writer.ts";
import type { Usage, UsageAnswer, UsageCell, UsageLosses, UsageQuery, UsageRow, UsageSubject } from "./usage.ts";

/** A killed process loses at most the counts of this time. A read shows a run after it. */
const FLUSH_MS = 1_000;
const TIDY_MS = 60_000;
/** The cells that are copied to the writer in one turn of the event loop: about a millisecond of work. */
const BATCH_CELLS = 250;

export interface UsageOptions extends Pick<
  RecordConfig,
  | ("waitingReads" | "familyReads" | "readsAtOnce" | "countedFamilies" | "familyContainers")
  | ("usageRows" | "diskQueue")
> {
  /** Called when the writer fails for the first time after it worked. The message may contain a path, for the log only. */
  readonly onFailure?: (error: Error) => void;
  readonly flushMs?: number;
  readonly now?: () => number;
  /** Returns the time that decides which counts are old; by default the time itself. */
  readonly keptNow?: (nowMs: number) => number;
}

/** Counts in memory, and adds the counts to a file in another thread. A fault of the file costs counts, and never a run. */
export class StoredUsage implements Usage {
  readonly #cells: UsageCells;
  readonly #places: ReadPlaces;
  readonly #lines: FamilyReads = new FamilyReads();
  /** Each read holds up to 20 000 entries in the thread that reads, some 10 MiB. */
  readonly #readsAtOnce: FairQueue;
  readonly #usageRows: number;
  readonly #writer: Channel<WriteRequest, WriteReply>;
  readonly #reader: Channel<ReadRequest, ReadReply>;
  readonly #onFailure: (error: Error) => void;
  readonly #now: () => number;
  readonly #keptNow: (nowMs: number) => number;
  readonly #timer: NodeJS.Timeout;
  /** The batch that the writer has not acknowledged. It is sent again until it is. */
  #unwritten: CellBatch | null = null;
  #batches = 0;
  #flushing: Promise<void> | null = null;
  #hasOpened = false;
  #tidiedMs: number;
  #failure: string | null = null;
  #setAside: string[] = [];

  /** @param threads must be closed after this. One process may use their folder at a time. */
  constructor(
    threads: RecordThreads,
    { onFailure = () => {}, flushMs = FLUSH_MS, now = Date.now, keptNow = (nowMs) => nowMs, ...bounds }: UsageOptions,
  ) {
    this.#cells = new UsageCells(cellBounds(bounds));
    this.#places = new ReadPlaces(bounds, "reads of usage");
    this.#readsAtOnce = new FairQueue(bounds.readsAtOnce);
    this.#usageRows = bounds.usageRows;
    this.#writer = threads.writer("usage");
    this.#reader = threads.reader("usage");
    this.#onFailure = onFailure;
    this.#now = now;
    this.#keptNow = keptNow;
    this.#tidiedMs = now();
    this.#timer = setInterval(() => this.#tick(), flushMs).unref();
  }

  admitted(subject: UsageSubject, nowMs: number): UsageCell {
    return this.#cells.admitted(subject, nowMs);
  }

  ended(cell: UsageCell, status: RunStatus, runMs: number, egressBytes: number): void {
    this.#cells.ended(cell as Cell, status, runMs, egressBytes);
  }

  addCpu(cell: UsageCell, cpuMs: number): void {
    this.#cells.addCpu(cell as Cell, cpuMs);
  }

  refused(subject: UsageSubject, code: string, nowMs: number): void {
    this.#cells.refused(subject, code, nowMs);
  }

  get losses(): UsageLosses {
    return { lost: this.#cells.lost, failure: this.#failure, setAside: this.#setAside };
  }

  read(query: UsageQuery, reader: string): Promise<UsageAnswer> {
    const begin = async (): Promise<UsageAnswer> => {
      await this.flush();
      return await this.#readAll(query, reader);
    };
    return this.#places.hold(reader, () => this.#lines.run(reader, () => this.#readsAtOnce.run(reader, begin)));
  }

  /** Writes all counts that were made before the call. Never rejects: a failure is in `losses`. */
  async flush(): Promise<void> {
    // A flush that has begun may have passed counts that were made meanwhile.
    await this.#flushing;
    await (this.#flushing ??= this.#flush().finally(() => (this.#flushing = null)));
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    // A service that has not started must not create the file.
    if (this.#hasOpened || this.#cells.waiting > 0) await this.flush();
    if (this.#hasOpened) await this.#ask({ kind: "close" });
  }

  #tick(): void {
    if (this.#flushing) return;
    if (this.#cells.waiting > 0 || this.#unwritten) void this.flush();
    if (this.#hasOpened && Math.abs(this.#now() - this.#tidiedMs) >= TIDY_MS) void this.#tidy();
  }

  async #flush(): Promise<void> {
    if (!this.#hasOpened && !(await this.#ask({ kind: "open", nowMs: this.#now() }))) return;
    // Runs that are counted meanwhile belong to the next flush.
    for (let left = this.#cells.waiting; left > 0 || this.#unwritten;) {
      if (!this.#unwritten) {
        this.#unwritten = this.#cells.take(Math.min(left, BATCH_CELLS))!;
        this.#batches++;
        left -= BATCH_CELLS;
      }
      const [batch, number] = [this.#unwritten, this.#batches];
      if (!(await this.#ask({ kind: "write", batch, number, nowMs: this.#now() }))) return;
      this.#unwritten = null;
      await nextTurn();
    }
  }

  async #tidy(): Promise<void> {
    const nowMs = this.#now();
    this.#tidiedMs = nowMs;
    const reply = await this.#ask({ kind: "tidy", nowMs: this.#keptNow(nowMs), rows: this.#usageRows });
    // The next step begins at the next tick, so that counts are written in between.
    if (reply?.more) this.#tidiedMs = -Infinity;
  }

  /** @returns null if the writer has failed. */
  async #ask(request: WriteRequest): Promise<WriteReply | null> {
    try {
      const reply = await this.#writer.request(request);
      this.#hasOpened = true;
      this.#failure = null;
      if (reply.setAside !== null) this.#reportSetAside(reply.setAside);
      return reply;
    } catch (error) {
      this.#report(error);
      return null;
    }
  }

  #report(error: unknown): void {
    const code = error instanceof ThreadError ? error.code : "ERROR";
    if (this.#failure === null) {
      this.#onFailure(
        new Error(`the counts of usage cannot be written: ${(error as Error).message}`, { cause: error }),
      );
    }
    this.#failure = `the counts of usage cannot be written: ${code}`;
  }

  #reportSetAside(name: string): void {
    this.#setAside = [...new Set([...this.#setAside, name])];
    this.#onFailure(
      new Error(`the counts of usage were damaged; ${name} has the earlier counts, and a new file has begun`),
    );
  }

  async #readAll(query: UsageQuery, reader: string): Promise<UsageAnswer> {
    const rows: UsageRow[] = [];
    let request: ReadRequest = { query };
    for (;;) {
      const { rows: part, isTruncated, rest } = await this.#askReader(request);
      rows.push(...part);
      if (rest === null) return { rows, isTruncated };
      request = { rest };
      await nextTurn(reader);
    }
  }

  async #askReader(request: ReadRequest): Promise<ReadReply> {
    try {
      return await this.#reader.request(request);
    } catch (error) {
      throw new Problem("store_unavailable", "the counts of usage cannot be read", { cause: error });
    }
  }
}
