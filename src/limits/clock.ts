/** Tells the time in milliseconds since 1970. It may have fractions and may be set back. */
export interface Clock {
  now(): number;
}

/** The wall clock as it was when the process started, carried on by the monotonic clock. */
export const systemClock: Clock = { now: () => performance.timeOrigin + performance.now() };

/**
 * Time in whole milliseconds that never goes back.
 *
 * When the wall clock is behind the newest time on record (it was set back while the service was down), time goes on from
 * the record at the clock's pace: it neither counts a span twice nor stands still until the wall clock has caught up.
 */
export class SteadyClock {
  readonly #clock: Clock;
  readonly #aheadMs: number;
  #latest: number;

  /** @param newest the newest time on record, in milliseconds since 1970, or 0 */
  constructor(clock: Clock, newest: number) {
    this.#clock = clock;
    this.#aheadMs = Math.max(0, newest - Math.floor(clock.now()));
    this.#latest = newest;
  }

  now(): number {
    const now = Math.floor(this.#clock.now()) + this.#aheadMs;
    if (now > this.#latest) this.#latest = now;
    return this.#latest;
  }
}
