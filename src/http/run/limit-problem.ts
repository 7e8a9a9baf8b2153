import { Problem } from "../../errors.ts";
import { type LimitSources, originOf, shownOrigin, type ShownOrigin } from "../../limits/limit-origin.ts";
import type { Decision, KeyUsage } from "../../limits/store.ts";
import { WINDOW_NAMES } from "../../limits/windows.ts";
import type { Caller } from "../../tokens/caller.ts";
import { perWindow } from "../../units.ts";

/**
 * The 429 of a refused run. It names every violated window and where its limit was set. Its code is that of the window with
 * the longest wait.
 *
 * @param caller the token of the request, or null. It may know its own `jti` and those of the tokens above it.
 */
export function limitProblem(
  container: string,
  decision: Decision,
  sources: LimitSources,
  caller: Caller | null,
): Problem {
  const worst = decision.violations.reduce((a, b) => (b.retryAfterMs > a.retryAfterMs ? b : a));
  const subject = worst.class === "container" ? `container "${container}"` : "the token";
  const runs = worst.limit === 1 ? "run" : "runs";
  const wait = Math.ceil(decision.retryAfterMs / 1_000);
  const violations = withOrigins(decision, sources, caller);
  const { setBy } = violations[decision.violations.indexOf(worst)]!;
  return new Problem(
    worst.class === "container" ? "container_limited" : "token_limited",
    `${subject} allows ${worst.limit} ${runs} ${perWindow(worst.window)}; the next fits in ${wait} s`,
    {
      retryAfterMs: decision.retryAfterMs,
      violations,
      hint: worst.class === "container" ? RAISED_BY[setBy] : OF_TOKEN[setBy],
    },
  );
}

/** The party that can raise a limit of a container, as a hint. */
const RAISED_BY: Readonly<Record<ShownOrigin["setBy"], string>> = {
  server: "An administrator sets other limits for the container with PUT /api/containers/{container}.",
  policy: "An administrator can raise the limits of the container with PUT /api/containers/{container}.",
  token: "The token limits the container. Its issuer can issue another one with higher limits.",
};

/** The party that can raise a limit of a token, or of a task, which runs under a token. */
const OF_TOKEN: Readonly<Record<ShownOrigin["setBy"], string>> = {
  server: "The operator sets the limits of tokens that have none; a token can be issued with others.",
  policy: "The issuer of the token can issue another one with higher limits.",
  token:
    "The issuer of the token can issue another one with higher limits. The limits of a task are in its member limits.",
};

/** Adds where each limit was set. The violations are in the order of the keys, and of the windows of each key. */
function withOrigins(
  { usage, violations }: Decision,
  sources: LimitSources,
  caller: Caller | null,
): (object & ShownOrigin)[] {
  const known = (jti: string): boolean =>
    caller !== null && (jti === caller.claims.jti || caller.claims.parents.includes(jti));
  let key = 0;
  let last = -1;
  return violations.map((violation) => {
    const window = WINDOW_NAMES.indexOf(violation.window);
    if (window <= last) key += 1;
    while (!isUsedUp(usage[key]!, window)) key += 1;
    last = window;
    return { ...violation, ...shownOrigin(originOf(key, violation.window, violation.limit, sources), known) };
  });
}

function isUsedUp({ limits, remaining }: KeyUsage, window: number): boolean {
  return limits[window] !== 0 && remaining[window]! <= 0;
}

/** A refusal by the limits comes before a fault of the request. A store that cannot be reached hides no fault. */
export function limitOr(fault: unknown, refused: unknown): unknown {
  return refused instanceof Problem && refused.status === 429 ? refused : fault;
}
