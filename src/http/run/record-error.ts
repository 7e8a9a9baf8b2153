import type { Problem } from "../../errors.ts";
import type { RecordError } from "../../records/record.ts";

/** The names that the guest gives a submitted text, in front of a position. */
const SUBMITTED = /\b(?:task|module)\.[jt]s(?=:\d)/g;

/**
 * Returns the error of a record.
 *
 * @param problem the failure, without secrets.
 * @param file the caller's name for the submitted text, or null.
 */
export function recordError({ code, message, options }: Problem, file: string | null): RecordError {
  const { error, hint, at } = options;
  const stack = error?.stack ?? null;
  return {
    code,
    name: error?.name ?? null,
    message: error?.message ?? message,
    hint: hint ?? null,
    at: at && file !== null && /^(?:task|module)\.[jt]s$/.test(at.file) ? { ...at, file } : (at ?? null),
    stack: stack !== null && file !== null ? stack.replaceAll(SUBMITTED, () => file) : stack,
  };
}
