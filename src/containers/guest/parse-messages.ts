import type { ProblemCode } from "../../error-codes.ts";
import { Problem, type TaskError, type TaskPosition } from "../../errors.ts";
import { checkHead, HEAD_BYTES } from "../../wire/head.ts";
import type { HeadMessage } from "../../wire/messages.ts";

/**
 * Parses and checks messages of a guest. Submitted code can forge them, so nothing in them is trusted. An invalid message
 * throws, and the service ends the guest. A valid message affects only the run that it names.
 */

/** The codes that a guest may report for its run. The service detects all other failures itself. */
const CLAIMABLE: ReadonlySet<string> = new Set<ProblemCode>([
  "code_syntax",
  "code_shape",
  "module_missing",
  "request_invalid",
  "task_error",
  "task_threw",
  "task_exited",
  "result_unserializable",
  "result_too_large",
]);
/** Statuses that a task may not set, because only the service answers with them. */
const RESERVED_STATUSES: ReadonlySet<number> = new Set([401, 403, 407, 429, 503]);
const MAX_TEXT = 65_536;
const MAX_FILE = 255;
/** Five lines of a hundred characters, their numbers and the mark; a tab or a name takes more room than one character. */
const MAX_FRAME = 4_096;
/** The maximum depth of an error. A message may parse and nest too deep to be serialized. Honest guests stay below. */
const MAX_ERROR_DEPTH = 40;

/** @throws {TypeError} if the message is invalid. */
export function parseFault(payload: Buffer): { problem: Problem; retire: boolean } {
  const fault = members(JSON.parse(payload.toString()));
  const code = fault["code"];
  if (typeof code !== "string" || !CLAIMABLE.has(code)) throw new TypeError("a fault with an unknown code");
  const error = fault["error"] === undefined ? undefined : taskError(fault["error"], MAX_ERROR_DEPTH);
  const status = statusOf(fault["status"]);
  const hint = fault["hint"];
  const at = fault["at"];
  const problem = new Problem(code as ProblemCode, text(fault["detail"]), {
    ...(hint === undefined ? {} : { hint: text(hint) }),
    ...(status === undefined ? {} : { status }),
    ...(error && { error }),
    ...(at === undefined ? {} : { at: positionOf(at) }),
  });
  return { problem, retire: fault["retire"] === true };
}

/** @throws {TypeError} if the message is invalid. */
export function parseHead(payload: Buffer): HeadMessage {
  if (payload.length > HEAD_BYTES) throw new TypeError(`a head of ${payload.length} bytes`);
  const { status, headers } = members(JSON.parse(payload.toString()));
  return checkHead(status, headers);
}

function positionOf(value: unknown): TaskPosition {
  const { file, line, column, frame } = members(value);
  return {
    file: printable(file, MAX_FILE, /\p{Cc}/u),
    line: positive(line),
    column: positive(column),
    frame: frame === null ? null : printable(frame, MAX_FRAME, /(?!\n)\p{Cc}/u),
  };
}

function taskError(value: unknown, depth: number): TaskError {
  const error = members(value);
  const { name, message, stack, cause, errors, ...own } = error;
  requireShallow(own, depth);
  if (errors !== undefined && !Array.isArray(errors)) throw new TypeError("a message whose errors are not a list");
  return {
    name: text(name),
    message: text(message),
    ...(stack === undefined ? {} : { stack: text(stack) }),
    ...(cause === undefined ? {} : { cause: taskError(cause, depth - 1) }),
    ...(errors === undefined ? {} : { errors: errors.map((each) => taskError(each, depth - 1)) }),
    ...own,
  };
}

/** Also limits the recursion of `taskError`, which passes its depth. */
function requireShallow(value: unknown, depth: number): void {
  if (typeof value !== "object" || value === null) return;
  if (depth <= 0) throw new TypeError("a message that nests too deep");
  for (const each of Object.values(value)) requireShallow(each, depth - 1);
}

function statusOf(status: unknown): number | undefined {
  if (!Number.isInteger(status) || (status as number) < 400 || (status as number) > 599) return undefined;
  return RESERVED_STATUSES.has(status as number) ? undefined : (status as number);
}

function positive(value: unknown): number {
  if (!Number.isSafeInteger(value) || (value as number) < 1) throw new TypeError("a position that is not a number");
  return value as number;
}

function printable(value: unknown, max: number, forbidden: RegExp): string {
  if (typeof value !== "string" || value.length > max || forbidden.test(value)) {
    throw new TypeError("a position without its text");
  }
  return value;
}

function members(value: unknown): Record<string, unknown> {
  if (typeof value !== "object" || value === null) throw new TypeError("a message that is not an object");
  return value as Record<string, unknown>;
}

function text(value: unknown): string {
  if (typeof value !== "string" || value.length > MAX_TEXT) throw new TypeError("a message without its text");
  return value;
}
