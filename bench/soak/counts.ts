/** Counts by name. */
export class Counts {
  readonly #counts: Map<string, number> = new Map();

  add(name: string): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
  }

  inWords(): string {
    const sorted = [...this.#counts].toSorted(([, one], [, other]) => other - one);
    return sorted.map(([name, count]) => `${name} ${count}`).join(", ");
  }
}
