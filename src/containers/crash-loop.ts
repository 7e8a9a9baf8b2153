/** A guest that lived for so long did not die at once. */
const AT_ONCE_MS = 5_000;
/** A task may be unlucky, and a caller may try again. */
const FREE_DEATHS = 2;
const FIRST_WAIT_MS = 100;
/** Whoever mends the task must not wait long to see it. */
const LONGEST_WAIT_MS = 5_000;
/** However healthy the guests between them: more could not be replaced without taking the pool from the neighbours. */
const DEATHS_IN_A_WINDOW = 5;
const WINDOW_MS = 5_000;

/**
 * The deaths of one isolation group's guests, and how long it waits for the next one.
 *
 * Every replacement costs the machine the start of a process. A task that kills each guest at once would have all that the
 * machine can start, and the pool of its neighbours with it.
 */
export class CrashLoop {
  /** Deaths at once, one after the other, with no healthy run between them. */
  #inARow = 0;
  #lastMs = 0;
  /** The latest, oldest first. */
  readonly #times: number[] = [];

  /**
   * A guest died by a fault of its tasks.
   *
   * @param livedMs since it was given to the group.
   * @param healthy whether a run ended in it and left it alive.
   */
  died(nowMs: number, livedMs: number, healthy: boolean): void {
    this.#inARow = healthy || livedMs > AT_ONCE_MS ? 0 : this.#inARow + 1;
    this.#lastMs = nowMs;
    this.#times.push(nowMs);
    if (this.#times.length > DEATHS_IN_A_WINDOW) this.#times.shift();
  }

  /** Milliseconds until the group may have another guest; at most `LONGEST_WAIT_MS`. */
  waitMs(nowMs: number): number {
    const turns = this.#inARow - FREE_DEATHS - 1;
    const pause = turns < 0 ? 0 : Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(turns, 16));
    const full = this.#times.length === DEATHS_IN_A_WINDOW ? this.#times[0]! + WINDOW_MS : 0;
    return Math.max(0, this.#lastMs + pause - nowMs, full - nowMs);
  }
}
