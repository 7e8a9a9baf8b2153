/** The share of one family in the memory for answers, and the share of one answer. */
const OF_FAMILY = 3 / 8;
const OF_ANSWER = 3 / 16;

/** Limits the memory for answers of other nodes while they arrive. */
export class HeldBytes {
  readonly #most: number;
  #all = 0;
  readonly #families = new Map<string, number>();

  /** @param most the bytes of answers that are in memory at once. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Begins an answer. @returns how it reserves bytes, which throws without room, and how it releases them all */
  begin(family: string): { readonly reserve: (bytes: number) => void; readonly release: () => void } {
    const most = this.#most;
    let own = 0;
    const reserve = (bytes: number): void => {
      const ofFamily = this.#families.get(family) ?? 0;
      if (own + bytes > most * OF_ANSWER || ofFamily + bytes > most * OF_FAMILY || this.#all + bytes > most) {
        throw new Error("its answer is too large");
      }
      own += bytes;
      this.#all += bytes;
      this.#families.set(family, ofFamily + bytes);
    };
    const release = (): void => {
      this.#all -= own;
      const left = (this.#families.get(family) ?? 0) - own;
      if (left > 0) this.#families.set(family, left);
      else this.#families.delete(family);
      own = 0;
    };
    return { reserve, release };
  }
}
