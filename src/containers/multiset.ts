/** A set that counts how often each value is in it. */
export class Multiset<T> {
  readonly #counts = new Map<T, number>();

  /** The number of different values. */
  get size(): number {
    return this.#counts.size;
  }

  has(value: T): boolean {
    return this.#counts.has(value);
  }

  add(value: T): void {
    this.#counts.set(value, (this.#counts.get(value) ?? 0) + 1);
  }

  /** Reverses one `add` of the value. */
  remove(value: T): void {
    const left = this.#counts.get(value)! - 1;
    if (left === 0) this.#counts.delete(value);
    else this.#counts.set(value, left);
  }
}
