import { Problem } from "../errors.ts";
import { FairQueue } from "../fair-queue.ts";

/** The reads of other nodes of all families at once, and of one family. Each asks every node. */
const AT_ONCE = 8;
const FAMILY_AT_ONCE = 4;

/** Limits how many reads of other nodes run at once, because a client causes with each of them work on all nodes. */
export class Turns {
  readonly #familyReads: number;
  readonly #all = new FairQueue(AT_ONCE);
  readonly #families = new Map<string, { readonly queue: FairQueue; count: number }>();

  /** @param familyReads the most reads of a family, with those that wait. */
  constructor(familyReads: number) {
    this.#familyReads = familyReads;
  }

  /** @throws {Problem} `token_limited` if too many reads of the family wait; or the error of the work. */
  async run<T>(family: string, work: () => Promise<T>): Promise<T> {
    const line = this.#families.get(family) ?? { queue: new FairQueue(FAMILY_AT_ONCE), count: 0 };
    if (line.count >= this.#familyReads) {
      throw new Problem(
        "token_limited",
        `more than ${this.#familyReads} reads of the token family wait for other nodes`,
        {
          hint: "Send the next read when an earlier one was answered.",
          retryAfterMs: 1_000,
        },
      );
    }
    this.#families.set(family, line);
    line.count += 1;
    try {
      return await line.queue.run("", () => this.#all.run(family, work));
    } finally {
      line.count -= 1;
      if (line.count === 0) this.#families.delete(family);
    }
  }
}
