import { PROBLEMS } from "../error-codes.ts";
import { Problem } from "../errors.ts";

/** An answer that is not a success, ready to be written. */
export interface ProblemAnswer {
  readonly status: number;
  /** Name, value, name, value. */
  readonly headers: string[];
  readonly body: string;
}

/** RFC 6750, section 3.1. A request without a token gets no error code, as that section asks. */
const CHALLENGES: Readonly<Record<string, string>> = {
  token_missing: 'Bearer realm="caisson"',
  token_invalid: 'Bearer realm="caisson", error="invalid_token"',
  token_forbidden: 'Bearer realm="caisson", error="insufficient_scope"',
  // An administrator's token has no quota.
  quota_exceeded: 'Bearer realm="caisson", error="insufficient_scope"',
};

/**
 * The problem document (RFC 9457) of an error. What is no `Problem` is a defect of the service, and says nothing about
 * itself to strangers.
 *
 * @param run the id of the run that it is about, once there is one.
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
    run,
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
  return new Problem("internal_error", "the service failed, and has logged why", { cause: error });
}
