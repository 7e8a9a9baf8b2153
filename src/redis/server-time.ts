/** A sixteenth of what the time is found to be ahead is believed at a time: most of it is the way of the answer. */
const SHARE = 1 / 16;

/** The clock of a server, told from its answers. It may go at another pace, and may be set. */
export class ServerTime {
  /** The server's time less the time here, or null before the first answer. Never less than it is, but for a moment. */
  #aheadMs: number | null = null;

  /** The server's time at a time here, as `performance.now()` gives it; for ever while nothing is known. In milliseconds. */
  at(hereMs: number): number {
    return this.#aheadMs === null ? Number.MAX_SAFE_INTEGER : Math.ceil(hereMs + this.#aheadMs);
  }

  /**
   * The server's time at some moment after `sentMs`.
   *
   * @param late whether it was later than was thought possible, which is what a clock that was set forward looks like
   */
  told(serverMs: number, sentMs: number, late: boolean): void {
    const ahead = serverMs - sentMs;
    if (this.#aheadMs === null || ahead < this.#aheadMs || late) this.#aheadMs = ahead;
    else this.#aheadMs += (ahead - this.#aheadMs) * SHARE;
  }
}
