import type { CellLog } from "./cell-log.ts";
import type { Charge, Decision, KeyReading, KeyUsage, Violation } from "./store.ts";
import { WINDOW_MS, WINDOW_NAMES } from "./windows.ts";

const WINDOWS = WINDOW_MS.length;
const NONE: readonly Violation[] = [];

/** The arrays of a `KeyUsage`, while they are still being made. */
export interface OpenUsage extends KeyUsage {
  readonly remaining: number[];
  readonly resetMs: number[];
}

/**
 * Decides over every tracked window of every key at once: admitted when each has a run left. Changes nothing itself; when
 * it admits, the caller charges every log, and the decision tells the use after that.
 *
 * @param logs in the order of the charges; `undefined` for a key that was never used
 */
export function decide(charges: readonly Charge[], logs: readonly (CellLog | undefined)[], now: number): Decision {
  return conclude(charges.map((charge, at) => openUsage(charge, logs[at], now)));
}

/** What follows from the use of all keys before the run. Makes it, when the run is admitted, the use after the run. */
export function conclude(usage: readonly OpenUsage[]): Decision {
  const refused = refusal(usage);
  if (refused) return refused;
  for (const key of usage) spendOne(key);
  return { admitted: true, usage, retryAfterMs: 0, violations: NONE };
}

/** The refusal that follows from the use of all keys, or null when each tracked window has a run left. */
export function refusal(usage: readonly KeyUsage[]): Decision | null {
  let violations: Violation[] | undefined;
  let retryAfterMs = 0;
  for (const key of usage) {
    for (let window = 0; window < WINDOWS; window++) {
      const limit = key.limits[window]!;
      if (limit === 0 || key.remaining[window]! > 0) continue;
      const waitMs = key.resetMs[window]!;
      violations ??= [];
      violations.push({ class: key.class, window: WINDOW_NAMES[window]!, limit, remaining: 0, retryAfterMs: waitMs });
      if (waitMs > retryAfterMs) retryAfterMs = waitMs;
    }
  }
  return violations ? { admitted: false, usage, retryAfterMs, violations } : null;
}

/** What is left of a key at `now`, in milliseconds since 1970; without a log it was never used. */
export function usageOf(charge: Charge, log: CellLog | undefined, now: number): KeyReading {
  const used = WINDOW_MS.map((windowMs) => log?.used(windowMs, now) ?? 0);
  return { ...openUsage(charge, log, now), used };
}

/** A use that is still to be filled in, for the windows that are tracked. */
export function untouched({ class: keyClass, limits }: Charge): OpenUsage {
  return { class: keyClass, limits, remaining: [0, 0, 0, 0, 0, 0], resetMs: [0, 0, 0, 0, 0, 0] };
}

function openUsage(charge: Charge, log: CellLog | undefined, now: number): OpenUsage {
  const usage = untouched(charge);
  const { limits, remaining, resetMs } = usage;
  for (let window = 0; window < WINDOWS; window++) {
    const limit = limits[window]!;
    if (limit === 0) continue;
    const windowMs = WINDOW_MS[window]!;
    const used = log ? log.used(windowMs, now) : 0;
    remaining[window] = used < limit ? limit - used : 0;
    // A limit may have been lowered below the use: then the first runs to expire free nothing.
    if (used > 0) resetMs[window] = log!.waitMs(windowMs, now, Math.min(used, limit) - 1);
  }
  return usage;
}

function spendOne({ limits, remaining, resetMs }: OpenUsage): void {
  for (let window = 0; window < WINDOWS; window++) {
    if (limits[window] === 0) continue;
    remaining[window]! -= 1;
    if (resetMs[window] === 0) resetMs[window] = WINDOW_MS[window]!;
  }
}
