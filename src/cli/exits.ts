import { CaissonError } from "../../client/src/index.ts";
import { ConfigError } from "../config/read.ts";
import { type Fault, type ProblemCode, PROBLEMS } from "../error-codes.ts";
import { Problem } from "../errors.ts";

/** The exit codes of every command. */
export const EXITS = { ok: 0, task: 1, input: 2, refused: 3, service: 4 } as const;

export const EXITS_HELP = `Exit codes: 0 ok; 1 the task failed; 2 invalid input; 3 limited or not permitted;
4 service error, or the service was not reached.`;

/** Invalid input of the user: a flag, an argument, a file. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** A service that was reached and did not do what it must do. */
export class ServiceError extends Error {
  override readonly name = "ServiceError";
}

const BY_FAULT: Readonly<Record<Fault, number>> = {
  task: EXITS.task,
  caller: EXITS.input,
  limit: EXITS.refused,
  service: EXITS.service,
};

/** Returns the exit code for an error. */
export function exitOf(error: unknown): number {
  if (error instanceof CaissonError) return exitOfCode(error.code, error.status);
  if (error instanceof Problem) return exitOfCode(error.code, error.status);
  if (error instanceof ConfigError || error instanceof UsageError) return EXITS.input;
  return error instanceof ServiceError ? EXITS.service : EXITS.task;
}

/** @param status of the answer, for codes that this version does not have */
export function exitOfCode(code: string, status: number | null): number {
  if (code === "unreachable" || code === "unexpected_answer") return EXITS.service;
  if (code === "aborted" || code === "result_truncated" || code === "run_cancelled") return EXITS.task;
  const problem = Object.hasOwn(PROBLEMS, code) ? PROBLEMS[code as ProblemCode] : null;
  if (problem === null) return exitOfStatus(status);
  return problem.status === FORBIDDEN ? EXITS.refused : BY_FAULT[problem.fault];
}

const FORBIDDEN = 403;
const LIMITED = 429;

function exitOfStatus(status: number | null): number {
  if (status === null) return EXITS.task;
  if (status === FORBIDDEN || status === LIMITED) return EXITS.refused;
  return status < 500 ? EXITS.input : EXITS.service;
}
