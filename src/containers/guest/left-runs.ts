/** The most runs that a caller may leave behind within `RECENT_MS` while others use the guest. Four times as many replace the guest. */
const MOST_OF_CALLER = 16;
/** Code that waits usually ends within this time after its caller has left. */
const RECENT_MS = 30_000;

interface LeftRun {
  readonly caller: string;
  /** The token family of the caller. */
  readonly family: string;
  readonly leftMs: number;
}

/** The runs of a guest that ended before their code did, because their callers left, cancelled them or gave them a short timeout. */
export class LeftRuns {
  readonly #runs: Map<number, LeftRun> = new Map();

  /** The number of runs that were left since the start of the guest. */
  get size(): number {
    return this.#runs.size;
  }

  add(id: number, { caller, family }: Pick<LeftRun, "caller" | "family">, nowMs: number): void {
    this.#runs.set(id, { caller, family, leftMs: nowMs });
  }

  /** Returns the token family of a run, or null if it is none of these runs. */
  familyOf(id: number): string | null {
    return this.#runs.get(id)?.family ?? null;
  }

  /** Returns the time in milliseconds until the caller may have a further run in a guest that others use; 0 if it may now. */
  waitMs(caller: string, nowMs: number): number {
    if (this.#runs.size < MOST_OF_CALLER) return 0;
    const recent = [...this.#runs.values()].filter((run) => run.caller === caller && nowMs - run.leftMs < RECENT_MS);
    return recent.length < MOST_OF_CALLER ? 0 : recent.at(-MOST_OF_CALLER)!.leftMs + RECENT_MS - nowMs;
  }
}
