/** The bytes of answers of other nodes that are in memory at once, of one answer, of one family and of all. */
const OF_ANSWER = 12 * 2 ** 20;
const OF_FAMILY = 24 * 2 ** 20;
const OF_ALL = 64 * 2 ** 20;

/** Limits the memory for answers of other nodes while they arrive. */
export class HeldBytes {
  #all = 0;
  readonly #families = new Map<string, number>();

  /** Begins an answer. @returns how it reserves bytes, which throws without room, and how it releases them all */
  begin(family: string): { readonly reserve: (bytes: number) => void; readonly release: () => void } {
    let own = 0;
    const reserve = (bytes: number): void => {
      const ofFamily = this.#families.get(family) ?? 0;
      if (own + bytes > OF_ANSWER || ofFamily + bytes > OF_FAMILY || this.#all + bytes > OF_ALL) {
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
