import { Problem } from "../../errors.ts";
import { FairQueue } from "../../fair-queue.ts";
import type { RecordThreads } from "../record-threads.ts";
import type { Channel } from "../request-thread.ts";
import type { Question, ReadRequest, Reply } from "./messages.ts";

/** The most reads of all families. Each holds a request. */
const MOST_READS = 256;
const RETRY_MS = 1_000;
/** The most names of files that are remembered. */
const MOST_NAMES = 100;

/**
 * Reads stored records in the thread that reads, one read at a time. Families take turns. Other reads of the thread wait for
 * one of these at most.
 */
export class RecordReader {
  /** Names of the files that could not be read. */
  readonly unreadable: Set<string> = new Set();
  readonly #thread: Channel<ReadRequest, Reply>;
  readonly #folder: string;
  readonly #familyReads: number;
  readonly #queue = new FairQueue(1);
  /** The reads that wait or are being done, by family. */
  readonly #reads = new Map<string, number>();
  #count = 0;
  #isClosed = false;

  /** @param familyReads the most reads of one family, with the one that is being done. */
  constructor(threads: RecordThreads, folder: string, familyReads: number) {
    this.#familyReads = familyReads;
    this.#thread = threads.reader("runs");
    this.#folder = folder;
  }

  /**
   * Asks the thread.
   *
   * @param reader the family that waits for the answer
   * @throws {Problem} `container_busy` if the family has too many reads, `overloaded` if all have, `store_unavailable` if
   *   the thread cannot answer, `draining` after the end.
   */
  async read<Answer>(reader: string, question: Question): Promise<Answer> {
    const ofFamily = this.#reads.get(reader) ?? 0;
    if (ofFamily >= this.#familyReads) {
      const detail = `the token, with all tokens below it, waits for ${ofFamily} reads of records, which is the maximum`;
      throw new Problem("container_busy", detail, { retryAfterMs: RETRY_MS });
    }
    if (this.#count >= MOST_READS) {
      const detail = `${this.#count} reads of records are waiting, which is the maximum`;
      throw new Problem("overloaded", detail, { retryAfterMs: RETRY_MS });
    }
    this.#reads.set(reader, ofFamily + 1);
    this.#count += 1;
    try {
      return JSON.parse(await this.#queue.run(reader, () => this.#ask(question))) as Answer;
    } finally {
      const left = this.#reads.get(reader)! - 1;
      if (left === 0) this.#reads.delete(reader);
      else this.#reads.set(reader, left);
      this.#count -= 1;
    }
  }

  /** Rejects later reads. */
  close(): void {
    this.#isClosed = true;
  }

  async #ask(question: Question): Promise<string> {
    if (this.#isClosed) throw new Problem("draining", "the service is stopping and reads no more records");
    try {
      const { json, unreadable } = await this.#thread.request({ folder: this.#folder, question });
      for (const name of unreadable) if (this.unreadable.size < MOST_NAMES) this.unreadable.add(name);
      return json;
    } catch (error) {
      throw new Problem("store_unavailable", "the stored records cannot be read now; a retry may succeed", {
        cause: error,
      });
    }
  }
}
