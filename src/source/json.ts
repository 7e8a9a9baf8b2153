import { isUtf8 } from "node:buffer";

import { Problem } from "../errors.ts";
import { nextTurn } from "../next-turn.ts";
import { findJsonFault } from "../wire/json-fault.ts";
import { DeepJson, JsonScanner, type JsonVisitor, MalformedJson, type Span } from "./json-scanner.ts";

/** Bytes that are checked in one turn of the event loop: a millisecond or two. */
const BYTES_A_TURN = 256 * 2 ** 10;
/** The search for the fault reads by token: in a large body it would stop the event loop. */
const MAX_SEARCHED = 64 * 2 ** 10;

/**
 * Checks JSON (RFC 8259) in UTF-8 and builds nothing; a byte-order mark is ignored. A large body takes several turns of
 * the event loop.
 *
 * @param maxDepth the most levels of arrays and objects.
 * @param holder as of `nextTurn`
 * @throws {Problem} `request_invalid`, with the place where the text is malformed. It quotes nothing of the text.
 */
export async function checkJson(
  bytes: Buffer,
  maxDepth: number,
  holder?: string,
  visitor?: JsonVisitor,
): Promise<void> {
  if (!isUtf8(bytes)) throw new Problem("request_invalid", "the body is not UTF-8", { hint: "Send JSON in UTF-8." });
  const scanner = new JsonScanner(bytes, maxDepth, visitor, hasByteOrderMark(bytes) ? 3 : 0);
  try {
    if (bytes.length > BYTES_A_TURN) await nextTurn(holder);
    while (!scanner.advance(BYTES_A_TURN)) await nextTurn(holder);
  } catch (error) {
    if (error instanceof DeepJson) {
      throw new Problem("request_invalid", `the JSON goes deeper than ${maxDepth} levels at byte ${error.at}`);
    }
    if (!(error instanceof MalformedJson)) throw error;
    throw new Problem("request_invalid", `the body is not JSON: ${faultOf(bytes, error.at)}`);
  }
}

/**
 * Parses JSON of which everything is built. A name that an object has twice is refused: which of the two counts would be
 * a guess (RFC 8259, section 4).
 *
 * @param bytes few enough to be built in one turn of the event loop.
 * @param holder as of `nextTurn`
 * @throws {Problem} `request_invalid`, as `checkJson`.
 */
export async function parseJson(
  bytes: Buffer,
  maxDepth: number,
  holder?: string,
  visitor: Pick<JsonVisitor, "member"> = {},
): Promise<unknown> {
  const names: Set<string>[] = [];
  await checkJson(bytes, maxDepth, holder, {
    ...visitor,
    opened: (depth) => (names[depth] = new Set()),
    named: (depth, start, end) => {
      const name = nameAt(bytes, { start, end });
      if (names[depth]!.has(name)) throw givenTwice(name);
      names[depth]!.add(name);
    },
  });
  return JSON.parse(textOf(bytes));
}

const MAX_NAME_CHARS = 64;

export function givenTwice(name: string): Problem {
  return new Problem("request_invalid", `the member ${JSON.stringify(name.slice(0, MAX_NAME_CHARS))} is given twice`, {
    hint: "Give each member of an object once.",
  });
}

/** The name of a member that was found. */
export function nameAt(bytes: Buffer, { start, end }: Span): string {
  const text = bytes.toString("utf8", start + 1, end - 1);
  return text.includes("\\") ? (JSON.parse(`"${text}"`) as string) : text;
}

function textOf(bytes: Buffer): string {
  return bytes.toString("utf8", hasByteOrderMark(bytes) ? 3 : 0);
}

function hasByteOrderMark(bytes: Buffer): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
}

function faultOf(bytes: Buffer, at: number): string {
  if (bytes.length <= MAX_SEARCHED) {
    const { what, line, column } = findJsonFault(textOf(bytes));
    return `${what} at line ${line}, column ${column}`;
  }
  if (at >= bytes.length) return "it ends too early";
  let line = 1;
  let lineStart = 0;
  for (let each = 0; each < at; each += 1) {
    if (bytes[each] !== NEWLINE) continue;
    line += 1;
    lineStart = each + 1;
  }
  return `it breaks at line ${line}, column ${bytes.toString("utf8", lineStart, at).length + 1}`;
}

const NEWLINE = 0x0a;
