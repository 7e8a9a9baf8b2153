import { type ProblemCode, PROBLEMS } from "../../error-codes.ts";
import { Problem } from "../../errors.ts";
import type { RecordError } from "../../records/record.ts";
import type { Task } from "../../tasks/task.ts";
import type { Caller } from "../../tokens/caller.ts";
import type { Outcome } from "./execution.ts";

const DETAIL = "the task failed; its owner can read the record of this run";

/**
 * Faults of code that the table of errors assigns to the caller, because the caller usually sends the code. After the admission
 * of a named task's run they are faults of the task's code or of its URL.
 */
const OF_THE_CODE: ReadonlySet<ProblemCode> = new Set([
  "code_syntax",
  "code_shape",
  "module_missing",
  "code_pinned",
  "task_url_invalid",
  "task_url_forbidden",
  "task_url_unreachable",
  "task_url_status",
  "task_url_too_large",
  "task_url_not_code",
]);

/** The facts about a run that decide what its client learns of a failure. */
export interface FailedRun {
  /** The token of the request, or null. */
  readonly bearer: Caller | null;
  readonly task: Pick<Task, "errors"> | null;
  /** `isCounted` is true after the admission of the run. */
  readonly answer: { readonly isCounted: boolean };
}

/**
 * Returns the error that the client receives. If a public task fails for a client without a token, the client receives only the
 * status and the code, unless the task shows its errors: the text of an error may contain data of the task's owner. Limits,
 * faults of the request and faults of the service stay as they are.
 */
export function hideFault(error: unknown, { bearer, task, answer }: FailedRun): unknown {
  if (!(error instanceof Problem)) return error;
  const { code, status, fault, message, options } = error;
  const isOfCode = task !== null && answer.isCounted && OF_THE_CODE.has(code);
  const isOfTask = fault === "task" || isOfCode;
  if (isOfTask && hidesFaults(task, bearer)) return new Problem(code, DETAIL, { status, fault: "task" });
  return isOfCode ? new Problem(code, message, { ...options, fault: "task" }) : error;
}

/** Whether the caller of a run learns only that its task has failed. */
export function hidesFaults(task: Pick<Task, "errors"> | null, bearer: Caller | null): boolean {
  return bearer === null && task !== null && task.errors !== "shown";
}

/** Leaves out a hint about the code of a public task, which is for its author only. */
export function shownTo(outcome: Outcome, { task, bearer }: FailedRun): Outcome {
  return outcome.hint !== null && hidesFaults(task, bearer) ? { ...outcome, hint: null } : outcome;
}

/** Returns the error of a record as `hideFault` shows it. */
export function hideError(error: RecordError): RecordError {
  const code = error.code as ProblemCode;
  if (PROBLEMS[code].fault !== "task" && !OF_THE_CODE.has(code)) return error;
  return { code, name: null, message: DETAIL, hint: null, at: null, stack: null };
}
