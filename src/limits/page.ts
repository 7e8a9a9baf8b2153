/**
 * Gathers one page of names from many that come in no order: the first so many after a given one, by their UTF-16 code
 * units. It holds few of them however many come.
 */
export class Page {
  readonly #after: string;
  readonly #count: number;
  /** Beyond it no name is among the first any more. */
  #last: string | null = null;
  #names: string[] = [];

  constructor(after: string, count: number) {
    this.#after = after;
    this.#count = count;
  }

  add(name: string): void {
    if (name <= this.#after || (this.#last !== null && name >= this.#last)) return;
    this.#names.push(name);
    // Sorted now and then: a place found for each of a million would move the others a million times.
    if (this.#names.length >= 2 * this.#count + 1_000) this.#cut();
  }

  /** In order, each once. */
  names(): string[] {
    this.#cut();
    return this.#names;
  }

  #cut(): void {
    this.#names = [...new Set(this.#names)].toSorted().slice(0, this.#count);
    if (this.#names.length === this.#count) this.#last = this.#names.at(-1) ?? "";
  }
}
