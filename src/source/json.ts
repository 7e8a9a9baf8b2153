import { isUtf8 } from "node:buffer";

import { Problem } from "../errors.ts";
import { nextTurn } from "../next-turn.ts";
import { findJsonFault } from "../wire/json-fault.ts";
import { DeepJson, JsonScanner, type JsonVisitor, MalformedJson, type Span } from "./json-scanner.ts";
import { notUtf8 } from "./text.ts";

/** The bytes that are checked in one turn of the event loop, which takes one or two milliseconds. */
const BYTES_A_TURN = 256 * 2 ** 10;
/**
 * The maximum number of bytes in which the line of a fault is searched by token. A larger body would block the event
 * loop.
 */
const MAX_SEARCHED = 64 * 2 ** 10;

/**
 * Checks JSON (RFC 8259) in UTF-8 and builds no values. It ignores a byte-order mark. A large body takes several turns
 * of the event loop.
 *
 * @param holder as of `nextTurn`
 * @param maxDepth the maximum number of levels of arrays and objects.
 * @throws {Problem} `request_invalid`, with the line and column of the fault. It quotes nothing of the text.
 */
export async function checkJson(
  bytes: Buffer,
  maxDepth: number,
  holder?: string,
  visitor?: JsonVisitor,
): Promise<void> {
  if (!isUtf8(bytes)) throw notUtf8(bytes, "JSON");
  const scanner = new JsonScanner(bytes, maxDepth, visitor, hasByteOrderMark(bytes) ? 3 : 0);
  try {
    if (bytes.length > BYTES_A_TURN) await nextTurn(holder);
    while (!scanner.advance(BYTES_A_TURN)) await nextTurn(holder);
  } catch (error) {
    if (error instanceof DeepJson) {
      throw new Problem("request_invalid", `the JSON has more than ${maxDepth} levels at byte ${error.at}`, {
        hint: FLATTER,
      });
    }
    if (!(error instanceof MalformedJson)) throw error;
    throw new Problem("request_invalid", `the body is not JSON: ${faultOf(bytes, error.at)}`);
  }
}

const FLATTER =
  "Send a flatter value, or send the deep part as a text and read it with JSON.parse. The operator sets --json-depth-limit.";

/**
 * Checks and parses JSON. It rejects an object with a duplicate name, because readers disagree which of the two values
 * counts (RFC 8259, section 4).
 *
 * @param bytes a text that is small enough to parse in one turn of the event loop.
 * @param holder as of `nextTurn`
 * @throws {Problem} `request_invalid`, as `checkJson` does.
 */
export async function parseJson(
  bytes: Buffer,
  maxDepth: number,
  holder?: string,
  visitor: JsonVisitor = {},
): Promise<unknown> {
  const names: Set<string>[] = [];
  await checkJson(bytes, maxDepth, holder, {
    ...visitor,
    opened: (depth) => {
      visitor.opened?.(depth);
      names[depth] = new Set();
    },
    named: (depth, start, end) => {
      visitor.named?.(depth, start, end);
      const name = nameAt(bytes, { start, end });
      if (names[depth]!.has(name)) throw duplicateMember(name);
      names[depth]!.add(name);
    },
  });
  return JSON.parse(textOf(bytes));
}

const MAX_NAME_CHARS = 64;

export function duplicateMember(name: string): Problem {
  return new Problem("request_invalid", `the member ${JSON.stringify(name.slice(0, MAX_NAME_CHARS))} occurs twice`, {
    hint: "Send each member of an object once.",
  });
}

/** Returns the name of a member from its span. */
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
  if (at >= bytes.length) return "it ends before the value is complete";
  let line = 1;
  let lineStart = 0;
  for (let each = 0; each < at; each += 1) {
    if (bytes[each] !== NEWLINE) continue;
    line += 1;
    lineStart = each + 1;
  }
  return `it is malformed at line ${line}, column ${bytes.toString("utf8", lineStart, at).length + 1}`;
}

const NEWLINE = 0x0a;
