import { Problem } from "../errors.ts";
import { REPLACED } from "./guest/exit-causes.ts";
import type { Guest } from "./guest/guest.ts";
import { StartTurns, type Waiting } from "./start-turns.ts";

/** The source of a guest, as `Server-Timing` reports it: the slot's own guest, a spare, or a guest started for the run. */
export type Start = "warm" | "new" | "cold";

export interface Taken {
  readonly guest: Guest;
  readonly start: Start;
}

/** The family that takes a guest, and the reason. */
export type Taker = Waiting;

interface Demand extends Pick<Taker, "holder" | "replaces"> {
  readonly atMs: number;
}

interface Waiter extends PromiseWithResolvers<Taken>, Taker {}

/** The delay before a refill. A spawn blocks for one or two milliseconds, and the run that took the spare goes first. */
const REFILL_DELAY_MS = 10;
/**
 * A start takes as much processor time as the first import of a large package, so a refill waits for the first answer of guests that
 * were taken as short a time ago as this, in milliseconds. On a machine with two processors the import takes twice the time otherwise.
 */
const FIRST_ANSWER_MS = 60;
/** With fewer than this part of the wanted spares, a refill does not wait for first answers. */
const ENOUGH_PART = 1 / 2;
/** The time between attempts to refill after a start has failed, if no run waits. */
const RETRY_MS = 1_000;
/**
 * The number of waiting runs from which on a family may only wait with its share of them. More could not be served before a
 * patient client gives up.
 */
const MAX_WAITING = 256;
/** The maximum number of waiting runs of all families, however many wait: stops many families at once. */
const MAX_WAITING_EVER = 4 * MAX_WAITING;

/** The time between two checks for spares that the demand no longer needs, as a part of the window of demand. */
const TRIM_PART = 1 / 6;
/**
 * The pool reserves as many spares for replacements as it lately gave to them, up to this part of all spares. So a client
 * that opens many containers at once waits for starts, and a client that lost its guest does not.
 */
const MAX_RESERVED_PART = 1 / 2;
/**
 * The part of the minimum number of spares, and at least one, that is kept from a family which lately took more guests than
 * that number. Otherwise a family that takes guests all the time would leave no spare to a family that needs its first one.
 */
const KEPT_PART = 1 / 4;
/** The runs that receive this were counted, so its code must not promise that a retry is free. */
const STOPPED = new Problem("sandbox_failed", "the service stopped before the run could begin");

export interface PoolOptions {
  /** The maximum number of starts at once. More than the machine has processors for would only slow each other down. */
  readonly startsAtOnce?: number;
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
  readonly #startsAtOnce: number;
  readonly #demandMs: number;
  readonly #spares: Guest[] = [];
  /** The latest demand, oldest first. */
  readonly #demand: Demand[] = [];
  /** The number of guests that each family has lately taken. */
  readonly #taken = new Map<object | null, number>();
  /** The spares that were taken lately, oldest first. */
  readonly #given: { readonly guest: Pick<Guest, "answered" | "ended">; readonly atMs: number }[] = [];
  readonly #waiting = new StartTurns<Waiter>();
  #starting = 0;
  #closed = false;
  #nextFill: { readonly timer: NodeJS.Timeout; readonly atMs: number } | null = null;
  readonly #now: () => number;

  /** @param size the minimum number of spares. */
  constructor(
    launch: () => Promise<Guest>,
    size: number,
    { most = size, startsAtOnce = 2, demandMs = 30_000, now = () => performance.now() }: PoolOptions = {},
  ) {
    this.#launch = launch;
    this.#size = size;
    this.#most = most;
    this.#startsAtOnce = startsAtOnce;
    this.#demandMs = demandMs;
    this.#now = now;
  }

  /** Whether too many runs already wait for a guest, so that no other run of a family may. */
  isFull(holder: Taker["holder"]): boolean {
    const { count, holders } = this.#waiting;
    if (count < MAX_WAITING) return false;
    const ofFamily = this.#waiting.countOf(holder);
    return count >= MAX_WAITING_EVER || ofFamily >= MAX_WAITING / (ofFamily > 0 ? holders : holders + 1);
  }

