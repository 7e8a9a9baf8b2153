import { stripTypeScriptTypes } from "node:module";

import { CodeFault } from "./faults.ts";
import { GeneratedMap } from "./generated-maps.ts";
import { InlineMap } from "./source-map.ts";
import { offsetOf, type SyntaxFailure, syntaxFailure } from "./syntax.ts";

const TAB_CHARACTERS = 4;
const MAX_TAG = 100;
const MAP_COMMENT = "//# sourceMappingURL=";
const { hasOwn } = Object;

/** A text without types. */
export interface Stripped {
  readonly text: string;
  /** The original of each position. Null if every character is where it was. */
  readonly map: GeneratedMap | null;
}

export function isStripped(result: Stripped | SyntaxFailure): result is Stripped {
  return hasOwn(result, "text");
}

/**
 * Removes the types from a text without moving any other character. For TypeScript that is more than types, such as an enum,
 * JavaScript is generated. `head` and `tail` wrap the text for the stripper, which parses everything as a module and rejects
 * a `return` at the top level.
 *
 * @throws {CodeFault} when the stripper itself fails.
 */
export function strip(head: string, text: string, tail: string): Stripped | SyntaxFailure {
  try {
    const stripped = stripTypeScriptTypes(head + text + tail);
    return { text: stripped.slice(head.length, stripped.length - tail.length), map: null };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== "ERR_INVALID_TYPESCRIPT_SYNTAX" && code !== "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX") throw tooDeep();
    const failure = failureOf(error, text, head);
    if (code === "ERR_INVALID_TYPESCRIPT_SYNTAX") return failure;
    return message.includes("angle-bracket") && isTag(text, failure) ? failure : generate(head, text, tail);
  }
}

/** Returns a failure with its position in the submitted text. Returns what is compiled unchanged. */
export function inSource<Result extends object>(
  { map }: Stripped,
  failure: Result | SyntaxFailure,
): Result | SyntaxFailure {
  if (!map || !("position" in failure) || !failure.position) return failure;
  return { message: failure.message, position: map.originalOf(failure.position) };
}

/** Generates JavaScript from TypeScript, with all characters moved. */
function generate(head: string, text: string, tail: string): Stripped | SyntaxFailure {
  let output: string;
  try {
    output = stripTypeScriptTypes(head + text + tail, { mode: "transform", sourceMap: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_INVALID_TYPESCRIPT_SYNTAX") return failureOf(error, text, head);
    throw tooDeep();
  }
  const map = InlineMap.of(output);
  const whole = output.slice(0, output.lastIndexOf(MAP_COMMENT)).trimEnd();
  const inner = unwrapped(whole, head);
  return { text: inner, map: map && new GeneratedMap(map, head.length) };
}

/** Whether a cast is a tag of JSX. `<b>1</b>; // one` is also the cast of a comparison with a regular expression. */
function isTag(text: string, { position }: SyntaxFailure): boolean {
  const at = position ? offsetOf(text, position) : 0;
  const name = /^<([A-Za-z][\w.]*)>/.exec(text.slice(at, at + MAX_TAG))?.[1];
  return name !== undefined && text.includes(`</${name}>`, at);
}

/** Removes what the wrapper has become. The stripper writes an expression without its brackets, and ends it. */
function unwrapped(text: string, head: string): string {
  if (head.endsWith("{") && text.startsWith(head)) return text.slice(head.length, -1);
  return head === "(" && text.endsWith(";") ? text.slice(0, -1) : text;
}

/** The stripper is WebAssembly. Text that nests too deep corrupts its memory, and it stays broken in this process. */
function tooDeep(): CodeFault {
  return new CodeFault(
    "code_syntax",
    "the types could not be stripped: the code nests too deep for the TypeScript parser",
    {
      hint: "Nest the code less deeply, or send plain JavaScript.",
      retire: true,
    },
  );
}

/** The tokens that a message names. The stripper names up to twenty. */
const MAX_EXPECTED = 3;

function withFewTokens(message: string): string {
  // What may begin a type.
  if (message.includes("Expected an identifier, void, "))
    return message.replace(/Expected an identifier, void, .*/s, "Expected a type");
  const expected = /\bExpected (.+)$/s.exec(message)?.[1]?.split(", ") ?? [];
  if (expected.length <= MAX_EXPECTED) return message;
  const first = expected.slice(0, MAX_EXPECTED).join(", ");
  return message.replace(/\bExpected .+$/s, () => `Expected ${first} or another token`);
}

/** Reads message and position from the stripper's error. It shows a tab as four spaces, which shifts its caret to the right. */
function failureOf(error: unknown, text: string, head: string): SyntaxFailure {
  const failure = syntaxFailure(error, text.replaceAll("\t", " ".repeat(TAB_CHARACTERS)), head);
  if (!failure.position) return failure;
  const line = text.split("\n")[failure.position.line - 1]!;
  let left = failure.position.column - 1;
  let column = 0;
  for (; left > 0 && column < line.length; column += 1) left -= line[column] === "\t" ? TAB_CHARACTERS : 1;
  return { message: withFewTokens(failure.message), position: { line: failure.position.line, column: column + 1 } };
}
