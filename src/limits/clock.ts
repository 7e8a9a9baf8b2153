import { readFileSync } from "node:fs";
import { uptime } from "node:os";

/** Tells the time in milliseconds since 1970. It may have fractions and may be set back. */
export interface Clock {
  now(): number;
  /** How long the system runs, which nobody can set; `undefined` where it does not tell. */
  sinceBoot?(): SinceBoot | undefined;
}

export interface SinceBoot {
  /** Which start of the system: 32 hexadecimal digits. */
  readonly boot: string;
  readonly ms: number;
}

/** A time of the counts, and when it was since the start of the system. */
export interface Anchor extends SinceBoot {
  readonly time: number;
}

/** The system tells its uptime in hundredths of a second. */
const UPTIME_STEP_MS = 10;

/** The wall clock as it was when the process started, carried on by the monotonic clock. */
export const systemClock: Clock = {
  now: () => performance.timeOrigin + performance.now(),
  sinceBoot: () => {
    try {
      const boot = readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim().replaceAll("-", "");
      return /^[0-9a-f]{32}$/.test(boot) ? { boot, ms: Math.floor(uptime() * 1_000) } : undefined;
    } catch {
      return undefined;
    }
  },
};

/**
 * Time in whole milliseconds that never goes back.
 *
 * When the system is the one that ran when the newest anchor was written, time goes on by how long it has run since,
 * whatever was done to the wall clock meanwhile: set forward, it would end windows early. After another start of the system
 * the wall clock counts, unless it is behind the newest time on record: then time goes on from the record at the clock's
 * pace. So it neither counts a span twice nor stands still until the wall clock has caught up.
 */
export class SteadyClock {
  readonly #clock: Clock;
  readonly #aheadMs: number;
  readonly #sinceBoot: SinceBoot | undefined;
  readonly #beginning: number;
  #latest: number;

  /**
   * @param newest the newest time on record, in milliseconds since 1970, or 0
   * @param anchor the newest on record
   */
  constructor(clock: Clock, newest: number, anchor?: Anchor) {
    this.#clock = clock;
    this.#sinceBoot = clock.sinceBoot?.();
    const wall = Math.floor(clock.now());
    this.#beginning = Math.max(newest, goneOn(anchor, this.#sinceBoot) ?? wall);
    this.#aheadMs = this.#beginning - wall;
    this.#latest = this.#beginning;
  }

  /** By which the next start knows how much time has passed. */
  get anchor(): Anchor | undefined {
    return this.#sinceBoot && { ...this.#sinceBoot, time: this.#beginning };
  }

  now(): number {
    const now = Math.floor(this.#clock.now()) + this.#aheadMs;
    if (now > this.#latest) this.#latest = now;
    return this.#latest;
  }
}

/** What the time is by the anchor, a step early rather than late; `undefined` when it is of another start of the system. */
function goneOn(anchor: Anchor | undefined, now: SinceBoot | undefined): number | undefined {
  if (!anchor || !now || anchor.boot !== now.boot || now.ms < anchor.ms) return undefined;
  return anchor.time + Math.max(0, now.ms - anchor.ms - UPTIME_STEP_MS);
}
