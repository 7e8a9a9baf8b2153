/**
 * Values that are in use, by a key. A value that is made again is replaced by the equal value in use, so that thousands of
 * holders of equal values hold one. It keeps no value alive itself.
 */
export class SharedValues<T extends object> {
  readonly #values = new Map<string, WeakRef<T>>();
  readonly #registry = new FinalizationRegistry<string>((key) => {
    // Another value may have the key by now.
    if (this.#values.get(key)?.deref() === undefined) this.#values.delete(key);
  });

  /** The number of values in use. It may include some that are not in use any more. */
  get size(): number {
    return this.#values.size;
  }

  /** @param key equal for equal values only */
  share(key: string, value: T): T {
    const known = this.#values.get(key)?.deref();
    if (known) return known;
    this.#values.set(key, new WeakRef(value));
    this.#registry.register(value, key);
    return value;
  }
}
