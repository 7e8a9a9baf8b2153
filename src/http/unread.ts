/** Something that can be cut: a response whose answer waits to be read. */
interface Waiting {
  readonly token: string;
  readonly bytes: number;
  readonly cut: () => void;
}

/**
 * The big answers that their clients have not read. Each is held in memory, and a client may take its time; but all
 * together must not fill it. When they are too much, the token that has the most waiting loses its oldest.
 */
export class UnreadAnswers {
  readonly #maxBytes: number;
  /** Oldest first. */
  readonly #waiting: Set<Waiting> = new Set();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /**
   * @param cut ends the answer where it is.
   * @returns what is to be called once nothing of it is held any more, also after a cut.
   */
  add(token: string, bytes: number, cut: () => void): () => void {
    const added = { token, bytes, cut };
    this.#waiting.add(added);
    this.#bytes += bytes;
    while (this.#bytes > this.#maxBytes && this.#waiting.size > 1) {
      const oldest = this.#oldestOfLargest();
      this.#remove(oldest);
      oldest.cut();
    }
    return () => this.#remove(added);
  }

  #remove(each: Waiting): void {
    if (this.#waiting.delete(each)) this.#bytes -= each.bytes;
  }

  #oldestOfLargest(): Waiting {
    const sums = new Map<string, number>();
    for (const { token, bytes } of this.#waiting) sums.set(token, (sums.get(token) ?? 0) + bytes);
    const [largest] = [...sums].reduce((most, each) => (each[1] > most[1] ? each : most));
    return [...this.#waiting].find(({ token }) => token === largest)!;
  }
}
