import { CellLog } from "./cell-log.ts";
import { type Clock, systemClock } from "./clock.ts";
import { limitVector, type Limits, type LimitVector, WINDOW_MS, WINDOW_NAMES, type WindowName } from "./windows.ts";

/** What a throttle has against one more. */
export interface Throttled {
  /** Each window that has nothing left. */
  readonly violations: readonly {
    readonly window: WindowName;
    readonly limit: number;
    readonly retryAfterMs: number;
  }[];
  /** Exact: one more fits after so long, and not 1 ms earlier. */
  readonly retryAfterMs: number;
  /** Whether it is the first refusal since one was let through. */
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
  /** Since the log was last rid of what no window holds any more. */
  charges: number;
  refused: boolean;
  /** It was asked about again since the sweep last passed. */
  asked: boolean;
}

/** How many charges a log takes before it is rid of the past. */
const CHARGES_A_TRIM = 64;
/** How many old keys each new one looks at, at least. Two are enough to visit all before there are twice as many. */
const SWEPT_PER_NEW_KEY = 2;

/**
 * Holds strangers to a limit, each by a key, in memory alone and apart from the counts of runs.
 *
 * Where there are more keys than fit, one that was not asked about lately is forgotten: whoever has so many keys to push
 * another out has as many limits of his own anyway, and refusing keys that are new would lock out the honest ones.
 */
export class Throttle {
  readonly #limits: LimitVector;
  readonly #longestMs: number;
  readonly #maxKeys: number;
  readonly #clock: Clock;
  readonly #entries = new Map<string, Entry>();
  /** Goes round and round. A new one each time would have to walk over all that was removed before it. */
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

  /** Counts one against a key, or says what is against it and counts nothing. */
  take(key: string): Throttled | null {
    const now = Math.floor(this.#clock.now());
    let entry = this.#entries.get(key);
    if (entry) entry.asked = true;
    else {
      this.#makeRoom(now);
      entry = { log: new CellLog(), charges: 0, refused: false, asked: false };
      this.#entries.set(key, entry);
    }
    const violations = this.#violations(entry.log, now);
    if (violations.length > 0) {
      const first = !entry.refused;
      entry.refused = true;
      return { violations, retryAfterMs: Math.max(...violations.map(({ retryAfterMs }) => retryAfterMs)), first };
    }
    entry.refused = false;
    if (++entry.charges % CHARGES_A_TRIM === 0) entry.log = this.#trimmed(entry.log, now);
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

  /** Drops keys that no window holds, and where there are too many, one that was not asked about since the last visit. */
  #makeRoom(now: number): void {
    for (let looked = 0; looked < SWEPT_PER_NEW_KEY || this.#entries.size >= this.#maxKeys; looked++) {
      const next = this.#sweep.next();
      if (next.done) {
        this.#sweep = this.#entries.entries();
        continue;
      }
      const [key, entry] = next.value;
      const isIdle = entry.log.newest + this.#longestMs <= now;
      const isFull = this.#entries.size >= this.#maxKeys;
      if (isIdle || (isFull && !entry.asked)) this.#entries.delete(key);
      else if (isFull) entry.asked = false;
    }
  }

  /** A log forgets by itself what is older than all windows there are, but few of them may be tracked. */
  #trimmed(log: CellLog, now: number): CellLog {
    const trimmed = new CellLog();
    for (const [time, count] of log.entries(now)) if (time + this.#longestMs > now) trimmed.charge(time, count);
    return trimmed;
  }
}
