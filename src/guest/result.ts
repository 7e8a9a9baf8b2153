import { types } from "node:util";

import { isRefusal } from "./absent-hints.ts";
import { bigIntPath } from "./bigint-path.ts";
import { type Emptied, emptiedIn, joinsUndefined, losesMember } from "./emptied.ts";
import { CodeFault, threwFault } from "./faults.ts";
import { whenSettled } from "./promises.ts";
import { reportQuoted } from "./quoted-template.ts";
import type { Run } from "./run.ts";
import { isStreamed, stream, streamResponse } from "./stream-response.ts";

/**
 * The size limit of a result in bytes, which the service passes as an argument. Guest and service hold a whole result in
 * memory, but not a stream.
 */
const MAX_RESULT_BYTES = Number(process.argv[2] ?? 6_291_456);
/** UTF-8 needs at most three bytes for one unit of a JavaScript string. */
const MAX_BYTES_PER_UNIT = 3;

/** Asks for the credential that the run does not have. */
const CREDENTIAL: Emptied = { hint: "absent", path: "" };
/** Asks for the value that a text in the result lacks. */
const UNDEFINED: Emptied = { hint: "undefinedText", path: "" };

const { stringify } = JSON;
const { getPrototypeOf } = Object;
const { isArray } = Array;
const { isNativeError } = types;
const plain = Object.prototype;
const byteLength = Buffer.byteLength.bind(Buffer);

/** Answers a run with the value that its code returned, or with the value of the returned promise. */
export function answer(run: Run, returned: unknown): void {
  whenSettled(
    returned,
    (value) => deliver(run, value),
    (error) => run.fault(threwFault(error)),
  );
}

/** Answers a run with the `Response` that a fetch handler returned. Any other value is a fault. */
export function answerResponse(run: Run, returned: unknown): void {
  whenSettled(
    returned,
    (value) => {
      if (isResponse(value)) attempt(run, () => streamResponse(run, value));
      else
        run.fault({
          ...threwFault(new TypeError("fetch returned something that is not a Response")),
          hint: hintFor(value),
        });
    },
    (error) => run.fault(threwFault(error)),
  );
}

function deliver(run: Run, value: unknown): void {
  attempt(run, () => {
    const pendingError = run.pendingError?.();
    if (pendingError) return run.fault(threwFault(pendingError));
    if (typeof value === "object" && value !== null && getPrototypeOf(value) !== plain && !isArray(value)) {
      if (isNativeError(value)) return run.fault(threwFault(value));
      if (isResponse(value)) return streamResponse(run, value);
      if (isStreamed(value)) return stream(run, value, MAX_RESULT_BYTES);
    }
    const json = jsonOf(value);
    if (reportQuoted(run, json)) return run.result(json);
    const emptied = emptiedIn(value, json);
    if (emptied) {
      const hint = run.code.betterHint(emptied, value, run);
      if (hint) run.reportHint(hint.hint, hint.path);
    } else if (isEmpty(json) || losesMember(value)) {
      const hint = run.code.emptyHint(value, run);
      if (hint) run.reportHint(hint.hint, hint.path);
      else reportAsyncCallback(run);
    } else {
      const cause = isRefusal(json) ? CREDENTIAL : joinsUndefined(json) ? UNDEFINED : null;
      const hint = cause && run.code.betterHint(cause, value, run);
      if (hint) run.reportHint(hint.hint, hint.path);
      else reportAsyncCallback(run);
    }
    return run.result(json);
  });
}

function isEmpty(json: string): boolean {
  if (json.length > 4) return false;
  return json === "null" || json === "[]" || json === "{}" || json === "0" || json === '""' || json === "true";
}

/** Its result looks like that of other code, so the text alone shows that it is not meant. */
function reportAsyncCallback(run: Run): void {
  const hint = run.code.asyncCallback;
  if (hint !== null) run.reportHint(hint.hint, hint.path);
}

function hintFor(value: unknown): string {
  if (value === undefined) return "fetch returned nothing: return a Response.";
  return typeof value === "string" ? "Return new Response(text)." : "Return Response.json(value), or another Response.";
}

/**
 * Checks the tag, because access to the global `Response` makes Node load its HTTP client: 20 ms and 6 MiB that most
 * containers never need. A `Response` class that the task bundles is accepted too.
 */
function isResponse(value: unknown): value is Response {
  if (typeof value !== "object" || value === null) return false;
  const { [Symbol.toStringTag]: tag, status } = value as { [Symbol.toStringTag]?: unknown; status?: unknown };
  return tag === "Response" && typeof status === "number";
}

/** Fails the run if `step` throws: any access can call a getter, a `toJSON` or a Proxy trap of the task. */
function attempt(run: Run, step: () => void): void {
  try {
    step();
  } catch (error) {
    run.fault(threwFault(error));
  }
}

function jsonOf(value: unknown): string {
  if (value === undefined) return "null";
  const text = serialize(value);
  if (text === undefined) {
    if (typeof value === "object") return "null";
    throw new CodeFault("result_unserializable", `the result is a ${typeof value}, which has no JSON`, {
      hint: "Return a value, or call the function and return its result.",
    });
  }
  if (text.length * MAX_BYTES_PER_UNIT > MAX_RESULT_BYTES) {
    const bytes = byteLength(text);
    if (bytes > MAX_RESULT_BYTES) throw tooLarge(`${bytes} bytes of JSON`);
  }
  return text;
}

function serialize(value: unknown): string | undefined {
  try {
    return stringify(value);
  } catch (error) {
    if (!(error instanceof TypeError || error instanceof RangeError)) throw error;
    const { message } = error;
    if (message.startsWith("Invalid string length")) throw tooLarge("longer than the maximum length of a string");
    if (/^Converting circular|^Do not know how to serialize a BigInt|^Maximum call stack/.test(message)) {
      throw unserializable(message, message.includes("BigInt") ? bigIntPath(value) : null);
    }
    throw error;
  }
}

/**
 * Makes the fault of a result without JSON. V8 lists the constructors in a cycle below the first line of its message.
 *
 * @param path the path of the BigInt in the result, if it is known
 */
function unserializable(message: string, path: string | null): CodeFault {
  const [first = "", start = ""] = message.split("\n");
  const what = / with constructor '(\w{1,64})'/.exec(start)?.[1];
  const hint = first.includes("BigInt")
    ? `Return String(...) of ${path ? `result${path}` : "a BigInt"}, or Number(...) of a small one.`
    : what === "Timeout" || what === "Immediate"
      ? "A value that the callback of a timer returns is lost: await new Promise((resolve) => setTimeout(resolve, ms)), then return."
      : what === "ClientRequest"
        ? "The code returned the request, and not its answer: await fetch(url), or await new Promise((resolve) => ...), and call resolve(value) in the callback."
        : "Return only the values that you need, without references back to their parents.";
  const of = what === undefined ? "" : `, in an object of ${what}`;
  return new CodeFault("result_unserializable", `the result has no JSON: ${first}${of}`, { hint });
}

function tooLarge(size: string): CodeFault {
  return new CodeFault("result_too_large", `the result is ${size}; the limit is ${MAX_RESULT_BYTES} bytes`, {
    hint: "Return a Response with a stream as its body.",
  });
}
