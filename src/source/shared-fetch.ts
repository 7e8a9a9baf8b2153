import { type TimeLimit, within } from "./within.ts";

type Pausable = Pick<TimeLimit, "pause" | "resume">;

/** Work that several callers await. It is aborted when the last caller leaves, and not when any other caller leaves. */
export class SharedFetch<T> {
  /** The token family in whose turn the work is done. */
  readonly family: string;
  readonly #work: Promise<T>;
  readonly #stop: AbortController = new AbortController();
  readonly #onOver: () => void;
  readonly #times = new Set<Pausable>();
  #isPaused = false;
  #hasBegun = false;

  /**
   * @param work receives the time that it pauses while it waits for its turn, and what it calls when its turn has come.
   * @param maxMs the time limit of the work.
   * @param late creates the error that is thrown after the time limit.
   * @param onOver called, perhaps twice, when the work is done or no caller awaits it. Later callers need new work.
   */
  constructor(
    family: string,
    work: (time: Pausable, onBegin: () => void, signal: AbortSignal) => Promise<T>,
    maxMs: number,
    late: () => unknown,
    onOver: () => void,
  ) {
    this.family = family;
    this.#onOver = onOver;
    const onBegin = (): void => void (this.#hasBegun = true);
    const begin = (time: TimeLimit): Promise<T> => work(this.#ofAll(time), onBegin, this.#stop.signal);
    this.#work = within(maxMs, late, begin, this.#stop.signal);
    // No caller joins finished work. Later callers read the result from the cache if they may share it.
    this.#work.then(onOver, onOver);
  }

  /** Whether the work no longer waits for its turn. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /**
   * @param time the time of the caller, which stands still as long as that of the work.
   * @throws the reason of the signal if it aborts, or the error of the work.
   */
  async join(time: Pausable, signal: AbortSignal): Promise<T> {
    this.#times.add(time);
    if (this.#isPaused) time.pause();
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    this.#work.then(resolve, reject);
    try {
      return await promise;
    } finally {
      signal.removeEventListener("abort", onAbort);
      this.#times.delete(time);
      time.resume();
      if (this.#times.size === 0) this.#stopWork();
    }
  }

  /** Returns the time of the work and of all callers that await it. */
  #ofAll(time: Pausable): Pausable {
    return {
      pause: () => {
        this.#isPaused = true;
        for (const each of [time, ...this.#times]) each.pause();
      },
      resume: () => {
        this.#isPaused = false;
        for (const each of [time, ...this.#times]) each.resume();
      },
    };
  }

  /** Aborts also finished work, so that it leaves no connection open. */
  #stopWork(): void {
    this.#onOver();
    this.#stop.abort();
  }
}
