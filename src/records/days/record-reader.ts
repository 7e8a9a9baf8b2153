import path from "node:path";
import { Worker } from "node:worker_threads";

import { Problem } from "../../errors.ts";
import { FairQueue } from "../../fair-queue.ts";
import type { FromReader, ToReader } from "./messages.ts";

const PROGRAM = path.join(import.meta.dirname, `reader-thread${path.extname(import.meta.filename)}`);
/** The most reads of one family, with the one that is being done. */
const MOST_OF_FAMILY = 8;
/** The most reads of all families. Each holds a request. */
const MOST_READS = 256;
/** The time after which a read is given up. The thread ends each read long before, unless the disk does not answer. */
const LOST_MS = 15_000;
/** The most memory of the thread. A read that needs more costs the thread, and not the service. */
const HEAP_MB = 256;
const RETRY_MS = 1_000;
/** The most names of files that are remembered. */
const MOST_NAMES = 100;

/** Reads stored records in a thread, one read at a time. Families take turns. */
export class RecordReader {
  /** Names of the files that could not be read. */
  readonly unreadable: Set<string> = new Set();
  readonly #folder: string;
  readonly #queue = new FairQueue(1);
  /** The reads that wait or are being done, by family. */
  readonly #reads = new Map<string, number>();
  #count = 0;
  #thread: Worker | null = null;
  #current: PromiseWithResolvers<FromReader> | null = null;
  #isClosed = false;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * Asks the thread.
   *
   * @param reader the family that waits for the answer
   * @throws {Problem} `container_busy` if the family has too many reads, `overloaded` if all have, `store_unavailable` if
   *   the thread cannot answer, `draining` after the end.
   */
  async read<Answer>(reader: string, question: ToReader): Promise<Answer> {
    const ofFamily = this.#reads.get(reader) ?? 0;
    if (ofFamily >= MOST_OF_FAMILY) {
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

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#thread?.terminate();
  }

  async #ask(question: ToReader): Promise<string> {
    if (this.#isClosed) throw new Problem("draining", "the service is stopping and reads no more records");
    const current = (this.#current = Promise.withResolvers<FromReader>());
    const timer = setTimeout(() => this.#give({ kind: "failed", reason: "the disk does not answer" }, true), LOST_MS);
    try {
      this.#thread ??= this.#start();
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
      this.#thread.postMessage(question);
      const message = await current.promise;
      if (message.kind === "failed") throw new Error(message.reason);
      for (const name of message.unreadable) if (this.unreadable.size < MOST_NAMES) this.unreadable.add(name);
      return message.json;
    } catch (error) {
      throw new Problem("store_unavailable", "the stored records cannot be read now; a retry may succeed", {
        cause: error,
      });
    } finally {
      clearTimeout(timer);
      this.#current = null;
    }
  }

  #give(message: FromReader, isLost: boolean): void {
    this.#current?.resolve(message);
    if (!isLost) return;
    // A thread that still waits for the disk ends when the disk answers. Another one does the next read.
    void this.#thread?.terminate();
    this.#thread = null;
  }

  #start(): Worker {
    const resourceLimits = { maxOldGenerationSizeMb: HEAP_MB };
    const thread = new Worker(PROGRAM, { workerData: this.#folder, resourceLimits });
    thread.unref();
    const lose = (reason: string): void => {
      if (this.#thread === thread) this.#give({ kind: "failed", reason }, true);
    };
    thread.on("message", (message: FromReader) => {
      if (this.#thread === thread) this.#give(message, false);
    });
    thread.on("error", (error) => lose(error.message));
    thread.on("exit", () => lose("the reader thread ended"));
    return thread;
  }
}
