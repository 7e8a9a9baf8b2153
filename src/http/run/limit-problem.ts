import { Problem } from "../../errors.ts";
import type { Decision } from "../../limits/store.ts";

/** The 429 of a refused run. It names every violated window; its code is that of the window with the longest wait. */
export function limitProblem(container: string, decision: Decision): Problem {
  const worst = decision.violations.reduce((a, b) => (b.retryAfterMs > a.retryAfterMs ? b : a));
  const subject = worst.class === "container" ? `container "${container}"` : "the token";
  const runs = worst.limit === 1 ? "run" : "runs";
  const wait = Math.ceil(decision.retryAfterMs / 1_000);
  return new Problem(
    worst.class === "container" ? "container_limited" : "token_limited",
    `${subject} allows ${worst.limit} ${runs} a ${worst.window}; the next fits in ${wait} s`,
    { retryAfterMs: decision.retryAfterMs, violations: decision.violations },
  );
}

/** A refusal by the limits comes before a fault of the request. A store that cannot be reached hides no fault. */
export function limitOr(fault: unknown, refused: unknown): unknown {
  return refused instanceof Problem && refused.status === 429 ? refused : fault;
}
