/** A guest that dies within this time counts as dead at once. */
const AT_ONCE_MS = 5_000;
/** The number of consecutive deaths at once without a wait: a task may be unlucky, and a client may try again. */
const FREE_DEATHS = 2;
const FIRST_WAIT_MS = 100;
/** The author of a task that was fixed must not wait long for the effect. */
const LONGEST_WAIT_MS = 5_000;
/** The maximum number of deaths in a window, whatever the guests did before. More replacements would empty the pool. */
const DEATHS_IN_A_WINDOW = 5;
const WINDOW_MS = 5_000;

/**
 * Counts the deaths of one isolation group's guests, and computes how long the group waits for its next guest.
 *
 * Every replacement costs the machine the start of a process. A task that kills each guest at once would otherwise use all
 * starts of the machine, and the pool that all containers share.
 */
export class CrashLoop {
  /** Consecutive deaths at once, with no healthy run between them. */
  #consecutive = 0;
  #lastMs = 0;
  /** The times of the latest deaths, oldest first. */
  readonly #times: number[] = [];

  /**
   * Counts the death of a guest that its tasks caused.
   *
   * @param livedMs the time since the group received the guest.
   * @param healthy whether the guest survived the end of a run.
   */
  died(nowMs: number, livedMs: number, healthy: boolean): void {
    this.#consecutive = healthy || livedMs > AT_ONCE_MS ? 0 : this.#consecutive + 1;
    this.#lastMs = nowMs;
    this.#times.push(nowMs);
    if (this.#times.length > DEATHS_IN_A_WINDOW) this.#times.shift();
  }

  /** The time in milliseconds until the group may have another guest; at most `LONGEST_WAIT_MS`. */
  waitMs(nowMs: number): number {
    const doublings = this.#consecutive - FREE_DEATHS - 1;
    const backOffMs = doublings < 0 ? 0 : Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(doublings, 16));
    const windowEndMs = this.#times.length === DEATHS_IN_A_WINDOW ? this.#times[0]! + WINDOW_MS : 0;
    return Math.max(0, this.#lastMs + backOffMs - nowMs, windowEndMs - nowMs);
  }
}
