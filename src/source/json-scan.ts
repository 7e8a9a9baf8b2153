import { Problem } from "../errors.ts";

/** Takes the levels of arrays and objects around a member, and where its name lies in the bytes, quotes included. */
export type MemberSeen = (depth: number, start: number, end: number) => void;

/**
 * Looks over JSON without building anything. In malformed text this sees what the parser sees up to the first fault, and
 * the parser goes no further.
 *
 * @throws {Problem} `request_invalid` when arrays and objects go deeper than `maxDepth` levels.
 */
export function scanJson(bytes: Buffer, maxDepth: number, memberSeen?: MemberSeen): void {
  let depth = 0;
  let start = 0;
  let end = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) {
      start = at;
      at = endOfString(bytes, at);
      end = at + 1;
    } else if (byte === COLON) {
      memberSeen?.(depth, start, end);
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      depth += 1;
      if (depth > maxDepth) {
        throw new Problem("request_invalid", `the JSON goes deeper than ${maxDepth} levels at byte ${at}`);
      }
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      depth -= 1;
    }
  }
}

/** Where the closing quote is, or the end of the bytes. */
function endOfString(bytes: Buffer, start: number): number {
  let at = start + 1;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at;
}

const QUOTE = 0x22;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
