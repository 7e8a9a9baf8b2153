import { Problem } from "../../errors.ts";

/** Lets each family of tokens read one thing at a time, so that a family cannot occupy the thread that reads for all. */
export class FamilyReads {
  readonly #lines: Map<string, { last: Promise<unknown>; count: number }> = new Map();
  readonly #most: number;

  /** @param most the most reads of a family that wait for its earlier reads: more of them would only fill the memory. */
  constructor(most: number) {
    this.#most = most;
  }

  /** @throws {Problem} `token_limited` if too many reads of the family wait. */
  async run<T>(family: string, read: () => Promise<T>): Promise<T> {
    const line = this.#lines.get(family) ?? { last: Promise.resolve(), count: 0 };
    if (line.count > this.#most) {
      throw new Problem("token_limited", `more than ${this.#most} reads of the token family are waiting`, {
        hint: "Send the next read when an earlier one was answered; the reads of a family run one at a time.",
        retryAfterMs: 1_000,
      });
    }
    this.#lines.set(family, line);
    line.count++;
    const reading = line.last.then(read);
    // A failed read does not end the line.
    line.last = reading.catch(() => {});
    try {
      return await reading;
    } finally {
      if (--line.count === 0) this.#lines.delete(family);
    }
  }
}
