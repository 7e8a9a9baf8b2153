import type { Charge, Decision, KeyUsage, LimitStore, Violation } from "../../../src/limits/store.ts";
import type { HandClock } from "../stores/folder.ts";

/** The six windows, defined independently of the tested code. */
export const WINDOWS: readonly (readonly [name: Violation["window"], lengthMs: number])[] = [
  ["second", 1_000],
  ["minute", 60_000],
  ["hour", 60 * 60_000],
  ["day", 24 * 60 * 60_000],
  ["week", 7 * 24 * 60 * 60_000],
  ["month", 31 * 24 * 60 * 60_000],
];

const NONE: readonly number[] = [];

/** The time of every admitted run, by key, without entries, cells or journals. */
export class NaiveLog {
  readonly #times = new Map<string, number[]>();

  /** Returns the times of a key, oldest first. */
  times(key: string): readonly number[] {
    return this.#times.get(key) ?? NONE;
  }

  add(key: string, time: number): void {
    const times = this.#times.get(key);
    if (times) times.push(time);
    else this.#times.set(key, [time]);
  }

  clear(key: string): void {
    this.#times.delete(key);
  }

  /** Returns how many runs lie in the half-open interval of this length that ends at `now`. */
  used(key: string, lengthMs: number, now: number): number {
    const times = this.times(key);
    let at = times.length;
    while (at > 0 && times[at - 1]! > now - lengthMs) at--;
    return times.length - at;
  }

  /** Makes the decision of a perfect log, and counts the run if it admits it. */
  decide(charges: readonly Charge[], now: number): Decision {
    const violations: Violation[] = [];
    let retryAfterMs = 0;
    for (const charge of charges) {
      for (let window = 0; window < WINDOWS.length; window++) {
        const limit = charge.limits[window]!;
        if (limit === 0 || this.#left(charge, window, now) > 0) continue;
        const waitMs = this.#waitMs(charge, window, now);
        const [name] = WINDOWS[window]!;
        violations.push({ class: charge.class, window: name, limit, remaining: 0, retryAfterMs: waitMs });
        retryAfterMs = Math.max(retryAfterMs, waitMs);
      }
    }
    const admitted = violations.length === 0;
    if (admitted) for (const { key } of charges) this.add(key, now);
    return { admitted, usage: charges.map((charge) => this.usage(charge, now)), retryAfterMs, violations };
  }

  usage(charge: Charge, now: number): KeyUsage {
    const { class: keyClass, limits } = charge;
    const remaining = WINDOWS.map((_, window) => this.#left(charge, window, now));
    return { class: keyClass, limits, remaining, resetMs: WINDOWS.map((_, at) => this.#waitMs(charge, at, now)) };
  }

  #left({ key, limits }: Charge, window: number, now: number): number {
    const limit = limits[window]!;
    return limit === 0 ? 0 : Math.max(0, limit - this.used(key, WINDOWS[window]![1], now));
  }

  /** Returns the wait until more runs are left: until the first run leaves the window after which that is true. */
  #waitMs(charge: Charge, window: number, now: number): number {
    if (charge.limits[window] === 0) return 0;
    const left = this.#left(charge, window, now);
    const lengthMs = WINDOWS[window]![1];
    for (const time of this.times(charge.key)) {
      const leaves = time + lengthMs;
      if (leaves > now && this.#left(charge, window, leaves) > left) return leaves - now;
    }
    return 0;
  }
}

/** The time of a store: that of its clock, but never back, and after a restart not before the newest change on disk. */
export class StoreTime {
  readonly clock: HandClock;
  #ahead = 0;
  #latest: number;
  #newestChange = 0;

  /** A store reads the clock when it is opened. */
  constructor(clock: HandClock) {
    this.clock = clock;
    this.#latest = clock.time;
  }

  now(): number {
    this.#latest = Math.max(this.#latest, this.clock.time + this.#ahead);
    return this.#latest;
  }

  /** Records that a count changed at this time, by default now. */
  changed(time: number = this.#latest): void {
    this.#newestChange = time;
  }

  restarted(): void {
    this.#ahead = Math.max(0, this.#newestChange - this.clock.time);
    this.#latest = this.clock.time + this.#ahead;
  }

  /** Lets this much time pass for the store, even after the clock was set back. */
  pass(milliseconds: number): void {
    this.clock.time = Math.max(this.#latest - this.#ahead, this.clock.time) + milliseconds;
  }
}

/** A store that can be opened again with what it has written. */
export interface Restarting {
  readonly store: LimitStore;
  restart(): Promise<void>;
}
