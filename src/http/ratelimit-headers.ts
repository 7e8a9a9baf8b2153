import type { KeyClass, KeyUsage } from "../limits/store.ts";
import { WINDOW_MS, WINDOW_NAMES, type LimitVector } from "../limits/windows.ts";

/** The largest integer that a structured field can hold (RFC 9651, section 3.3.1). */
const MAX_INTEGER = 999_999_999_999_999;

const CLASSES: readonly KeyClass[] = ["container", "token"];
const WINDOWS = WINDOW_NAMES.length;
/** The names of the windows, as structured strings. */
const ITEMS = {
  container: WINDOW_NAMES.map((window) => `"container-${window}"`),
  token: WINDOW_NAMES.map((window) => `"token-${window}"`),
};

/**
 * The `RateLimit-Policy` values by the limits of their first key. All runs of a token use the same limit objects, so
 * most runs find their value here.
 */
const policies = new WeakMap<LimitVector, { all: readonly LimitVector[]; policy: string }>();

/**
 * Returns `RateLimit-Policy` with all tracked windows, and `RateLimit` with the window of each class that has the
 * fewest runs left (draft-ietf-httpapi-ratelimit-headers-11). A token and its ancestors are one class: the lowest limit
 * counts.
 *
 * @returns name, value, name, value; empty if no window is tracked
 */
export function rateLimitHeaders(usage: readonly KeyUsage[]): string[] {
  const policy = policyOf(usage);
  if (policy === "") return [];
  let state = "";
  for (const keyClass of CLASSES) {
    const item = tightestItem(keyClass, usage);
    if (item !== "") state += state === "" ? item : `, ${item}`;
  }
  return ["RateLimit-Policy", policy, "RateLimit", state];
}

function tightestItem(keyClass: KeyClass, usage: readonly KeyUsage[]): string {
  let least = Infinity;
  let resetMs = 0;
  let tightest = -1;
  for (const key of usage) {
    if (key.class !== keyClass) continue;
    for (let window = 0; window < WINDOWS; window++) {
      if (key.limits[window] === 0) continue;
      const remaining = key.remaining[window]!;
      // If two windows have the same number of runs left, the window that resets later counts.
      if (remaining > least || (remaining === least && key.resetMs[window]! < resetMs)) continue;
      least = remaining;
      resetMs = key.resetMs[window]!;
      tightest = window;
    }
  }
  if (tightest < 0) return "";
  return `${ITEMS[keyClass][tightest]!};r=${Math.min(least, MAX_INTEGER)};t=${Math.ceil(resetMs / 1_000)}`;
}

function policyOf(usage: readonly KeyUsage[]): string {
  const first = usage[0]?.limits;
  if (!first) return "";
  const cached = policies.get(first);
  if (cached?.all.length === usage.length && usage.every((key, at) => key.limits === cached.all[at])) {
    return cached.policy;
  }
  const policy = CLASSES.flatMap((keyClass) => policyItems(keyClass, usage)).join(", ");
  policies.set(first, { all: usage.map((key) => key.limits), policy });
  return policy;
}

function policyItems(keyClass: KeyClass, usage: readonly KeyUsage[]): string[] {
  return WINDOW_MS.flatMap((windowMs, window) => {
    const limits = usage.filter((key) => key.class === keyClass).map((key) => key.limits[window]!);
    const limit = Math.min(MAX_INTEGER, ...limits.filter((each) => each > 0));
    if (!limits.some((each) => each > 0)) return [];
    return [`${ITEMS[keyClass][window]!};q=${limit};w=${windowMs / 1_000}`];
  });
}
