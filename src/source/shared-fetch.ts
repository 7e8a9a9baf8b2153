import { within } from "./within.ts";

/** Work that several callers await. It is aborted when the last caller leaves, and not when any other caller leaves. */
export class SharedFetch<T> {
  readonly #work: Promise<T>;
  readonly #stop: AbortController = new AbortController();
  readonly #onOver: () => void;
  #waiting = 0;

  /**
   * @param maxMs the time limit of the work.
   * @param late creates the error that is thrown after the time limit.
   * @param onOver called, perhaps twice, when the work is done or no caller awaits it. Later callers need new work.
   */
  constructor(work: (signal: AbortSignal) => Promise<T>, maxMs: number, late: () => unknown, onOver: () => void) {
    this.#onOver = onOver;
    this.#work = within(maxMs, late, () => work(this.#stop.signal), this.#stop.signal);
    // No caller joins finished work. Later callers read the result from the cache if they may share it.
    this.#work.then(onOver, onOver);
  }

  /** @throws the reason of the signal if it aborts, or the error of the work. */
  async join(signal: AbortSignal): Promise<T> {
    this.#waiting += 1;
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    this.#work.then(resolve, reject);
    try {
      return await promise;
    } finally {
      signal.removeEventListener("abort", onAbort);
      this.#waiting -= 1;
      if (this.#waiting === 0) this.#stopWork();
    }
  }

  /** Aborts also finished work, so that it leaves no connection open. */
  #stopWork(): void {
    this.#onOver();
    this.#stop.abort();
  }
}
