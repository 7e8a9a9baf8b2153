import { Problem } from "../errors.ts";
import { REPLACED } from "./guest/exit-causes.ts";
import type { Guest } from "./guest/guest.ts";

/** The source of a guest, as `Server-Timing` reports it: the slot's own guest, a spare, or a guest started for the run. */
export type Start = "warm" | "new" | "cold";

export interface Taken {
  readonly guest: Guest;
  readonly start: Start;
}

interface Demand {
  readonly atMs: number;
  /** Whether the guest replaces a guest that its container has lost. */
  readonly replaces: boolean;
}

interface Waiter extends PromiseWithResolvers<Taken>, Pick<Demand, "replaces"> {}

/** The maximum number of starts at once. More would only slow each other down, because a start is mostly processor time. */
const STARTS_AT_ONCE = 2;
/** The delay before a refill. A spawn blocks for one or two milliseconds, and the run that took the spare goes first. */
const REFILL_DELAY_MS = 10;
/** The time between attempts to refill after a start has failed, if no run waits. */
const RETRY_MS = 1_000;
/** The maximum number of waiting runs. More could not be served before a patient client gives up. */
const MAX_WAITING = 256;

/** The time between two checks for spares that the demand no longer needs, as a part of the window of demand. */
const TRIM_PART = 1 / 6;
/**
 * The pool reserves as many spares for replacements as it lately gave to them, up to this part of all spares. So a client
 * that opens many containers at once waits for starts, and a client that lost its guest does not.
 */
const MAX_RESERVED_PART = 1 / 2;
/** The runs that receive this were counted, so its code must not promise that a retry is free. */
const STOPPED = new Problem("sandbox_failed", "the service stopped before the run could begin");

export interface PoolOptions {
  /** The maximum number of spares under high demand. */
  readonly most?: number;
  /**
   * The window of demand, in milliseconds. The pool keeps as many spares as guests were taken in this time. Demand comes in
   * bursts, and a container that finds no spare waits for a start: a tenth of a second, and longer on a busy machine.
   */
  readonly demandMs?: number;
  /** A monotonic clock, in milliseconds. */
  readonly now?: (() => number) | undefined;
}

/**
 * Spares: warm guests without a container, so that a new container need not wait for the start of a process. The pool grows
 * with the demand, both from new containers and from containers whose tasks ended their guests.
 */
export class Pool {
  readonly #launch: () => Promise<Guest>;
  readonly #size: number;
  readonly #most: number;
  readonly #demandMs: number;
  readonly #spares: Guest[] = [];
  /** The latest demand, oldest first. */
  readonly #demand: Demand[] = [];
  readonly #waiting: Waiter[] = [];
  #starting = 0;
  #closed = false;
  #nextFill: { readonly timer: NodeJS.Timeout; readonly atMs: number } | null = null;
  readonly #now: () => number;

  /** @param size the minimum number of spares. */
  constructor(
    launch: () => Promise<Guest>,
    size: number,
    { most = size, demandMs = 30_000, now = () => performance.now() }: PoolOptions = {},
  ) {
    this.#launch = launch;
    this.#size = size;
    this.#most = most;
    this.#demandMs = demandMs;
    this.#now = now;
  }

  /** Whether too many runs already wait for a guest. */
  get full(): boolean {
    return this.#waiting.length >= MAX_WAITING;
  }

  /** The number of spares, of guests that are being started, and of runs that wait for one. */
  get state(): { spares: number; starting: number; waiting: number } {
    return { spares: this.#spares.length, starting: this.#starting, waiting: this.#waiting.length };
  }

  /**
   * @param replaces whether the container has lost its guest. It then comes before containers that had none.
   * @returns a spare, or the promise of a guest that is started for the caller. @throws {Problem} `sandbox_failed`.
   */
  take(replaces: boolean): Taken | Promise<Taken> {
    if (this.#closed) throw STOPPED;
    this.#demand.push({ atMs: this.#now(), replaces });
    const reserved = replaces ? 0 : this.#reserved();
    while (this.#spares.length > reserved) {
      // The oldest spare is the warmest.
      const guest = this.#spares.shift()!;
      if (guest.ended) continue;
      this.#fillLater();
      return { guest, start: "new" };
    }
    const waiter = { ...Promise.withResolvers<Taken>(), replaces };
    const index = replaces ? this.#waiting.findIndex((each) => !each.replaces) : -1;
    this.#waiting.splice(index < 0 ? this.#waiting.length : index, 0, waiter);
    this.fill();
    return waiter.promise;
  }

  /** Starts missing guests, and ends spares that the demand no longer needs. */
  fill(): void {
    while (this.#missing() < 0) this.#spares.pop()!.end(REPLACED);
    while (!this.#closed && this.#starting < STARTS_AT_ONCE && this.#starting < this.#missing()) {
      this.#starting++;
      void this.#start();
    }
    if (this.#spares.length > this.#size) this.#fillLater(this.#demandMs * TRIM_PART);
  }

  close(): void {
    this.#closed = true;
    if (this.#nextFill) clearTimeout(this.#nextFill.timer);
    for (const waiter of this.#waiting.splice(0)) waiter.reject(STOPPED);
    for (const guest of this.#spares.splice(0)) guest.end(STOPPED);
  }

  #missing(): number {
    return this.#waiting.length + this.#wanted() - this.#spares.length;
  }

  #wanted(): number {
    const sinceMs = this.#now() - this.#demandMs;
    const expired = this.#demand.findIndex(({ atMs }) => atMs >= sinceMs);
    this.#demand.splice(0, expired < 0 ? this.#demand.length : expired);
    return Math.min(Math.max(this.#size, this.#demand.length), this.#most);
  }

  #reserved(): number {
    const most = Math.floor(this.#wanted() * MAX_RESERVED_PART);
    return Math.min(most, this.#demand.filter(({ replaces }) => replaces).length);
  }

  async #start(): Promise<void> {
    try {
      const guest = await this.#launch();
      this.#starting--;
      const waiter = this.#waiting.shift();
      if (waiter) waiter.resolve({ guest, start: "cold" });
      else if (this.#closed) guest.end(STOPPED);
      else this.#spares.push(guest);
    } catch (error) {
      this.#starting--;
      const waiter = this.#waiting.shift();
      waiter?.reject(error);
      if (!waiter) return this.#fillLater(RETRY_MS);
    }
    this.fill();
  }

  #fillLater(delayMs: number = REFILL_DELAY_MS): void {
    const atMs = this.#now() + delayMs;
    if (this.#closed || (this.#nextFill && this.#nextFill.atMs <= atMs)) return;
    clearTimeout(this.#nextFill?.timer);
    const timer = setTimeout(() => {
      this.#nextFill = null;
      this.fill();
    }, delayMs);
    this.#nextFill = { timer, atMs };
  }
}
