import type { KeyClass, KeyUsage } from "../limits/store.ts";
import { WINDOW_MS, WINDOW_NAMES, type LimitVector } from "../limits/windows.ts";

/** The largest integer that a structured field can hold (RFC 9651, section 3.3.1). */
const MAX_INTEGER = 999_999_999_999_999;

const CLASSES: readonly KeyClass[] = ["container", "token"];
const WINDOWS = WINDOW_NAMES.length;
/** The item that names a window, as a structured string. */
const ITEMS = {
  container: WINDOW_NAMES.map((window) => `"container-${window}"`),
  token: WINDOW_NAMES.map((window) => `"token-${window}"`),
};

/** The policy of the keys whose limits these are, by the limits of the first: a token makes the same one in every run. */
const policies = new WeakMap<LimitVector, { all: readonly LimitVector[]; policy: string }>();

/**
 * `RateLimit-Policy` with every tracked window, and `RateLimit` with the window of each class that has the least left,
 * after draft-ietf-httpapi-ratelimit-headers-11. A token and those above it are one class: the tightest of them counts.
 *
 * @returns name, value, name, value; nothing when no window is tracked
 */
export function rateLimitHeaders(usage: readonly KeyUsage[]): string[] {
  const policy = policyOf(usage);
  if (policy === "") return [];
  let state = "";
  for (const keyClass of CLASSES) {
    const item = leastOf(keyClass, usage);
    if (item !== "") state += state === "" ? item : `, ${item}`;
  }
  return ["RateLimit-Policy", policy, "RateLimit", state];
}

function leastOf(keyClass: KeyClass, usage: readonly KeyUsage[]): string {
  let least = Infinity;
  let resetMs = 0;
  let tightest = -1;
  for (const key of usage) {
    if (key.class !== keyClass) continue;
    for (let window = 0; window < WINDOWS; window++) {
      if (key.limits[window] === 0) continue;
      const remaining = key.remaining[window]!;
      // Of windows with the same left, the one that holds up longer.
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
  const known = policies.get(first);
  if (known?.all.length === usage.length && usage.every((key, at) => key.limits === known.all[at])) return known.policy;
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
