/** The time that work has left. */
export interface TimeLimit {
  restart(): void;
  /** Stops the time until `resume`. The work waits for something that is not its own. */
  pause(): void;
  resume(): void;
}

/**
 * Awaits work for a limited time. The work itself continues after that; the caller must stop it.
 *
 * @param late creates the error that is thrown after `ms` milliseconds.
 * @throws the reason of the signal if it aborts first.
 */
export async function within<T>(
  ms: number,
  late: () => unknown,
  work: (time: TimeLimit) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const time = new Countdown(ms, () => reject(late()));
  const onAbort = (): void => reject(signal?.reason);
  signal?.addEventListener("abort", onAbort, { once: true });
  work(time).then(resolve, reject);
  try {
    return await promise;
  } finally {
    time.end();
    signal?.removeEventListener("abort", onAbort);
  }
}

class Countdown implements TimeLimit {
  readonly #ms: number;
  readonly #expire: () => void;
  #leftMs: number;
  #startedMs = 0;
  /** Null while the time stands still. */
  #timer: NodeJS.Timeout | null = null;
  #isOver = false;

  constructor(ms: number, expire: () => void) {
    this.#ms = ms;
    this.#leftMs = ms;
    this.#expire = expire;
    this.resume();
  }

  restart(): void {
    const isPaused = this.#timer === null;
    this.pause();
    this.#leftMs = this.#ms;
    if (!isPaused) this.resume();
  }

  pause(): void {
    if (this.#timer === null) return;
    clearTimeout(this.#timer);
    this.#timer = null;
    this.#leftMs -= performance.now() - this.#startedMs;
  }

  resume(): void {
    if (this.#isOver || this.#timer !== null) return;
    this.#startedMs = performance.now();
    this.#timer = setTimeout(this.#expire, Math.max(0, this.#leftMs));
  }

  end(): void {
    this.pause();
    this.#isOver = true;
  }
}
