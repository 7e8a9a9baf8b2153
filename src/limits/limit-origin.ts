import type { LimitSubject, ServerLimits } from "./limit-subject.ts";
import type { Limits, WindowName } from "./windows.ts";

/** The place where a limit was set. `ancestor` is a token above the token of the request. */
export type Origin = "default" | "policy" | "token" | "ancestor" | "task";

/** The places where the limits of a run may be set. */
export interface LimitSources {
  readonly defaults: ServerLimits;
  /** The policy of the container at the time of the run. */
  readonly policy: Limits | undefined;
  readonly subject: LimitSubject;
  /** Whether the subject is the token of a named task. */
  readonly isTask: boolean;
  /** The `jti` of the token of the request, or null. */
  readonly bearerJti: string | null;
}

/** The place where a limit was set, and the `jti` of the token if a token or a task has set it. */
export interface LimitOrigin {
  readonly setBy: Origin;
  readonly jti: string | null;
}

/**
 * Returns where a limit was set.
 *
 * @param index of the key in the usage of a `Decision`: 0 is the container, 1 the token, then come the tokens above it.
 */
export function originOf(index: number, window: WindowName, limit: number, sources: LimitSources): LimitOrigin {
  return index === 0 ? originOfContainer(limit, window, sources) : originOfToken(limit, window, index, sources);
}

function originOfContainer(
  limit: number,
  window: WindowName,
  { defaults, policy, subject, isTask }: LimitSources,
): LimitOrigin {
  const byToken = subject.limits.container?.[window] === limit;
  if (policy?.[window] !== limit && byToken) {
    // Tokens inherit the limits of containers unchanged, so the topmost token has set them.
    return { setBy: isTask ? "task" : "token", jti: subject.ancestors.at(-1)?.jti ?? subject.jti };
  }
  // A policy that was just removed is in the counts of this decision still.
  const isDefault = policy?.[window] !== limit && defaults.container[window] === limit;
  return { setBy: isDefault ? "default" : "policy", jti: null };
}

function originOfToken(
  limit: number,
  window: WindowName,
  index: number,
  { subject, isTask, bearerJti }: LimitSources,
): LimitOrigin {
  const ancestor = index === 1 ? null : subject.ancestors[index - 2]!;
  const set = ancestor ? ancestor.limits : subject.limits.token;
  if (set?.[window] !== limit) return { setBy: "default", jti: null };
  if (ancestor) return { setBy: ancestor.jti === bearerJti ? "token" : "ancestor", jti: ancestor.jti };
  return { setBy: isTask ? "task" : "token", jti: subject.jti };
}

/** The place where a limit was set, as a refusal names it. */
export interface ShownOrigin {
  readonly setBy: "server" | "policy" | "token";
  /** The token that set it, if the caller may know it. */
  readonly jti?: string;
}

/** @param known whether the caller may know the `jti` */
export function shownOrigin({ setBy, jti }: LimitOrigin, known: (jti: string) => boolean): ShownOrigin {
  if (setBy === "default") return { setBy: "server" };
  if (setBy === "policy") return { setBy };
  return jti !== null && known(jti) ? { setBy: "token", jti } : { setBy: "token" };
}
