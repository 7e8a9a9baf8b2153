/**
 * The share of an increased offset that is adopted at a time, because most of the increase is the delay of the answer.
 */
const SHARE = 1 / 16;

/** Estimates the clock of a server from its answers. The clock may run at another rate, and may be set. */
export class ServerTime {
  /**
   * The server's time minus the local time, or null before the first answer. Except for moments it is never too small.
   */
  #aheadMs: number | null = null;

  /**
   * Returns the server's time in milliseconds at a local time of `performance.now()`, or a time that is never reached
   * before the first answer.
   */
  at(localMs: number): number {
    return this.#aheadMs === null ? Number.MAX_SAFE_INTEGER : Math.ceil(localMs + this.#aheadMs);
  }

  /**
   * Records the server's time at a moment after `sentMs`.
   *
   * @param late whether the time was after the estimated maximum, which happens after the server's clock was set
   *   forward
   */
  observe(serverMs: number, sentMs: number, late: boolean): void {
    const ahead = serverMs - sentMs;
    if (this.#aheadMs === null || ahead < this.#aheadMs || late) this.#aheadMs = ahead;
    else this.#aheadMs += (ahead - this.#aheadMs) * SHARE;
  }
}
