import { PROBLEMS } from "../error-codes.ts";
import { Problem } from "../errors.ts";

/** An error answer, ready to be written. */
export interface ProblemAnswer {
  readonly status: number;
  /** Name, value, name, value. */
  readonly headers: string[];
  readonly body: string;
}

/** The `WWW-Authenticate` values. As RFC 6750, section 3.1 requires, a request without a token gets no error code. */
const CHALLENGES: Readonly<Record<string, string>> = {
  token_missing: 'Bearer realm="caisson"',
  token_invalid: 'Bearer realm="caisson", error="invalid_token"',
  token_forbidden: 'Bearer realm="caisson", error="insufficient_scope"',
  // No other token would help.
  origin_forbidden: 'Bearer realm="caisson"',
  container_suspended: 'Bearer realm="caisson"',
  packages_forbidden: 'Bearer realm="caisson"',
  // A token with a wider scope would help: an administrator's token has no quota.
  quota_exceeded: 'Bearer realm="caisson", error="insufficient_scope"',
};

/**
 * Returns the answer with the problem document (RFC 9457) of an error. Any error that is not a `Problem` is a bug in
 * the service; clients do not see its details.
 *
 * @param run the id of the run, if a run has begun
 */
export function problemAnswer(error: unknown, run?: string): ProblemAnswer {
  const problem = asProblem(error);
  const { hint, retryAfterMs, violations, error: taskError } = problem.options;
  const retryAfter = retryAfterMs === undefined ? undefined : Math.max(1, Math.ceil(retryAfterMs / 1_000));
  const body = JSON.stringify({
    type: `/errors#${problem.code}`,
    title: PROBLEMS[problem.code].title,
    status: problem.status,
    detail: problem.message,
    code: problem.code,
    run: run ?? problem.options.run,
    hint,
    retryAfter,
    retryAfterMs,
    violations,
    error: taskError,
  });
  const headers = ["Content-Type", "application/problem+json", "Caisson-Fault", problem.fault];
  const challenge = CHALLENGES[problem.code];
  if (challenge) headers.push("WWW-Authenticate", challenge);
  if (retryAfter !== undefined) headers.push("Retry-After", String(retryAfter));
  for (const [name, value] of Object.entries(problem.options.headers ?? {})) headers.push(name, value);
  return { status: problem.status, headers, body };
}

export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  return new Problem("internal_error", "the service failed; its log contains the reason", { cause: error });
}
