import { readdirSync, statSync } from "node:fs";
import path from "node:path";

/** How many times as fast as real time the clock may run, to follow the wall clock after a shutdown. */
const CATCH_UP = 2;

/**
 * The clock by which old records, counts and audit entries are deleted. It is never ahead of the wall clock, and runs at most twice as
 * fast as real time from the last time at which the service has written. So a wall clock that is months ahead, at a start or
 * later, deletes nothing that is still needed when it is corrected. After a shutdown it catches up slowly, because late deletion does
 * no harm: the bounds of size hold in any case.
 */
export class KeptClock {
  readonly #startMs: number;
  readonly #startedAt = performance.now();

  /** @param startMs the time at which it starts, in Unix milliseconds */
  constructor(startMs: number) {
    this.#startMs = startMs;
  }

  /** Starts at the time of the newest file of a data folder's history, or now if there is none. */
  static of(folder: string, wallMs: number = Date.now()): KeptClock {
    const runs = path.join(folder, "runs");
    const files = [path.join(folder, "audit.sqlite"), ...namesIn(runs).map((name) => path.join(runs, name))];
    const times = files.flatMap((file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? []);
    return new KeptClock(times.length === 0 ? wallMs : Math.min(wallMs, Math.max(...times)));
  }

  /** @param wallMs the wall clock. @returns the time for decisions about what is old, both in Unix milliseconds */
  now(wallMs: number): number {
    return Math.min(wallMs, this.#startMs + CATCH_UP * (performance.now() - this.#startedAt));
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
