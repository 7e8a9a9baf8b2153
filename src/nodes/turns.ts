import { Problem } from "../errors.ts";
import { FairQueue } from "../fair-queue.ts";

/** The reads of other nodes of all families at once, and of one family. Each asks every node. */
const AT_ONCE = 8;
const FAMILY_AT_ONCE = 4;
/** The reads of a family, with those that wait. */
const FAMILY_MOST = 16;

/** Limits how many reads of other nodes run at once, because a client causes with each of them work on all nodes. */
export class Turns {
  readonly #all = new FairQueue(AT_ONCE);
  readonly #families = new Map<string, { readonly queue: FairQueue; count: number }>();

  /** @throws {Problem} `token_limited` if too many reads of the family wait; or the error of the work. */
  async run<T>(family: string, work: () => Promise<T>): Promise<T> {
    const line = this.#families.get(family) ?? { queue: new FairQueue(FAMILY_AT_ONCE), count: 0 };
    if (line.count >= FAMILY_MOST) {
      throw new Problem("token_limited", `more than ${FAMILY_MOST} reads of the token family wait for other nodes`, {
        hint: "Send the next read when an earlier one was answered.",
        retryAfterMs: 1_000,
      });
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
