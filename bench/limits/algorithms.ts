import { CellLog } from "../../src/limits/cell-log.ts";
import { decide } from "../../src/limits/decide.ts";
import { limitVector } from "../../src/limits/windows.ts";

/** The limit of every algorithm: this number of runs in this window. */
export const LIMIT = 1_000;
export const WINDOW_MS = 60_000;

/** The number of parts, for algorithms that divide a window into parts. */
const PARTS = 64;

/** An algorithm that enforces a limit. Times are in milliseconds and ascend. */
export interface Algorithm {
  admit(now: number): boolean;
  /** The number of numbers that it stores now. */
  numbers(): number;
}

export interface Candidate {
  readonly name: string;
  readonly usedBy: string;
  readonly make: () => Algorithm;
}

/** The usual algorithms, and at the end the algorithm of this service. */
export const CANDIDATES: readonly Candidate[] = [
  { name: "fixed window", usedBy: "envoyproxy/ratelimit, rate-limiter-flexible", make: fixedWindow },
  { name: "two weighted buckets", usedBy: "Cloudflare (2017), Upstash, Kong", make: weightedBuckets },
  { name: "GCRA, token bucket", usedBy: "redis-cell, limitd-redis", make: gcra },
  { name: `${PARTS} sub-windows`, usedBy: "counters of a part each", make: subWindows },
  { name: "sliding log", usedBy: "a list of all times", make: slidingLog },
  { name: "cell log", usedBy: "caisson", make: cellLog },
];

/** A counter that is reset at each full window of the clock. */
function fixedWindow(): Algorithm {
  let window = -1;
  let count = 0;
  return {
    admit: (now) => {
      const current = Math.floor(now / WINDOW_MS);
      if (current !== window) count = 0;
      window = current;
      return count < LIMIT && ++count > 0;
    },
    numbers: () => 2,
  };
}

/** The counters of this window and of the last. The last counts in proportion to the part of it that is still in the window. */
function weightedBuckets(): Algorithm {
  let window = -1;
  let before = 0;
  let count = 0;
  return {
    admit: (now) => {
      const current = Math.floor(now / WINDOW_MS);
      if (current !== window) {
        before = current === window + 1 ? count : 0;
        count = 0;
        window = current;
      }
      const share = 1 - (now % WINDOW_MS) / WINDOW_MS;
      return before * share + count < LIMIT && ++count > 0;
    },
    numbers: () => 3,
  };
}

/** The generic cell rate algorithm with a burst of the whole limit; a token bucket of that size is the same. */
function gcra(): Algorithm {
  const stepMs = WINDOW_MS / LIMIT;
  let arrival = -Infinity;
  return {
    admit: (now) => {
      const next = Math.max(arrival, now) + stepMs;
      if (next - now > WINDOW_MS) return false;
      arrival = next;
      return true;
    },
    numbers: () => 1,
  };
}

/** A counter for each part of the window. It is forgotten as soon as its start is outside of the window. */
function subWindows(): Algorithm {
  const counts = new Map<number, number>();
  let total = 0;
  return {
    admit: (now) => {
      const current = Math.floor((now * PARTS) / WINDOW_MS);
      for (const [part, count] of counts) {
        if (part > current - PARTS) break;
        total -= count;
        counts.delete(part);
      }
      if (total >= LIMIT) return false;
      counts.set(current, (counts.get(current) ?? 0) + 1);
      total++;
      return true;
    },
    numbers: () => 2 * counts.size,
  };
}

/** A list of the times of all runs. */
function slidingLog(): Algorithm {
  const times: number[] = [];
  let first = 0;
  return {
    admit: (now) => {
      while (first < times.length && times[first]! <= now - WINDOW_MS) first++;
      if (times.length - first >= LIMIT) return false;
      times.push(now);
      return true;
    },
    numbers: () => times.length - first,
  };
}

/** The algorithm of this service, for one key with a limit a minute. It also counts the other five windows. */
function cellLog(): Algorithm {
  const log = new CellLog();
  const charges = [{ key: "", class: "container", limits: limitVector({ minute: LIMIT }) }] as const;
  let latest = 0;
  return {
    admit: (now) => {
      latest = now;
      if (!decide(charges, [log], now).admitted) return false;
      log.charge(now);
      return true;
    },
    numbers: () => 2 * [...log.entries(latest)].length,
  };
}
