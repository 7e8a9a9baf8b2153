import { CellLog } from "./cell-log.ts";
import { type Clock, systemClock } from "./steady-clock.ts";
import { limitVector, type Limits, type LimitVector, WINDOW_MS, WINDOW_NAMES, type WindowName } from "./windows.ts";

/** A refusal of a throttle. */
export interface Throttled {
  /** Each window that has no use left. */
  readonly violations: readonly {
    readonly window: WindowName;
    readonly limit: number;
    readonly retryAfterMs: number;
  }[];
  /** Exact: the next use fits after this time, and not 1 ms earlier. */
  readonly retryAfterMs: number;
  /** Whether this is the first refusal since the last admitted use. */
  readonly first: boolean;
}

export interface ThrottleOptions {
  readonly limits: Limits;
  /** How many keys are held at once. */
  readonly maxKeys: number;
  readonly clock?: Clock;
}

interface Entry {
  log: CellLog;
  /** The number of admitted uses since the key was created. */
  charges: number;
  refused: boolean;
  /** Whether `take` was called for the key again since the sweep last visited it. */
  used: boolean;
}

/** The number of admitted uses after which the throttle trims the log of a key. */
const CHARGES_PER_TRIM = 64;
/** How many old keys the sweep visits for each new key, at least. Two are enough to visit all before their number doubles. */
const SWEPT_PER_NEW_KEY = 2;

/**
 * Limits unauthenticated callers, each by a key such as its address. The counts are in memory only, separate from the counts
 * of runs.
 *
 * If there are more keys than fit, the sweep removes a key that was not used recently. A caller with enough keys to push out
 * another key has as many limits anyway. Rejecting new keys instead would lock out honest callers.
 */
export class Throttle {
  readonly #limits: LimitVector;
  readonly #longestMs: number;
  readonly #maxKeys: number;
  readonly #clock: Clock;
  readonly #entries = new Map<string, Entry>();
  /** Runs in circles over the keys. A new iterator for each key would walk over all keys removed before it. */
  #sweep: MapIterator<[string, Entry]> = this.#entries.entries();

  constructor({ limits, maxKeys, clock = systemClock }: ThrottleOptions) {
    this.#limits = limitVector(limits);
    this.#longestMs = Math.max(0, ...WINDOW_MS.filter((_, window) => this.#limits[window]! > 0));
    this.#maxKeys = maxKeys;
    this.#clock = clock;
  }

  /** How many keys are held. */
  get size(): number {
    return this.#entries.size;
  }

  /** Counts one use of a key and returns null, or returns the refusal and counts nothing. */
  take(key: string): Throttled | null {
    const now = Math.floor(this.#clock.now());
    let entry = this.#entries.get(key);
    if (entry) entry.used = true;
    else {
      this.#makeRoom(now);
      entry = { log: new CellLog(), charges: 0, refused: false, used: false };
      this.#entries.set(key, entry);
    }
    const violations = this.#violations(entry.log, now);
    if (violations.length > 0) {
      const first = !entry.refused;
      entry.refused = true;
      return { violations, retryAfterMs: Math.max(...violations.map(({ retryAfterMs }) => retryAfterMs)), first };
    }
    entry.refused = false;
    if (++entry.charges % CHARGES_PER_TRIM === 0) entry.log = this.#trimmed(entry.log, now);
    entry.log.charge(now);
    return null;
  }

  #violations(log: CellLog, now: number): Throttled["violations"] {
    return WINDOW_MS.flatMap((windowMs, window) => {
      const limit = this.#limits[window]!;
      if (limit === 0 || log.used(windowMs, now) < limit) return [];
      return [{ window: WINDOW_NAMES[window]!, limit, retryAfterMs: log.waitMs(windowMs, now, limit - 1) }];
    });
  }

  /** Removes keys that no window holds. If the map is full, also removes a key that was not used since the last visit. */
  #makeRoom(now: number): void {
    for (let visited = 0; visited < SWEPT_PER_NEW_KEY || this.#entries.size >= this.#maxKeys; visited++) {
      const next = this.#sweep.next();
      if (next.done) {
        this.#sweep = this.#entries.entries();
        continue;
      }
      const [key, entry] = next.value;
      const isIdle = entry.log.newest + this.#longestMs <= now;
      const isFull = this.#entries.size >= this.#maxKeys;
      if (isIdle || (isFull && !entry.used)) this.#entries.delete(key);
      else if (isFull) entry.used = false;
    }
  }

  /** Removes entries older than the longest tracked window. A log itself only drops entries older than a month. */
  #trimmed(log: CellLog, now: number): CellLog {
    const trimmed = new CellLog();
    for (const [time, count] of log.entries(now)) if (time + this.#longestMs > now) trimmed.charge(time, count);
    return trimmed;
  }
}