  /** The number of spares, of guests that are being started, and of runs that wait for one. */
  get state(): { spares: number; starting: number; waiting: number } {
    return { spares: this.#spares.length, starting: this.#starting, waiting: this.#waiting.count };
  }

  /**
   * Families take turns. In its turn, a family's container that has lost its guest comes before those that had none.
   *
   * @returns a spare, or the promise of a guest that is started for the caller. @throws {Problem} `sandbox_failed`.
   */
  take(taker: Taker): Taken | Promise<Taken> {
    if (this.#closed) throw STOPPED;
    const { holder, replaces } = taker;
    this.#demand.push({ atMs: this.#now(), holder, replaces });
    this.#taken.set(holder, (this.#taken.get(holder) ?? 0) + 1);
    const reserved = this.#reservedFrom(taker);
    while (this.#spares.length > reserved) {
      // The oldest spare is the warmest.
      const guest = this.#spares.shift()!;
      if (guest.ended) continue;
      this.#given.push({ guest, atMs: this.#now() });
      this.#fillLater();
      return { guest, start: "new" };
    }
    const waiter = { ...Promise.withResolvers<Taken>(), ...taker };
    this.#waiting.add(waiter);
    this.fill();
    return waiter.promise;
  }

  /** Starts missing guests, and ends spares that the demand no longer needs. */
  fill(): void {
    while (this.#missing() < 0) this.#spares.pop()!.end(REPLACED);
    while (!this.#closed && this.#starting < this.#startsAtOnce && this.#starting < this.#missing()) {
      this.#starting++;
      void this.#start();
    }
    if (this.#spares.length > this.#size) this.#fillLater(this.#demandMs * TRIM_PART);
  }

  close(): void {
    this.#closed = true;
    if (this.#nextFill) clearTimeout(this.#nextFill.timer);
    for (const waiter of this.#waiting.drain()) waiter.reject(STOPPED);
    for (const guest of this.#spares.splice(0)) guest.end(STOPPED);
  }

  #missing(): number {
    return this.#waiting.count + this.#wanted() - this.#spares.length;
  }

  #wanted(): number {
    const sinceMs = this.#now() - this.#demandMs;
    const expired = this.#demand.findIndex(({ atMs }) => atMs >= sinceMs);
    for (const { holder } of this.#demand.splice(0, expired < 0 ? this.#demand.length : expired)) {
      const taken = this.#taken.get(holder)! - 1;
      if (taken === 0) this.#taken.delete(holder);
      else this.#taken.set(holder, taken);
    }
    return Math.min(Math.max(this.#size, this.#demand.length), this.#most);
  }

  /** Returns the number of spares that a run may not take. */
  #reservedFrom({ holder, replaces }: Taker): number {
    const most = Math.floor(this.#wanted() * MAX_RESERVED_PART);
    const kept = this.#isHeavy(holder) ? this.#kept : 0;
    if (replaces) return kept;
    const replaced = this.#demand.filter(
      (each) => each.replaces && (each.holder === holder || !this.#isHeavy(each.holder)),
    );
    return Math.max(kept, Math.min(most, replaced.length));
  }

  /** The number of spares that are kept from families that take many. */
  get #kept(): number {
    return Math.ceil(this.#size * KEPT_PART);
  }

  /** Whether a family has lately taken more guests than the minimum number of spares. */
  #isHeavy(holder: Taker["holder"]): boolean {
    return holder !== null && (this.#taken.get(holder) ?? 0) > this.#size;
  }

  /** Returns the run that gets a guest which was started now; null if the guest becomes a spare. */
  #nextWaiter(): Waiter | null {
    const next = this.#waiting.peek();
    if (next && this.#isHeavy(next.holder) && this.#spares.length < this.#kept) return null;
    return this.#waiting.take();
  }

  async #start(): Promise<void> {
    try {
      const guest = await this.#launch();
      this.#starting--;
      const waiter = this.#closed ? null : this.#nextWaiter();
      if (waiter) waiter.resolve({ guest, start: "cold" });
      else if (this.#closed) guest.end(STOPPED);
      else this.#spares.push(guest);
    } catch (error) {
      this.#starting--;
      const waiter = this.#waiting.take();
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
      if (this.#mayWait()) this.#fillLater();
      else this.fill();
    }, delayMs);
    this.#nextFill = { timer, atMs };
  }

  /** Whether a refill would slow down first runs, and enough spares are left for other containers. */
  #mayWait(): boolean {
    const sinceMs = this.#now() - FIRST_ANSWER_MS;
    while (this.#given.length > 0 && this.#given[0]!.atMs < sinceMs) this.#given.shift();
    const isEnough = this.#waiting.count === 0 && this.#spares.length >= this.#wanted() * ENOUGH_PART;
    return isEnough && this.#given.some(({ guest }) => guest.answered === 0 && !guest.ended);
  }
}
