import type { AnsweredRunRecord, Problem } from "./api-types.ts";

/** The code of an error: one of the service (see docs/reference/errors.md), or one of the client. */
export type ErrorCode = Problem["code"] | ClientErrorCode | (string & {});

/**
 * The codes of the client:
 *
 * - `unreachable`: the service did not answer, or the connection broke;
 * - `aborted`: the signal of the request was aborted;
 * - `unexpected_answer`: something else answered, such as a proxy;
 * - `result_truncated`: the code ran, and its result is larger than the service shows.
 */
export type ClientErrorCode = "unreachable" | "aborted" | "unexpected_answer" | "result_truncated";

/** A position in the submitted code. */
export type ErrorPosition = NonNullable<NonNullable<AnsweredRunRecord["error"]>["at"]>;

/** The error that the code threw. Its stack has the files and lines of the submitted code. */
export interface TaskError {
  readonly name: string;
  readonly message: string;
  readonly stack: string | null;
}

export interface ErrorMembers {
  readonly code: ErrorCode;
  readonly detail: string;
  readonly status?: number | null | undefined;
  readonly hint?: string | null | undefined;
  readonly at?: ErrorPosition | null | undefined;
  readonly taskError?: TaskError | null | undefined;
  readonly retryAfterMs?: number | null | undefined;
  readonly violations?: readonly Record<string, unknown>[] | undefined;
  readonly run?: string | null | undefined;
  readonly record?: AnsweredRunRecord | null | undefined;
  readonly cause?: unknown;
}

/** The class of all errors of this client, except `TypeError` for an argument that is not valid. */
export class CaissonError extends Error {
  override readonly name = "CaissonError";
  /** Stable, for programs, such as `task_threw` or `container_limited`. */
  readonly code: ErrorCode;
  /** The status of the answer; null if there was none, and if the run was admitted and failed. */
  readonly status: number | null;
  /** What went wrong, in one sentence. */
  readonly detail: string;
  /** What to do, or null. */
  readonly hint: string | null;
  /** The position of the error in the submitted code, or null. */
  readonly at: ErrorPosition | null;
  /** The error that the code threw, or null. */
  readonly taskError: TaskError | null;
  /** The milliseconds after which a retry can succeed, or null. */
  readonly retryAfterMs: number | null;
  /** All faults of the request, or all limits that are used up. */
  readonly violations: readonly Record<string, unknown>[];
  /** The id of the run, or null. */
  readonly run: string | null;
  /** The record of the run that failed, with its console; null if no run was admitted. Not enumerable: it is long. */
  declare readonly record: AnsweredRunRecord | null;

  constructor(members: ErrorMembers) {
    const { code, detail, cause } = members;
    const hint = members.hint ?? null;
    const at = members.at ?? null;
    super(messageOf(detail, hint, at), cause === undefined ? undefined : { cause });
    this.code = code;
    this.status = members.status ?? null;
    this.detail = detail;
    this.hint = hint;
    this.at = at;
    this.taskError = members.taskError ?? null;
    this.retryAfterMs = finite(members.retryAfterMs);
    this.violations = members.violations ?? [];
    this.run = members.run ?? null;
    Object.defineProperty(this, "record", { value: members.record ?? null });
  }
}

/** Returns all that a program shows which prints only the message: what went wrong, its position, and what to do. */
function messageOf(detail: string, hint: string | null, at: ErrorPosition | null): string {
  // A detail of several lines shows the position.
  const position = at && !detail.includes("\n") ? ` (${at.file}:${at.line}:${at.column})` : "";
  return `${detail}${position}${hint === null ? "" : `\n${hint}`}`;
}

/** A time that is not a number, of something else than caisson, would end the waits of `retry` and their bound. */
export function finite(ms: number | null | undefined): number | null {
  return typeof ms === "number" && Number.isFinite(ms) ? ms : null;
}

/** Returns the error of an answer that is not of caisson. */
export function unexpected(reason: string, members: Partial<ErrorMembers> = {}): CaissonError {
  return new CaissonError({
    code: "unexpected_answer",
    detail: `the answer is not of caisson: ${reason}`,
    hint: "Check the url. A proxy may have answered.",
    ...members,
  });
}

/** Returns the error of a run that has failed, or null. */
export function errorOfRecord(record: AnsweredRunRecord): CaissonError | null {
  const { error, run, status } = record;
  if (error === null && status === "ok") return null;
  // Another service may answer with JSON, too.
  if (typeof (status as unknown) !== "string") return unexpected("it is JSON, and no record of a run");
  const { code, name, message, hint, at, stack } = error ?? {
    ...{ code: "internal_error", name: null, message: `the run has the status ${status}` },
    ...{ hint: null, at: null, stack: null },
  };
  return new CaissonError({
    ...{ code, hint, at, run, record },
    detail: name === null ? message : `${name}: ${message}`,
    taskError: name === null ? null : { name, message, stack },
  });
}

/** Returns the error of a request without a complete answer. */
export function errorOfFailure(error: unknown, url: string, signal: AbortSignal | null | undefined): CaissonError {
  if (error instanceof CaissonError) return error;
  if (signal?.aborted) {
    return new CaissonError({ code: "aborted", detail: "the request was aborted", cause: signal.reason });
  }
  const reason = reasonOf(error);
  return new CaissonError({
    code: "unreachable",
    detail: `the service at ${new URL(url).origin} cannot be reached: ${reason}`,
    hint: /WRONG_VERSION|EPROTO/.test(reason)
      ? "Check the url: this service may speak http, and not https."
      : "Check the url, and that the service runs.",
    cause: error,
  });
}

/** `fetch` of Node has the reason in the cause of its error. */
function reasonOf(error: unknown): string {
  const { message, cause } = error as { message?: string; cause?: { code?: string; message?: string } };
  return cause?.code ?? cause?.message ?? message ?? String(error);
}
