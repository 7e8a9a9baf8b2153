import type { CellLog } from "./cell-log.ts";
import type { Charge, Decision, KeyReading, KeyUsage, Violation } from "./store.ts";
import { WINDOW_MS, WINDOW_NAMES } from "./windows.ts";

const WINDOWS = WINDOW_MS.length;
const NONE: readonly Violation[] = [];

/** A `KeyUsage` whose arrays are still being filled. */
export interface MutableUsage extends KeyUsage {
  readonly remaining: number[];
  readonly resetMs: number[];
}

/**
 * Decides over every tracked window of every key at once: the run is admitted if each window has a run left. Changes no log.
 * After an admission the caller charges every log; the returned use already includes this run.
 *
 * @param logs the logs in the order of the charges; `undefined` for a key that was never used
 */
export function decide(charges: readonly Charge[], logs: readonly (CellLog | undefined)[], now: number): Decision {
  const usage: MutableUsage[] = [];
  for (let at = 0; at < charges.length; at++) usage.push(usageBefore(charges[at]!, logs[at], now));
  return conclude(usage);
}

/** Returns the decision that follows from the use of all keys before the run. If it admits, adds the run to that use. */
export function conclude(usage: readonly MutableUsage[]): Decision {
  const refused = refusal(usage);
  if (refused) return refused;
  for (const key of usage) addRun(key);
  return { admitted: true, usage, retryAfterMs: 0, violations: NONE };
}

/** Returns the refusal that follows from the use of all keys, or null if each tracked window has a run left. */
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

/** Returns what is left of a key at `now`, in milliseconds since 1970. A key without a log was never used. */
export function usageOf(charge: Charge, log: CellLog | undefined, now: number): KeyReading {
  const used = WINDOW_MS.map((windowMs) => log?.used(windowMs, now) ?? 0);
  return { ...usageBefore(charge, log, now), used };
}

/** Returns the use of a key whose tracked windows the caller still fills in. */
export function emptyUsage({ class: keyClass, limits }: Charge): MutableUsage {
  return { class: keyClass, limits, remaining: [0, 0, 0, 0, 0, 0], resetMs: [0, 0, 0, 0, 0, 0] };
}

function usageBefore(charge: Charge, log: CellLog | undefined, now: number): MutableUsage {
  const usage = emptyUsage(charge);
  const { limits, remaining, resetMs } = usage;
  for (let window = 0; window < WINDOWS; window++) {
    const limit = limits[window]!;
    if (limit === 0) continue;
    const windowMs = WINDOW_MS[window]!;
    const used = log ? log.used(windowMs, now) : 0;
    remaining[window] = used < limit ? limit - used : 0;
    // If the limit was lowered below the use, the first runs to expire free nothing.
    if (used > 0) resetMs[window] = log!.waitMs(windowMs, now, Math.min(used, limit) - 1);
  }
  return usage;
}

function addRun({ limits, remaining, resetMs }: MutableUsage): void {
  for (let window = 0; window < WINDOWS; window++) {
    if (limits[window] === 0) continue;
    remaining[window]! -= 1;
    if (resetMs[window] === 0) resetMs[window] = WINDOW_MS[window]!;
  }
}
