import { isUtf8 } from "node:buffer";

import { Problem } from "../errors.ts";
import { findJsonFault } from "../wire/json-fault.ts";
import { type MemberSeen, scanJson } from "./json-scan.ts";

/**
 * Parses JSON (RFC 8259) in UTF-8; a byte-order mark is ignored.
 *
 * @param maxDepth the most levels of arrays and objects.
 * @param memberSeen told of each member before anything is built; it may throw.
 * @throws {Problem} `request_invalid`, with the place where the text is malformed. It quotes nothing of the text.
 */
export function parseJson(bytes: Buffer, maxDepth: number, memberSeen?: MemberSeen): unknown {
  if (!isUtf8(bytes)) throw new Problem("request_invalid", "the body is not UTF-8", { hint: "Send JSON in UTF-8." });
  // Before anything is built: whoever walks the value later may do so by recursion.
  scanJson(bytes, maxDepth, memberSeen);
  const text = bytes.toString("utf8").replace(/^\uFEFF/, "");
  try {
    return JSON.parse(text);
  } catch (error) {
    const fault = text.length <= MAX_SEARCHED ? foundFault(text) : parserFault(error);
    // V8's error is no cause: its message quotes the text, which may hold secrets, and causes are logged.
    throw new Problem("request_invalid", `the body is not JSON${fault && `: ${fault}`}`);
  }
}

/** The search reads by token, a hundred times slower than the parser: in a large body it would stop the event loop. */
const MAX_SEARCHED = 64 * 2 ** 10;

function foundFault(text: string): string {
  const { what, line, column } = findJsonFault(text);
  return `${what} at line ${line}, column ${column}`;
}

/** V8 puts the place last where it quotes nothing; where it quotes, there is no place. */
const PLACE = / \(line (\d+) column (\d+)\)$/;

/** What V8 says of the place, or nothing. */
function parserFault(error: unknown): string {
  const message = error instanceof Error ? error.message : "";
  if (message === "Unexpected end of JSON input") return "it ends too early";
  const place = PLACE.exec(message);
  return place === null ? "" : `it breaks at line ${place[1]}, column ${place[2]}`;
}
