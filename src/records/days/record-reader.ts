import { Problem } from "../../errors.ts";
import { FairQueue } from "../../fair-queue.ts";
import { FamilyReads } from "../family-reads.ts";
import { type ReadBounds, ReadPlaces } from "../read-places.ts";
import type { RecordThreads } from "../record-threads.ts";
import type { Channel } from "../request-thread.ts";
import type { Question, ReadRequest, StepReply } from "./thread-messages.ts";

/** The most reads that have begun. Each has the file of a day open. */
const BEGUN_READS = 16;
/** The most names of files that are remembered. It is fixed, because there is one file for each day that is kept. */
const MOST_NAMES = 100;

/**
 * Reads stored records in the thread that reads, one step of a read at a time. A family has one read at a time, and
 * families take turns. Other reads of the thread wait for one step at most.
 */
export class RecordReader {
  /** Names of the files that could not be read. */
  readonly unreadable: Set<string> = new Set();
  readonly #thread: Channel<ReadRequest, StepReply>;
  readonly #folder: string;
  readonly #places: ReadPlaces;
  readonly #lines = new FamilyReads();
  readonly #begun = new FairQueue(BEGUN_READS);
  readonly #steps = new FairQueue(1);
  #isClosed = false;

  constructor(threads: Pick<RecordThreads, "reader">, folder: string, bounds: ReadBounds) {
    this.#places = new ReadPlaces(bounds, "reads of records");
    this.#thread = threads.reader("runs");
    this.#folder = folder;
  }

  /**
   * Asks the thread.
   *
   * @param reader the family that waits for the answer
   * @throws {Problem} `token_limited` if the family has too many reads, `overloaded` if all have, `store_unavailable` if
   *   the thread cannot answer, `draining` after the end.
   */
  async read<Answer>(reader: string, question: Question): Promise<Answer> {
    const readAll = (): Promise<string> => this.#readAll(reader, question);
    const json = await this.#places.hold(reader, () => {
      return this.#lines.run(reader, () => this.#begun.run(reader, readAll));
    });
    return JSON.parse(json) as Answer;
  }

  /** Rejects later reads. */
  close(): void {
    this.#isClosed = true;
  }

  async #readAll(reader: string, question: Question): Promise<string> {
    let step: ReadRequest = { folder: this.#folder, question };
    for (;;) {
      const reply = await this.#steps.run(reader, () => this.#ask(step));
      if ("json" in reply) return reply.json;
      step = reply;
    }
  }

  async #ask(request: ReadRequest): Promise<StepReply> {
    if (this.#isClosed) throw new Problem("draining", "the service is stopping and reads no more records");
    try {
      const reply = await this.#thread.request(request);
      for (const name of "json" in reply ? reply.unreadable : []) {
        if (this.unreadable.size < MOST_NAMES) this.unreadable.add(name);
      }
      return reply;
    } catch (error) {
      throw new Problem("store_unavailable", "the stored records cannot be read now; a retry may succeed", {
        cause: error,
      });
    }
  }
}
