import { readFileSync } from "node:fs";
import { uptime } from "node:os";

/** A source of the time in milliseconds since 1970. The time may have fractions and may be set back. */
export interface Clock {
  now(): number;
  /** Returns the uptime of the system, which an operator cannot set; `undefined` if the system does not report it. */
  sinceBoot?(): SinceBoot | undefined;
}

export interface SinceBoot {
  /** The id of this boot of the system: 32 hexadecimal digits. */
  readonly boot: string;
  readonly ms: number;
}

/** A time of the store, and the uptime of the system at that time. */
export interface Anchor extends SinceBoot {
  readonly time: number;
}

/** The resolution of the uptime: the system reports it in hundredths of a second. */
const UPTIME_STEP_MS = 10;

/** The wall clock at the start of the process, continued by the monotonic clock. */
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
 * If the system has not rebooted since the newest anchor was written, time continues by the uptime since then. Changes of the
 * wall clock have no effect: a clock set forward would end windows early. After a reboot the wall clock applies, unless it is
 * behind the newest time on record: then time continues from the record at the pace of the wall clock. So no span counts
 * twice, and time does not stand still until the wall clock has caught up.
 */
export class SteadyClock {
  readonly #clock: Clock;
  readonly #aheadMs: number;
  readonly #sinceBoot: SinceBoot | undefined;
  readonly #beginning: number;
  #latest: number;

  /**
   * @param newest the newest time on record, in milliseconds since 1970, or 0
   * @param anchor the newest anchor on record
   */
  constructor(clock: Clock, newest: number, anchor?: Anchor) {
    this.#clock = clock;
    this.#sinceBoot = clock.sinceBoot?.();
    const wall = Math.floor(clock.now());
    this.#beginning = Math.max(newest, timeByAnchor(anchor, this.#sinceBoot) ?? wall);
    this.#aheadMs = this.#beginning - wall;
    this.#latest = this.#beginning;
  }

  /** The anchor from which the next start computes how much time has passed. */
  get anchor(): Anchor | undefined {
    return this.#sinceBoot && { ...this.#sinceBoot, time: this.#beginning };
  }

  now(): number {
    const now = Math.floor(this.#clock.now()) + this.#aheadMs;
    if (now > this.#latest) this.#latest = now;
    return this.#latest;
  }
}

/** Returns the time by the anchor, one step early rather than late; `undefined` if the system has rebooted since. */
function timeByAnchor(anchor: Anchor | undefined, now: SinceBoot | undefined): number | undefined {
  if (!anchor || !now || anchor.boot !== now.boot || now.ms < anchor.ms) return undefined;
  return anchor.time + Math.max(0, now.ms - anchor.ms - UPTIME_STEP_MS);
}
