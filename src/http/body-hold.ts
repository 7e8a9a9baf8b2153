import type { HeldBody } from "./bodies.ts";

/**
 * Holds the body of one request. The code that answers the request creates it and calls `release` in `finally`, so that
 * every outcome gives the memory back. Code that reads the body only adds to it, and cannot forget that.
 */
export class BodyHold {
  #held: HeldBody | null = null;

  /** @returns the bytes of the body */
  keep(held: HeldBody): Buffer {
    this.#held = held;
    return held.bytes;
  }

  /** Gives the memory back. Further calls have no effect. */
  release(): void {
    this.#held?.release();
    this.#held = null;
  }
}
