/**
 * Runs asynchronous work, a few at a time. Holders take turns: in one line for all, the work of one holder would wait behind
 * all work of another. A holder may have at most a part of the slots, so that work that does not end leaves slots to others.
 */
export class FairQueue {
  readonly #most: number;
  readonly #mostOfHolder: number;
  /** Waiting work by its holder. The holder with the next turn is first. */
  readonly #lines = new Map<string, Set<() => void>>();
  /** The number of running work by its holder. */
  readonly #runningOf = new Map<string, number>();
  #running = 0;

  /**
   * @param most the maximum number of simultaneous work
   * @param mostOfHolder the maximum number of one holder; the default is `most`
   */
  constructor(most: number, mostOfHolder: number = most) {
    this.#most = most;
    this.#mostOfHolder = mostOfHolder;
  }

  /** @param signal drops work that still waits when it aborts. @throws the error of the work, or the reason of the signal */
  async run<T>(holder: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    if (this.#mayBegin(holder)) this.#begin(holder);
    else await this.#wait(holder, signal);
    try {
      return await work();
    } finally {
      this.#end(holder);
    }
  }

  #mayBegin(holder: string): boolean {
    return this.#running < this.#most && (this.#runningOf.get(holder) ?? 0) < this.#mostOfHolder;
  }

  #begin(holder: string): void {
    this.#running += 1;
    this.#runningOf.set(holder, (this.#runningOf.get(holder) ?? 0) + 1);
  }

  #wait(holder: string, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const begin = (): void => {
        signal?.removeEventListener("abort", leave);
        resolve();
      };
      const leave = (): void => {
        this.#leave(holder, begin);
        reject(signal!.reason as Error);
      };
      const line = this.#lines.get(holder);
      if (line) line.add(begin);
      else this.#lines.set(holder, new Set([begin]));
      signal?.addEventListener("abort", leave, { once: true });
    });
  }

  #leave(holder: string, begin: () => void): void {
    const line = this.#lines.get(holder)!;
    line.delete(begin);
    if (line.size === 0) this.#lines.delete(holder);
  }

  /** Passes the slot of work that has ended to the next holder that may have it, before newer work can take it. */
  #end(holder: string): void {
    this.#running -= 1;
    const left = this.#runningOf.get(holder)! - 1;
    if (left === 0) this.#runningOf.delete(holder);
    else this.#runningOf.set(holder, left);
    // It had its turn while the others waited, also those that came after its line.
    const own = this.#lines.get(holder);
    if (own) {
      this.#lines.delete(holder);
      this.#lines.set(holder, own);
    }
    for (const [next, line] of this.#lines) {
      if (!this.#mayBegin(next)) continue;
      this.#begin(next);
      this.#lines.delete(next);
      const [begin] = line;
      line.delete(begin!);
      begin!();
      if (line.size > 0) this.#lines.set(next, line);
      return;
    }
  }
}
