import { within } from "./within.ts";

/** Work that several wait for. It ends with the last of them, so that none who leaves ends it for the others. */
export class SharedFetch<T> {
  readonly #work: Promise<T>;
  readonly #stop: AbortController = new AbortController();
  readonly #over: () => void;
  #waiting = 0;

  /**
   * @param maxMs how long it may take.
   * @param late makes what is thrown after that.
   * @param over called, perhaps twice, when it is done or nobody waits for it any more; who comes then needs another.
   */
  constructor(work: (signal: AbortSignal) => Promise<T>, maxMs: number, late: () => unknown, over: () => void) {
    this.#over = over;
    this.#work = within(maxMs, late, () => work(this.#stop.signal), this.#stop.signal);
    // Once it is done it is nobody's to join: what may be given to those who come later is kept elsewhere.
    this.#work.then(over, over);
  }

  /** @throws the signal's reason when it aborts, or the error of the work. */
  async join(signal: AbortSignal): Promise<T> {
    this.#waiting += 1;
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const leave = (): void => reject(signal.reason);
    signal.addEventListener("abort", leave, { once: true });
    if (signal.aborted) leave();
    this.#work.then(resolve, reject);
    try {
      return await promise;
    } finally {
      signal.removeEventListener("abort", leave);
      this.#waiting -= 1;
      if (this.#waiting === 0) this.#end();
    }
  }

  /** Also when the work is done: no connection of it stays. */
  #end(): void {
    this.#over();
    this.#stop.abort();
  }
}
