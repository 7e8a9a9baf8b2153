import { Problem } from "../errors.ts";

/**
 * Returns a view of source text without its byte-order mark and without the text of a first line `#!`. The end of that
 * line stays, so that errors report the lines of the submitted text.
 */
export function withoutPreamble(text: Buffer): Buffer {
  let start = 0;
  if (text[0] === 0xef && text[1] === 0xbb && text[2] === 0xbf) start = 3;
  if (text[start] === HASH && text[start + 1] === BANG) {
    const end = text.indexOf(NEWLINE, start);
    start = end === -1 ? text.length : end;
  }
  return start === 0 ? text : text.subarray(start);
}

/** Makes the fault of code or JSON that is not UTF-8, with what it is instead. */
export function notUtf8(body: Buffer, what: "code" | "JSON" = "code"): Problem {
  const [first, second] = body;
  const isZipped = first === 0x1f && second === 0x8b;
  const isWide = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  const hint = isZipped
    ? `The body is compressed with gzip, and the service decodes none: send the ${what} as it is.`
    : isWide
      ? "The body is UTF-16, as PowerShell writes files: save the file as UTF-8."
      : `Send the ${what} in UTF-8.`;
  return new Problem("request_invalid", "the body is not UTF-8", { hint });
}

/** Whether UTF-8 text contains only JavaScript white space. */
export function isBlank(text: Buffer): boolean {
  let at = 0;
  // A loop by index, because an iterator of a buffer takes twenty times as long.
  while (at < text.length && isAsciiSpace(text[at]!)) at += 1;
  if (at === text.length) return true;
  // Non-ASCII white space is rare, so decoding the rest is acceptable.
  return text[at]! >= 0x80 && /^\s*$/u.test(text.toString("utf8", at));
}

function isAsciiSpace(byte: number): boolean {
  return byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);
}

const HASH = 0x23;
const BANG = 0x21;
const NEWLINE = 0x0a;
