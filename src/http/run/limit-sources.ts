import type { LimitSubject } from "../../limits/limit-subject.ts";
import type { KeyUsage } from "../../limits/store.ts";
import { type Limits, WINDOW_NAMES } from "../../limits/windows.ts";
import type { RecordLimit } from "../../records/record.ts";

/** The limits that applied to a run, by their origin. */
export interface LimitSources {
  readonly defaults: { readonly container: Limits; readonly token: Limits };
  /** The policy of the container at the time of the run. */
  readonly policy: Limits | undefined;
  readonly subject: LimitSubject;
  readonly isTask: boolean;
  /** The `jti` of the token of the request, or null. */
  readonly bearerJti: string | null;
}

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
      const setBy =
        index === 0 ? originOfContainer(limit, window, sources) : originOfToken(limit, window, index, sources);
      limits[keyClass][window] = { limit, remaining: left, resetMs: Math.ceil(resetMs[at]!), setBy };
    }
  }
  return limits;
}

type Window = (typeof WINDOW_NAMES)[number];

function originOfContainer(
  limit: number,
  window: Window,
  { defaults, policy, subject, isTask }: LimitSources,
): RecordLimit["setBy"] {
  if (policy?.[window] === limit) return "policy";
  if (subject.limits.container?.[window] === limit) return isTask ? "task" : "token";
  return defaults.container[window] === limit ? "default" : "policy";
}

/** @param index of the key in the usage: 1 is the subject itself. */
function originOfToken(
  limit: number,
  window: Window,
  index: number,
  { subject, isTask, bearerJti }: LimitSources,
): RecordLimit["setBy"] {
  const ancestor = index === 1 ? null : subject.ancestors[index - 2];
  const set = ancestor ? ancestor.limits : subject.limits.token;
  if (set?.[window] !== limit) return "default";
  if (ancestor) return ancestor.jti === bearerJti ? "token" : "ancestor";
  return isTask ? "task" : "token";
}
