/** Lets each family of tokens read one thing at a time, so that a family cannot occupy the thread that reads for all. */
export class FamilyReads {
  readonly #lines: Map<string, { last: Promise<unknown>; count: number }> = new Map();

  async run<T>(family: string, read: () => Promise<T>): Promise<T> {
    const line = this.#lines.get(family) ?? { last: Promise.resolve(), count: 0 };
    this.#lines.set(family, line);
    line.count++;
    const reading = line.last.then(read);
    // A failed read does not end the line.
    line.last = reading.catch(() => {});
    try {
      return await reading;
    } finally {
      if (--line.count === 0) this.#lines.delete(family);
    }
  }
}
