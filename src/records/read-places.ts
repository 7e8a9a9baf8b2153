import type { RecordConfig } from "../config/groups/records.ts";
import { Problem } from "../errors.ts";

/** The most reads of all families, each of which holds a request, and of one family. */
export type ReadBounds = Pick<RecordConfig, "waitingReads" | "familyReads">;

const RETRY_MS = 1_000;

/** The places of reads that wait or are being done. */
export class ReadPlaces {
  readonly #bounds: ReadBounds;
  readonly #what: string;
  readonly #families = new Map<string, number>();
  #all = 0;

  /** @param what the reads, such as `reads of usage`, for the message of a problem */
  constructor({ waitingReads, familyReads }: ReadBounds, what: string) {
    this.#bounds = { waitingReads, familyReads };
    this.#what = what;
  }

  /**
   * Does a read, which may wait for others.
   *
   * @throws {Problem} `token_limited` if the family has too many reads, `overloaded` if all families have; or the error of the read
   */
  async hold<T>(family: string, read: () => Promise<T>): Promise<T> {
    const ofFamily = this.#families.get(family) ?? 0;
    if (ofFamily >= this.#bounds.familyReads) {
      const detail = `the token family waits for ${ofFamily} ${this.#what}, which is the maximum`;
      throw new Problem("token_limited", detail, {
        hint: "Send the next read when an earlier one was answered. The operator sets --family-reads.",
        retryAfterMs: RETRY_MS,
      });
    }
    if (this.#all >= this.#bounds.waitingReads) {
      const detail = `clients wait for ${this.#all} ${this.#what}, which is the maximum`;
      throw new Problem("overloaded", detail, { retryAfterMs: RETRY_MS });
    }
    this.#families.set(family, ofFamily + 1);
    this.#all += 1;
    try {
      return await read();
    } finally {
      this.#all -= 1;
      const left = this.#families.get(family)! - 1;
      if (left === 0) this.#families.delete(family);
      else this.#families.set(family, left);
    }
  }
}
