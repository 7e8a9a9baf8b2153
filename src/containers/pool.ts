import { Problem } from "../errors.ts";
import { REPLACED } from "./guest/exit-causes.ts";
import type { Guest } from "./guest/guest.ts";

/** How a guest was come by, as `Server-Timing` says it. */
export type Start = "warm" | "new" | "cold";

export interface Taken {
  readonly guest: Guest;
  readonly start: Start;
}

interface Asked {
  readonly atMs: number;
  /** Whether in place of a guest that its container has lost. */
  readonly replaces: boolean;
}

interface Waiter extends PromiseWithResolvers<Taken>, Pick<Asked, "replaces"> {}

/** More at once only slow each other down: a start is mostly processor time. */
const STARTS_AT_ONCE = 2;
/** Spawning blocks for a millisecond or two: the run that took the blank is answered first. */
const REFILL_DELAY_MS = 10;
/** Between attempts to refill after a start has failed and nobody waits. */
const RETRY_MS = 1_000;
/** More waiting than this could not be served within a patient client's time. */
const MAX_WAITING = 256;

/** Time between two checks for spare guests that the demand no longer needs, as a part of the window of demand. */
const TRIM_PART = 1 / 6;
/**
 * As many blanks as lately took the place of a lost guest are kept for such, up to this part of what is wanted: who opens
 * containers by the dozen then waits for starts, and not who had one that a task has ended.
 */
const MOST_KEPT = 1 / 2;
/** Of runs that were counted, and so are not told that they can be tried again for nothing. */
const STOPPED = new Problem("sandbox_failed", "the service stopped before the run could begin");

export interface PoolOptions {
  /** The most blanks while many are asked for. */
  readonly most?: number;
  /**
   * While many guests are asked for, as many lie ready as were asked for in this time. Demand comes in bursts, and a container
   * that finds no blank waits for a start, which takes a tenth of a second and more on a busy machine.
   */
  readonly demandMs?: number;
  /** In milliseconds that never go back. */
  readonly now?: (() => number) | undefined;
}

/**
 * Blank guests, kept warm so that a container that comes need not wait for a process to start. They are more while many
 * are asked for, be it that many containers come or that tasks end theirs.
 */
export class Pool {
  readonly #launch: () => Promise<Guest>;
  readonly #size: number;
  readonly #most: number;
  readonly #demandMs: number;
  readonly #spares: Guest[] = [];
  /** The latest last. */
  readonly #asked: Asked[] = [];
  readonly #waiting: Waiter[] = [];
  #starting = 0;
  #closed = false;
  #later: { readonly timer: NodeJS.Timeout; readonly atMs: number } | null = null;
  readonly #now: () => number;

  /** @param size the blanks that lie ready in any case. */
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

  /** Whether so many wait for a guest already that one more could not be served in time. */
  get full(): boolean {
    return this.#waiting.length >= MAX_WAITING;
  }

  /**
   * @param replaces says that the container has lost the guest that it had: it comes before those that had none.
   * @returns a blank, or the promise of one that is started for the caller. @throws {Problem} `sandbox_failed`.
   */
  take(replaces: boolean): Taken | Promise<Taken> {
    if (this.#closed) throw STOPPED;
    this.#asked.push({ atMs: this.#now(), replaces });
    const kept = replaces ? 0 : this.#reserved();
    while (this.#spares.length > kept) {
      // The oldest first: it is the warmest.
      const guest = this.#spares.shift()!;
      if (guest.ended) continue;
      this.#fillLater();
      return { guest, start: "new" };
    }
    const waiter = { ...Promise.withResolvers<Taken>(), replaces };
    const ahead = replaces ? this.#waiting.findIndex((each) => !each.replaces) : -1;
    this.#waiting.splice(ahead < 0 ? this.#waiting.length : ahead, 0, waiter);
    this.fill();
    return waiter.promise;
  }

  /** Starts what is missing, and ends what was wanted only while many came. */
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
    if (this.#later) clearTimeout(this.#later.timer);
    for (const waiter of this.#waiting.splice(0)) waiter.reject(STOPPED);
    for (const guest of this.#spares.splice(0)) guest.end(STOPPED);
  }

  #missing(): number {
    return this.#waiting.length + this.#wanted() - this.#spares.length;
  }

  #wanted(): number {
    const sinceMs = this.#now() - this.#demandMs;
    const old = this.#asked.findIndex(({ atMs }) => atMs >= sinceMs);
    this.#asked.splice(0, old < 0 ? this.#asked.length : old);
    return Math.min(Math.max(this.#size, this.#asked.length), this.#most);
  }

  #reserved(): number {
    const most = Math.floor(this.#wanted() * MOST_KEPT);
    return Math.min(most, this.#asked.filter(({ replaces }) => replaces).length);
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
    if (this.#closed || (this.#later && this.#later.atMs <= atMs)) return;
    clearTimeout(this.#later?.timer);
    const timer = setTimeout(() => {
      this.#later = null;
      this.fill();
    }, delayMs);
    this.#later = { timer, atMs };
  }
}
