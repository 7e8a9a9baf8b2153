import type { HeadMessage } from "./messages.ts";
import { uncurry } from "./uncurry.ts";

// Saved now: in the guest, a task may replace the originals, and the service would end a guest that sends an invalid head.
const byteLength = Buffer.byteLength.bind(Buffer);
const { isArray } = Array;
const { isInteger } = Number;
const { stringify } = JSON;
const find = uncurry(RegExp.prototype, "exec");
const cut = uncurry(String.prototype as string, "slice");
const codePointAt = uncurry(String.prototype as string, "codePointAt");
const toText = uncurry(Number.prototype, "toString");

/** The payload limit of a `head` frame, in bytes. */
export const HEAD_BYTES = 65_536;
const MAX_HEADERS = 200;
const MIN_STATUS = 200;
const MAX_STATUS = 599;
/** A token of RFC 9110, section 5.6.2. */
const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
// Matches a character that RFC 9110, section 5.5, forbids in a field value; obsolete folding is forbidden too. Node sends Latin-1.
const NOT_IN_VALUE = /[^\t\u{20}-\u{7e}\u{80}-\u{ff}]/u;
const SHOWN_CHARACTERS = 100;
const HEX = 16;

/**
 * Encodes the payload of a `head` frame.
 *
 * @throws {TypeError} that names the invalid part. The service would treat an invalid head as an attack.
 */
export function encodeHead(head: HeadMessage): string {
  const text = stringify(checkHead(head.status, head.headers));
  const bytes = byteLength(text);
  if (bytes > HEAD_BYTES) {
    throw new TypeError(
      `the head is ${bytes} bytes; at most ${HEAD_BYTES} can be sent, so put long values into the body`,
    );
  }
  return text;
}

/** Returns the head unchanged. @throws {TypeError} when HTTP forbids the status or a header, or a limit is exceeded. */
export function checkHead(status: unknown, headers: unknown): HeadMessage {
  if (!isInteger(status) || (status as number) < MIN_STATUS || (status as number) > MAX_STATUS) {
    const actual = typeof status === "string" ? `the string ${shown(status)}` : String(status);
    throw new TypeError(`the status is ${actual}; it must be an integer from ${MIN_STATUS} to ${MAX_STATUS}`);
  }
  if (!isArray(headers) || headers.length % 2 !== 0) throw new TypeError("the headers are not names and values");
  if (headers.length > 2 * MAX_HEADERS) {
    throw new TypeError(`the head has ${headers.length / 2} headers; at most ${MAX_HEADERS} can be sent`);
  }
  for (let at = 0; at < headers.length; at += 2) checkHeader(headers[at], headers[at + 1]);
  return { status: status as number, headers: headers as string[] };
}

/** @throws {TypeError} naming a header that HTTP cannot carry. */
export function checkHeader(name: unknown, value: unknown): void {
  if (typeof name !== "string") throw new TypeError(`the name of a header is a ${typeof name}; it must be a string`);
  if (!find(HEADER_NAME, name)) {
    throw new TypeError(`header ${shown(name)} has a name that HTTP forbids; use letters, digits and "-"`);
  }
  if (typeof value !== "string") {
    throw new TypeError(`the value of header ${shown(name)} is a ${typeof value}; it must be a string`);
  }
  const forbidden = find(NOT_IN_VALUE, value);
  if (!forbidden) return;
  const code = `U+${toText(codePointAt(forbidden[0], 0)!, HEX)}`;
  throw new TypeError(
    `header ${shown(name)} contains the character ${code}, which HTTP forbids; encode the value, for example with encodeURIComponent`,
  );
}

/** Quotes and cuts a text of a task, which may contain anything. */
function shown(text: string): string {
  return stringify(cut(text, 0, SHOWN_CHARACTERS));
}
