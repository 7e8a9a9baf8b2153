import type { HeadMessage } from "./messages.ts";
import { uncurry } from "./uncurry.ts";

// Taken now: in the guest a task may replace them, and a head that breaks the rules would end the guest.
const byteLength = Buffer.byteLength.bind(Buffer);
const { isArray } = Array;
const { isInteger } = Number;
const { stringify } = JSON;
const find = uncurry(RegExp.prototype, "exec");
const cut = uncurry(String.prototype as string, "slice");
const codePointAt = uncurry(String.prototype as string, "codePointAt");
const toText = uncurry(Number.prototype, "toString");

/** The most that the payload of a `head` frame may be. */
export const HEAD_BYTES = 65_536;
const MAX_HEADERS = 200;
const MIN_STATUS = 200;
const MAX_STATUS = 599;
/** A token of RFC 9110, section 5.6.2. */
const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
// No field content of RFC 9110, section 5.5, without obsolete folding; Node sends it as Latin-1.
const NOT_IN_VALUE = /[^\t\u{20}-\u{7e}\u{80}-\u{ff}]/u;
const SHOWN_CHARACTERS = 100;
const HEX = 16;

/**
 * The payload of a `head` frame.
 *
 * @throws {TypeError} saying what in the head no answer can have: the service would take it for a forgery.
 */
export function encodeHead(head: HeadMessage): string {
  const text = stringify(checkHead(head.status, head.headers));
  const bytes = byteLength(text);
  if (bytes > HEAD_BYTES) {
    throw new TypeError(
      `the head is ${bytes} bytes, where ${HEAD_BYTES} can be answered; send what is long in the body`,
    );
  }
  return text;
}

/** Gives back what it was given. @throws {TypeError} when no answer can have this status or one of these headers. */
export function checkHead(status: unknown, headers: unknown): HeadMessage {
  if (!isInteger(status) || (status as number) < MIN_STATUS || (status as number) > MAX_STATUS) {
    const is = typeof status === "string" ? `the string ${shown(status)}` : String(status);
    throw new TypeError(`the status is ${is}, where an integer from ${MIN_STATUS} to ${MAX_STATUS} can be answered`);
  }
  if (!isArray(headers) || headers.length % 2 !== 0) throw new TypeError("the headers are not names and values");
  if (headers.length > 2 * MAX_HEADERS) {
    throw new TypeError(`the head has ${headers.length / 2} headers, where ${MAX_HEADERS} can be answered`);
  }
  for (let at = 0; at < headers.length; at += 2) checkHeader(headers[at], headers[at + 1]);
  return { status: status as number, headers: headers as string[] };
}

/** @throws {TypeError} naming a header that HTTP cannot carry. */
export function checkHeader(name: unknown, value: unknown): void {
  if (typeof name !== "string") throw new TypeError(`a header has a name that is a ${typeof name}, and not a string`);
  if (!find(HEADER_NAME, name)) {
    throw new TypeError(`header ${shown(name)} has a name that HTTP cannot carry; use letters, digits and "-"`);
  }
  if (typeof value !== "string") throw new TypeError(`header ${shown(name)} is a ${typeof value}, and not a string`);
  const wrong = find(NOT_IN_VALUE, value);
  if (!wrong) return;
  const code = `U+${toText(codePointAt(wrong[0], 0)!, HEX)}`;
  throw new TypeError(
    `header ${shown(name)} holds the character ${code}, which HTTP cannot carry; encode the value, as encodeURIComponent does`,
  );
}

/** Quoted and cut: it is a task's, and may be anything. */
function shown(text: string): string {
  return stringify(cut(text, 0, SHOWN_CHARACTERS));
}
