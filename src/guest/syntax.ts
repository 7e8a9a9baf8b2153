import { CodeFault } from "./faults.ts";

/** Where a text stopped making sense, counted from 1. */
export interface SourcePosition {
  line: number;
  column: number;
}

/** Why one reading of a text failed. The place is missing where V8 tells none. */
export interface SyntaxFailure {
  message: string;
  position: SourcePosition | null;
}

/** Node draws no caret line that is longer, so further right no column can be told. */
const MAX_CARET_LINE = 1000;
/** A longer line, such as minified code has, is shown around its fault. */
const SHOWN_CHARACTERS = 100;

/** The fault of code that does not parse; shows the line with a caret. */
export function syntaxFault(text: string, failure: SyntaxFailure, hint?: string): CodeFault {
  const more = hint === undefined ? {} : { hint };
  if (!failure.position) return new CodeFault("code_syntax", failure.message, more);
  const { line, column } = failure.position;
  const shown = text.split("\n")[line - 1] ?? "";
  const from = Math.max(0, column - 1 - SHOWN_CHARACTERS / 2);
  const excerpt = shown.slice(from, from + SHOWN_CHARACTERS).replace(/[\t\r]/g, " ");
  const caret = `${" ".repeat(column - 1 - from)}^`;
  const detail = `${failure.message} (line ${line}, column ${column})\n  ${excerpt}\n  ${caret}`;
  return new CodeFault("code_syntax", detail, more);
}

/**
 * Reads message and place from an error of V8's or the stripper's. Both put them before the stack, as
 * `name:line`, the line itself, and a caret below it, which is the only way to learn them.
 *
 * @param text What was submitted.
 * @param prefix What a wrapper put before it, on its first line.
 */
export function syntaxFailure(error: unknown, text: string, prefix: string): SyntaxFailure {
  const { message, stack } = error as { message: string; stack: unknown };
  // A task may have taken care that it is something else.
  const shown = (typeof stack === "string" ? stack : "").split("\n");
  const line = Number(/:(\d+)$/.exec(shown[0]!)?.[1]);
  if (!line) return { message, position: null };
  const lines = text.split("\n");
  const submitted = lines[line - 1];
  // The fault lies in the wrapper's own closing line: the text ended too early.
  if (submitted === undefined) return endOfText(lines);
  // The stripper shows some lines around the one at fault; V8 shows one, and below it no caret at the end of the text.
  const caret = shown.find((each, index) => index > 1 && /^\s*\^+\s*$/.test(each)) ?? shown[2] ?? "";
  if (caret.length > MAX_CARET_LINE) return { message: `${message} (line ${line})`, position: null };
  const column = /^\s*/.exec(caret)![0].length - (line === 1 ? prefix.length : 0) + 1;
  return { message, position: { line, column: Math.min(Math.max(column, 1), submitted.length + 1) } };
}

function endOfText(lines: string[]): SyntaxFailure {
  return {
    message: "Unexpected end of input",
    position: { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 },
  };
}

/** Whether `a` lies further on in the text than `b`. */
export function isFurther(a: SyntaxFailure, b: SyntaxFailure): boolean {
  if (!a.position || !b.position) return false;
  return (
    a.position.line > b.position.line || (a.position.line === b.position.line && a.position.column > b.position.column)
  );
}

/** How many characters stand before a place. */
export function offsetOf(text: string, { line, column }: SourcePosition): number {
  let start = 0;
  for (let count = 1; count < line; count += 1) start = text.indexOf("\n", start) + 1;
  return start + column - 1;
}
