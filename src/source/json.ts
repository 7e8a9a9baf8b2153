import { isUtf8 } from "node:buffer";

import { Problem } from "../errors.ts";
import { findJsonFault } from "./json-fault.ts";

/**
 * Parses JSON (RFC 8259) in UTF-8; a byte-order mark is ignored.
 *
 * @param maxDepth the most levels of arrays and objects.
 * @throws {Problem} `request_invalid`, with the place where the text is malformed.
 */
export function parseJson(bytes: Buffer, maxDepth: number): unknown {
  if (!isUtf8(bytes)) throw new Problem("request_invalid", "the body is not UTF-8", { hint: "Send JSON in UTF-8." });
  // Before anything is built: whoever walks the value later may do so by recursion.
  refuseDepth(bytes, maxDepth);
  const text = bytes.toString("utf8").replace(/^\uFEFF/, "");
  try {
    return JSON.parse(text);
  } catch (error) {
    // V8's message quotes the text, which may hold secrets, and often leaves out the place.
    throw new Problem("request_invalid", `the body is not JSON: ${findJsonFault(text)}`, { cause: error });
  }
}

/** In malformed text this sees what the parser sees up to the first fault, and the parser goes no further. */
function refuseDepth(bytes: Buffer, maxDepth: number): void {
  let depth = 0;
  let inString = false;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (inString) {
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) inString = false;
    } else if (byte === QUOTE) {
      inString = true;
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

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
