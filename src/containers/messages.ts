import { Problem, type ProblemCode } from "../errors.ts";
import type { HeadMessage } from "../wire/messages.ts";

/**
 * Messages of a guest, checked. Submitted code can forge them, so nothing in them is believed: what does not fit is the
 * end of the guest (an exception here), what fits can only speak of the run that it names.
 */

/** Codes that a guest may claim for its run. Whatever else is wrong with a run is found out by the service itself. */
const CLAIMABLE: ReadonlySet<string> = new Set<ProblemCode>([
  "code_syntax",
  "code_shape",
  "task_error",
  "task_threw",
  "task_exited",
  "result_unserializable",
  "result_too_large",
]);
/** Statuses that stay the service's own, whatever a task asks for. */
const RESERVED_STATUSES: ReadonlySet<number> = new Set([401, 403, 407, 429, 503]);
const MAX_TEXT = 65_536;
const MAX_HEADERS = 200;
const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
// Field content of RFC 9110, section 5.5, without obsolete folding; Node sends it as Latin-1.
const HEADER_VALUE = /^[\t\u{20}-\u{7e}\u{80}-\u{ff}]*$/u;

/** @throws {TypeError} when the message does not fit. */
export function parseFault(payload: Buffer): { problem: Problem; retire: boolean } {
  const fault = members(JSON.parse(payload.toString()));
  const code = fault["code"];
  if (typeof code !== "string" || !CLAIMABLE.has(code)) throw new TypeError("a fault with an unknown code");
  const error = fault["error"] === undefined ? undefined : members(fault["error"]);
  const stack = error?.["stack"];
  const status = askedStatus(fault["status"]);
  const hint = fault["hint"];
  const problem = new Problem(code as ProblemCode, text(fault["detail"]), {
    ...(hint === undefined ? {} : { hint: text(hint) }),
    ...(status === undefined ? {} : { status }),
    ...(error && {
      error: {
        name: text(error["name"]),
        message: text(error["message"]),
        ...(stack === undefined ? {} : { stack: text(stack) }),
      },
    }),
  });
  return { problem, retire: fault["retire"] === true };
}

/** @throws {TypeError} when the message does not fit. */
export function parseHead(payload: Buffer): HeadMessage {
  const { status, headers } = members(JSON.parse(payload.toString()));
  if (!Number.isInteger(status) || (status as number) < 200 || (status as number) > 599) {
    throw new TypeError("a head without a status");
  }
  if (!Array.isArray(headers) || headers.length % 2 !== 0 || headers.length > 2 * MAX_HEADERS) {
    throw new TypeError("a head without headers");
  }
  for (const [index, part] of headers.entries()) {
    const fits = typeof part === "string" && (index % 2 === 0 ? HEADER_NAME : HEADER_VALUE).test(part);
    if (!fits) throw new TypeError("a header that does not fit");
  }
  return { status: status as number, headers };
}

function askedStatus(status: unknown): number | undefined {
  if (!Number.isInteger(status) || (status as number) < 400 || (status as number) > 599) return undefined;
  return RESERVED_STATUSES.has(status as number) ? undefined : (status as number);
}

function members(value: unknown): Record<string, unknown> {
  if (typeof value !== "object" || value === null) throw new TypeError("a message that is no object");
  return value as Record<string, unknown>;
}

function text(value: unknown): string {
  if (typeof value !== "string" || value.length > MAX_TEXT) throw new TypeError("a message without its text");
  return value;
}
