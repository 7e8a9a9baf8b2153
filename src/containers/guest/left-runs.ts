/** The most runs that a caller may leave behind within `RECENT_MS` while others use the guest. Four times as many replace the guest. */
const MOST_OF_CALLER = 16;
/** Code that waits usually ends within this time after its caller has left. */
const RECENT_MS = 30_000;

/**
 * The runs of a guest that ended before their code did, because their callers left, cancelled them or gave them a short timeout.
 * A guest that may not drain can have many thousands.
 */
export class LeftRuns {
  #size = 0;
  /** When each caller left its latest runs, at most `MOST_OF_CALLER`. Callers are in the order of their latest. */
  readonly #times: Map<string, number[]> = new Map();

  /** The number of runs that were left since the start of the guest. */
  get size(): number {
    return this.#size;
  }

  /** The number of callers that are remembered. */
  get callers(): number {
    return this.#times.size;
  }

  add(caller: string, nowMs: number): void {
    this.#size++;
    const times = this.#times.get(caller) ?? [];
    times.push(nowMs);
    if (times.length > MOST_OF_CALLER) times.shift();
    this.#times.delete(caller);
    this.#times.set(caller, times);
    for (const [other, others] of this.#times) {
      if (nowMs - others.at(-1)! < RECENT_MS) break;
      this.#times.delete(other);
    }
  }

  /** Returns the time in milliseconds until the caller may have a further run in a guest that others use; 0 if it may now. */
  waitMs(caller: string, nowMs: number): number {
    const times = this.#times.get(caller);
    return times?.length === MOST_OF_CALLER ? Math.max(0, times[0]! + RECENT_MS - nowMs) : 0;
  }
}
