/** What was read lately, by what names it, in so many bytes of memory. */
export class ByteCache<T> {
  readonly #entries = new Map<string, { value: T; bytes: number }>();
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get(name: string): T | undefined {
    return this.#entries.get(name)?.value;
  }

  /**
   * Keeps a value, and lets those go that came first where they are too many.
   *
   * @param bytes that it takes, about.
   * @returns the one that is kept by that name: there may be one already.
   */
  add(name: string, value: T, bytes: number): T {
    const known = this.#entries.get(name);
    if (known) return known.value;
    this.#entries.set(name, { value, bytes });
    this.#bytes += bytes;
    for (const [oldest, entry] of this.#entries) {
      if (this.#bytes <= this.#maxBytes || oldest === name) break;
      this.#entries.delete(oldest);
      this.#bytes -= entry.bytes;
    }
    return value;
  }
}
