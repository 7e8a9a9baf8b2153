/**
 * Runs asynchronous work, a few at a time. Holders take turns: in one line for all, the work of one holder would wait behind
 * all work of another.
 */
export class FairQueue {
  readonly #most: number;
  /** Waiting work by its holder. The holder with the next turn is first. */
  readonly #lines = new Map<string, (() => void)[]>();
  #running = 0;

  /** @param most the maximum number of simultaneous work */
  constructor(most: number) {
    this.#most = most;
  }

  /** @throws the error of the work. */
  async run<T>(holder: string, work: () => Promise<T>): Promise<T> {
    if (this.#running < this.#most) this.#running += 1;
    else await this.#wait(holder);
    try {
      return await work();
    } finally {
      this.#next();
    }
  }

  #wait(holder: string): Promise<void> {
    return new Promise((resolve) => {
      const line = this.#lines.get(holder);
      if (line) line.push(resolve);
      else this.#lines.set(holder, [resolve]);
    });
  }

  /** Passes the slot of work that has ended to the next holder, so that newer work does not overtake. */
  #next(): void {
    const first = this.#lines.entries().next();
    if (first.done) {
      this.#running -= 1;
      return;
    }
    const [holder, line] = first.value;
    this.#lines.delete(holder);
    line.shift()!();
    if (line.length > 0) this.#lines.set(holder, line);
  }
}
