/** The part of a cache that one family may use: a family with many entries must not evict the entries of all others. */
const FAMILY_SHARE = 1 / 4;

interface Entry<T> {
  readonly value: T;
  readonly bytes: number;
  readonly family: string;
}

/** Recently used values by name, in a bounded number of bytes. The oldest entry is evicted first. */
export class ByteCache<T> {
  readonly #entries = new Map<string, Entry<T>>();
  /** The names of each family's entries, oldest first, and their bytes. */
  readonly #families = new Map<string, { names: Set<string>; bytes: number }>();
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get(name: string): T | undefined {
    return this.#entries.get(name)?.value;
  }

  /** Removes the values for which `isGone` returns true. */
  removeIf(isGone: (value: T) => boolean): void {
    for (const [name, { value }] of this.#entries) if (isGone(value)) this.#remove(name);
  }

  /**
   * Adds a value. Evicts the oldest entries of its family when they use more than a quarter of the cache, and the oldest of all
   * entries when the cache is full.
   *
   * @param bytes the estimated memory of the value
   * @param family the token family that the memory counts against
   * @returns the value that the cache has under that name: an earlier value stays.
   */
  add(name: string, value: T, bytes: number, family: string): T {
    const cached = this.#entries.get(name);
    if (cached) return cached.value;
    const share = this.#families.get(family) ?? { names: new Set<string>(), bytes: 0 };
    this.#families.set(family, share);
    this.#entries.set(name, { value, bytes, family });
    share.names.add(name);
    share.bytes += bytes;
    this.#bytes += bytes;
    this.#drop(share.names, name, () => share.bytes > this.#maxBytes * FAMILY_SHARE);
    this.#drop(this.#entries.keys(), name, () => this.#bytes > this.#maxBytes);
    return value;
  }

  #drop(oldestFirst: Iterable<string>, newest: string, isFull: () => boolean): void {
    for (const name of oldestFirst) {
      if (name === newest || !isFull()) return;
      this.#remove(name);
    }
  }

  #remove(name: string): void {
    const { bytes, family } = this.#entries.get(name)!;
    this.#entries.delete(name);
    this.#bytes -= bytes;
    const share = this.#families.get(family)!;
    share.names.delete(name);
    share.bytes -= bytes;
    if (share.names.size === 0) this.#families.delete(family);
  }
}
