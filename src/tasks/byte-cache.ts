/** The part of a cache that one holder may take: a tenant with many entries must not push out those of all others. */
const HOLDER_SHARE = 1 / 4;

interface Entry<T> {
  readonly value: T;
  readonly bytes: number;
  readonly holder: string;
}

/** Values that were used lately, by name, in a bounded number of bytes. The oldest entry goes first. */
export class ByteCache<T> {
  readonly #entries = new Map<string, Entry<T>>();
  /** The names of each holder's entries, oldest first, and their bytes. */
  readonly #holders = new Map<string, { names: Set<string>; bytes: number }>();
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get(name: string): T | undefined {
    return this.#entries.get(name)?.value;
  }

  /**
   * Keeps a value. Drops the oldest entries of its holder when they take more than a quarter of the cache, and the oldest
   * of all entries when the cache is full.
   *
   * @param bytes estimate of the memory that the value takes.
   * @param holder the family of tokens that the memory counts for.
   * @returns the value that the cache has by that name: an earlier value stays.
   */
  add(name: string, value: T, bytes: number, holder: string): T {
    const known = this.#entries.get(name);
    if (known) return known.value;
    const held = this.#holders.get(holder) ?? { names: new Set<string>(), bytes: 0 };
    this.#holders.set(holder, held);
    this.#entries.set(name, { value, bytes, holder });
    held.names.add(name);
    held.bytes += bytes;
    this.#bytes += bytes;
    this.#drop(held.names, name, () => held.bytes > this.#maxBytes * HOLDER_SHARE);
    this.#drop(this.#entries.keys(), name, () => this.#bytes > this.#maxBytes);
    return value;
  }

  #drop(oldestFirst: Iterable<string>, newest: string, isFull: () => boolean): void {
    for (const name of oldestFirst) {
      if (name === newest || !isFull()) return;
      const { bytes, holder } = this.#entries.get(name)!;
      this.#entries.delete(name);
      this.#bytes -= bytes;
      const held = this.#holders.get(holder)!;
      held.names.delete(name);
      held.bytes -= bytes;
      if (held.names.size === 0) this.#holders.delete(holder);
    }
  }
}
