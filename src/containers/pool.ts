import { Problem } from "../errors.ts";
import type { Guest } from "./guest.ts";

/** How a guest was come by, as `Server-Timing` says it. */
export type Start = "warm" | "new" | "cold";

export interface Taken {
  readonly guest: Guest;
  readonly start: Start;
}

/** More at once only slow each other down: a start is mostly processor time. */
const STARTS_AT_ONCE = 2;
/** Spawning blocks for a millisecond or two: the run that took the blank is answered first. */
const REFILL_DELAY_MS = 10;
/** Between attempts to refill after a start has failed and nobody waits. */
const RETRY_MS = 1_000;
/** More waiting than this could not be served within a patient client's time. */
const MAX_WAITING = 256;

/** Of runs that were counted, and so are not told that they can be tried again for nothing. */
const STOPPED = new Problem("sandbox_failed", "the service stopped before the run could begin");

/** Blank guests, kept warm so that a container that comes need not wait for a process to start. */
export class Pool {
  readonly #launch: () => Promise<Guest>;
  readonly #size: number;
  readonly #blanks: Guest[] = [];
  readonly #waiting: PromiseWithResolvers<Taken>[] = [];
  #starting = 0;
  #closed = false;
  #later: NodeJS.Timeout | null = null;

  constructor(launch: () => Promise<Guest>, size: number) {
    this.#launch = launch;
    this.#size = size;
  }

  /** Whether so many wait for a guest already that one more could not be served in time. */
  get full(): boolean {
    return this.#waiting.length >= MAX_WAITING;
  }

  /** @returns a blank, or the promise of one that is started for the caller. @throws {Problem} `sandbox_failed`. */
  take(): Taken | Promise<Taken> {
    if (this.#closed) throw STOPPED;
    // The oldest first: it is the warmest.
    for (let guest = this.#blanks.shift(); guest; guest = this.#blanks.shift()) {
      if (guest.ended) continue;
      this.#fillLater();
      return { guest, start: "new" };
    }
    const waiter = Promise.withResolvers<Taken>();
    this.#waiting.push(waiter);
    this.fill();
    return waiter.promise;
  }

  fill(): void {
    while (!this.#closed && this.#starting < STARTS_AT_ONCE && this.#starting < this.#missing()) {
      this.#starting++;
      void this.#start();
    }
  }

  close(): void {
    this.#closed = true;
    if (this.#later) clearTimeout(this.#later);
    for (const waiter of this.#waiting.splice(0)) waiter.reject(STOPPED);
    for (const guest of this.#blanks.splice(0)) guest.end(STOPPED);
  }

  #missing(): number {
    return this.#waiting.length + this.#size - this.#blanks.length;
  }

  async #start(): Promise<void> {
    try {
      const guest = await this.#launch();
      this.#starting--;
      const waiter = this.#waiting.shift();
      if (waiter) waiter.resolve({ guest, start: "cold" });
      else if (this.#closed) guest.end(STOPPED);
      else this.#blanks.push(guest);
    } catch (error) {
      this.#starting--;
      const waiter = this.#waiting.shift();
      waiter?.reject(error);
      if (!waiter) return this.#fillLater(RETRY_MS);
    }
    this.fill();
  }

  #fillLater(delayMs: number = REFILL_DELAY_MS): void {
    if (this.#closed) return;
    this.#later ??= setTimeout(() => {
      this.#later = null;
      this.fill();
    }, delayMs);
  }
}
