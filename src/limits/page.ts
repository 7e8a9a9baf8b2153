/**
 * One page of names, collected from many names in any order: the first `count` names after `after`, ordered by UTF-16 code
 * units. The page holds few names, however many are added.
 */
export class Page {
  readonly #after: string;
  readonly #count: number;
  /** The last name of the page when it is full. A name after it cannot be in the page. */
  #last: string | null = null;
  #names: string[] = [];

  constructor(after: string, count: number) {
    this.#after = after;
    this.#count = count;
  }

  add(name: string): void {
    if (name <= this.#after || (this.#last !== null && name >= this.#last)) return;
    this.#names.push(name);
    // Sorted once for many names: a sorted insertion of a million names would move the other names a million times.
    if (this.#names.length >= 2 * this.#count + 1_000) this.#cut();
  }

  /** Whether the page is full without this name and all names after it. */
  isFullBefore(name: string): boolean {
    this.#cut();
    return this.#last !== null && this.#last < name;
  }

  has(name: string): boolean {
    return this.#names.includes(name);
  }

  /** Returns the names in order, each once. */
  names(): string[] {
    this.#cut();
    return this.#names;
  }

  #cut(): void {
    this.#names = [...new Set(this.#names)].toSorted().slice(0, this.#count);
    if (this.#names.length === this.#count) this.#last = this.#names.at(-1) ?? "";
  }
}
