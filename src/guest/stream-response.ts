import { Blob as NativeBlob } from "node:buffer";
import { types } from "node:util";

import { uncurry } from "../wire/uncurry.ts";
import { Body } from "./body.ts";
import { isOutdated } from "./decoded-responses.ts";
import type { Emptied } from "./emptied.ts";
import { CodeFault, threwFault } from "./faults.ts";
import { onRejection } from "./promises.ts";
import { MAX_SHOWN, reportQuoted } from "./quoted-template.ts";
import type { Run } from "./run.ts";

const OCTETS = "application/octet-stream";
/** The type that a Response has if it was made from a text. */
const TEXT = "text/plain;charset=UTF-8";
const OK = 200;
const { isAnyArrayBuffer, isGeneratorObject } = types;
const isView = ArrayBuffer.isView.bind(ArrayBuffer);
const NativeStream = ReadableStream;
const NONE = new Uint8Array();
const encoder = new TextEncoder();
const encode = encoder.encode.bind(encoder);
const decoder = new TextDecoder();
const decode = decoder.decode.bind(decoder);
const includes = Function.prototype.call.bind(Buffer.prototype.includes) as (
  bytes: Uint8Array,
  value: Uint8Array,
) => boolean;
/** The first byte and the longest form of a text such as `[object Map]`. */
const BRACKET = 0x5b;
const MAX_CONVERTED = 40;
const BRACE = 0x7b;
const UNDEFINED = Buffer.from("undefined");
const DOLLAR = 0x24;
/** What a router of Hono answers to a path that none of its routes has. */
const UNROUTED = "404 Not Found";
const indexOfByte = uncurry(Uint8Array.prototype, "indexOf");

type Generated = Generator | AsyncGenerator;
export type Streamed = ReadableStream | Generated | ArrayBufferLike | ArrayBufferView | Blob;

/** Marks the end of a body. It is a symbol, because a task's generator may yield any other value. */
const END = Symbol("end");
/**
 * Used for a text, and if the task did not set a head itself: the head waits for the first piece of the body. If the body fails before that,
 * the response is a failed run with its error.
 */
const DELAYED = true;
/** Returns the next piece of a body. */
type Next = () => Promise<unknown>;

/** Whether a result is answered as bytes rather than as JSON. */
export function isStreamed(value: object): value is Streamed {
  return (
    isView(value) ||
    isAnyArrayBuffer(value) ||
    isGeneratorObject(value) ||
    value instanceof NativeStream ||
    value instanceof NativeBlob
  );
}

/** Answers a run with bytes. @throws {CodeFault} `result_too_large` for a Blob or a buffer of more than `maxBytes`. */
export function stream(run: Run, value: Streamed, maxBytes: number): void {
  if (value instanceof NativeBlob) {
    refuseLarger(value.size, maxBytes);
    const headers = ["content-type", value.type || OCTETS, "content-length", `${value.size}`];
    return sendStream(run, 200, headers, value.stream() as ReadableStream);
  }
  const headers = ["content-type", OCTETS];
  if (value instanceof NativeStream) return sendStream(run, 200, headers, value, DELAYED);
  if (isGeneratorObject(value)) return sendGenerated(run, headers, value as Generated);
  const bytes = asBytes(value)!;
  refuseLarger(bytes.length, maxBytes);
  return pump(run, 200, ["content-type", OCTETS, "content-length", `${bytes.length}`], once(bytes), () => {});
}

/** Answers a run with a `Response`. */
export function streamResponse(run: Run, response: Response): void {
  const headers: string[] = [];
  // A text that is sent with its type is there at once. So a hint about it can be in the head.
  let isText = false;
  response.headers.forEach((value, name) => {
    if (name === "content-type") isText = value === TEXT;
    if (!isOutdated(name, response)) headers.push(name, value);
  });
  if (response.bodyUsed) throw new TypeError("the body of the Response was read already; return a clone");
  if (response.body) return sendStream(run, response.status, headers, response.body, isText);
  if (response.status === OK) reportOdd(run, NONE);
  return pump(run, response.status, headers, once(NONE), () => {});
}

