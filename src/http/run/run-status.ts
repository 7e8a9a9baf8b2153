import type { ProblemCode } from "../../error-codes.ts";
import type { RunStatus } from "../../records/record.ts";

/** The status of a run that ended with an error. Every code that is not listed is a refusal after the admission. */
const STATUSES: Readonly<Partial<Record<ProblemCode, RunStatus>>> = {
  task_threw: "threw",
  task_error: "called_back",
  task_timeout: "timeout",
  task_stalled: "stalled",
  task_blocked: "blocked",
  task_memory: "memory",
  task_exited: "exited",
  code_syntax: "syntax",
  result_unserializable: "unserializable",
  result_too_large: "too_large",
  run_cancelled: "cancelled",
  // The token of a run was revoked (`--kill-revoked`).
  token_invalid: "cancelled",
  // Its container was suspended with `now=true`.
  container_suspended: "cancelled",
  draining: "interrupted",
  container_restarted: "failed",
  sandbox_failed: "failed",
  internal_error: "failed",
};

export function statusOfProblem(code: ProblemCode): RunStatus {
  return STATUSES[code] ?? "refused";
}
