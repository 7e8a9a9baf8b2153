import { types } from "node:util";

import { CodeFault, threwFault } from "./faults.ts";
import { whenSettled } from "./promises.ts";
import type { Run } from "./run.ts";
import { isStreamed, stream, streamResponse } from "./stream.ts";

/** A bigger result would be held whole by guest and service alike; a stream is not. The service says how big it may be. */
const MAX_RESULT_BYTES = Number(process.argv[2] ?? 6_291_456);
/** UTF-8 needs at most three bytes for one unit of a JavaScript string. */
const MAX_BYTES_A_UNIT = 3;

const { stringify } = JSON;
const { getPrototypeOf } = Object;
const { isArray } = Array;
const { isNativeError } = types;
const plain = Object.prototype;
const byteLength = Buffer.byteLength.bind(Buffer);
/** Answers a run with what its code returned: a value, or a promise of one. */
export function answer(run: Run, returned: unknown): void {
  whenSettled(
    returned,
    (value) => deliver(run, value),
    (error) => run.fault(threwFault(error)),
  );
}

/** Answers a run with what a fetch handler returned, which has to be a `Response`. */
export function answerResponse(run: Run, returned: unknown): void {
  whenSettled(
    returned,
    (value) => {
      if (isResponse(value)) attempt(run, () => streamResponse(run, value));
      else run.fault(threwFault(new TypeError("fetch returned something that is not a Response")));
    },
    (error) => run.fault(threwFault(error)),
  );
}

function deliver(run: Run, value: unknown): void {
  attempt(run, () => {
    const unheard = run.unheard?.();
    if (unheard) return run.fault(threwFault(unheard));
    if (typeof value === "object" && value !== null && getPrototypeOf(value) !== plain && !isArray(value)) {
      if (isNativeError(value)) return run.fault(threwFault(value));
      if (isResponse(value)) return streamResponse(run, value);
      if (isStreamed(value)) return stream(run, value, MAX_RESULT_BYTES);
    }
    return run.result(jsonOf(value));
  });
}

/**
 * Told by its tag: to touch the global `Response` makes Node load its HTTP client, 20 ms and 6 MiB that most containers never need.
 * A `Response` that a task brings along is as good.
 */
function isResponse(value: unknown): value is Response {
  if (typeof value !== "object" || value === null) return false;
  const { [Symbol.toStringTag]: tag, status } = value as { [Symbol.toStringTag]?: unknown; status?: unknown };
  return tag === "Response" && typeof status === "number";
}

/** A getter, a `toJSON` or a Proxy of the task may throw at any touch. */
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
      hint: "Return a value, or what a call of it gives.",
    });
  }
  if (text.length * MAX_BYTES_A_UNIT > MAX_RESULT_BYTES) {
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
    if (message.startsWith("Invalid string length")) throw tooLarge("longer than a string can be");
    if (/^Converting circular|^Do not know how to serialize a BigInt|^Maximum call stack/.test(message)) {
      throw unserializable(message);
    }
    throw error;
  }
}

/** V8 draws the cycle below its first line, by what its objects are made by. */
function unserializable(message: string): CodeFault {
  const [first = "", start = ""] = message.split("\n");
  const what = / with constructor '(\w{1,64})'/.exec(start)?.[1];
  const hint = first.includes("BigInt")
    ? "Return String(...) of a BigInt, or Number(...) of a small one."
    : "Return the values that are wanted of it, without what points back.";
  const of = what === undefined ? "" : `, in an object of ${what}`;
  return new CodeFault("result_unserializable", `the result has no JSON: ${first}${of}`, { hint });
}

function tooLarge(size: string): CodeFault {
  return new CodeFault(
    "result_too_large",
    `the result is ${size}; at most ${MAX_RESULT_BYTES} bytes are answered at once`,
    {
      hint: "Answer a Response with a stream as its body.",
    },
  );
}