function sendStream(run: Run, status: number, headers: string[], source: ReadableStream, isDelayed = false): void {
  const reader = source.getReader();
  const next: Next = async () => {
    const { done, value } = (await reader.read()) as { done: boolean; value: unknown };
    return done ? END : value;
  };
  pump(run, status, headers, next, () => void onRejection(reader.cancel(), () => {}), isDelayed);
}

function sendGenerated(run: Run, headers: string[], source: Generated): void {
  const next: Next = async () => {
    const { done, value } = await source.next();
    return done ? END : value;
  };
  // `return` runs the generator's `finally`, which may reject too.
  pump(run, 200, headers, next, () => void onRejection((async () => source.return(undefined))(), () => {}), DELAYED);
}

function once(bytes: Uint8Array): Next {
  let left: Uint8Array | typeof END = bytes;
  return async () => {
    const now = left;
    left = END;
    return now;
  };
}

/** Sends the head and the body. Pieces that are ready follow a head without delay in the same turn, and so in one write. */
function pump(run: Run, status: number, headers: string[], next: Next, stop: () => void, isDelayed = false): void {
  const body = new Body(run, stop);
  try {
    body.head(status, headers, isDelayed);
  } catch (error) {
    stop();
    throw error;
  }
  // The run was aborted before its body existed, so nothing else stops the source.
  if (run.over) stop();
  else void sendAll(run, body, next, stop);
}

async function sendAll(run: Run, body: Body, next: Next, stop: () => void): Promise<void> {
  let isFirst = true;
  try {
    for (let piece = await next(); piece !== END && !run.over; piece = await next()) {
      const bytes = typeof piece === "string" ? encode(piece) : asBytes(piece);
      if (!bytes) throw unsendable(piece);
      if (isFirst && bytes[0] === BRACKET && bytes.length <= MAX_CONVERTED && isConverted(bytes)) {
        run.reportHint("responseText", "");
      } else if (isFirst && bytes.length <= MAX_SHOWN) reportOdd(run, bytes);
      isFirst = false;
      const wait = body.write(bytes);
      if (wait) await wait;
    }
    body.end();
  } catch (error) {
    if (!run.over) stop();
    run.fault(threwFault(error));
  }
}

/**
 * Reports that a body is empty, is `{}` or has the word undefined, if a value explains it that the run does not have, or that it shows the
 * expression of a template.
 */
function reportOdd(run: Run, bytes: Uint8Array): void {
  if (indexOfByte(bytes, DOLLAR) !== -1) reportQuoted(run, decode(bytes));
  if (bytes.length === UNROUTED.length && decode(bytes) === UNROUTED) reportBetter(run, { hint: "unrouted", path: "" });
  const isText = bytes.length >= UNDEFINED.length && includes(bytes, UNDEFINED);
  const isEmpty = bytes.length === 0 || (bytes.length === 2 && bytes[0] === BRACE);
  if (!isText && !isEmpty) return;
  reportBetter(run, { hint: "responseText", path: isText ? ".text" : "" });
}

function reportBetter(run: Run, found: Emptied): void {
  const hint = run.code.betterHint(found, null, run);
  if (hint) run.reportHint(hint.hint, hint.path);
}

/** Whether a piece is the text of an object, as in `new Response(new Map())`. */
function isConverted(bytes: Uint8Array): boolean {
  const text = decode(bytes);
  return text.startsWith("[object ") && text.endsWith("]");
}

function unsendable(piece: unknown): CodeFault {
  const what = piece === null ? "null" : `a value of the type ${typeof piece}`;
  return new CodeFault("result_unserializable", `the stream gave ${what}; only bytes and strings can be sent`, {
    hint: "Yield JSON.stringify(...) of each value, or return all values as one array.",
  });
}

function asBytes(value: unknown): Uint8Array | null {
  if (isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  return isAnyArrayBuffer(value) ? new Uint8Array(value) : null;
}

function refuseLarger(bytes: number, maxBytes: number): void {
  if (bytes <= maxBytes) return;
  throw new CodeFault("result_too_large", `the result is ${bytes} bytes; the limit is ${maxBytes} bytes`, {
    hint: "Return a ReadableStream, or a Response with a ReadableStream as its body.",
  });
}
