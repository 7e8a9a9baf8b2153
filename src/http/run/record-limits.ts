import { type LimitSources, originOf } from "../../limits/limit-origin.ts";
import type { KeyUsage } from "../../limits/store.ts";
import { WINDOW_NAMES } from "../../limits/windows.ts";
import type { RecordLimit } from "../../records/record.ts";

type RunLimits = Readonly<Record<string, RecordLimit>>;

/**
 * Returns the limits in force of each class by window. A token and the tokens above it are one class: the token with the
 * fewest runs left counts.
 *
 * @param usage as in a `Decision`: the container, the token, then the tokens above it.
 */
export function limitsOf(
  usage: readonly KeyUsage[],
  sources: LimitSources,
): { readonly container: RunLimits; readonly token: RunLimits } {
  const limits: Record<"container" | "token", Record<string, RecordLimit>> = { container: {}, token: {} };
  for (const [index, { class: keyClass, limits: vector, remaining, resetMs }] of usage.entries()) {
    for (const [at, window] of WINDOW_NAMES.entries()) {
      const limit = vector[at]!;
      if (limit === 0) continue;
      const known = limits[keyClass][window];
      const left = Math.max(0, remaining[at]!);
      if (known && known.remaining <= left) continue;
      const { setBy } = originOf(index, window, limit, sources);
      limits[keyClass][window] = { limit, remaining: left, resetMs: Math.ceil(resetMs[at]!), setBy };
    }
  }
  return limits;
}
