import type { HeldBody } from "./bodies.ts";

/**
 * Holds the body of one request. The code that answers the request creates it and calls `release` in `finally`, so that
 * every outcome gives the memory back. Code that reads the body only adds to it, and cannot forget that.
 */
export class BodyHold {
  #release: (() => void) | null = null;

  /** @returns the bytes of the body */
  keep({ bytes, release }: HeldBody): Buffer {
    this.#release = release;
    return bytes;
  }

  /** Gives the memory back. Further calls have no effect. */
  release(): void {
    this.#release?.();
    this.#release = null;
  }
}
