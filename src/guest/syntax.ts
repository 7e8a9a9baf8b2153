import { codeFrame, type SourcePosition } from "./code-frame.ts";
import { CodeFault } from "./faults.ts";

/** The reason why a text does not parse. The position is null if V8 gives none. */
export interface SyntaxFailure {
  message: string;
  position: SourcePosition | null;
}

/** The longest caret line that Node draws. It gives no column for a fault further to the right. */
const MAX_CARET_LINE = 1000;
/** The length of the excerpt around the fault. Lines of minified code are longer. */
const SHOWN_CHARACTERS = 100;

/** Makes the fault of code that does not parse. It shows the line with a caret. */
export function syntaxFault(text: string, failure: SyntaxFailure, hint?: string): CodeFault {
  const hints = hint === undefined ? {} : { hint };
  if (!failure.position) return new CodeFault("code_syntax", failure.message, hints);
  const { line, column } = failure.position;
  const detail = `${failure.message} ${excerptOf(text, failure.position)}`;
  const at = { file: "task.js", line, column, frame: codeFrame(text, failure.position) };
  return new CodeFault("code_syntax", detail, { ...hints, at });
}

/** Returns a position in words, with its line and a caret below it. */
export function excerptOf(text: string, { line, column }: SourcePosition): string {
  const shown = text.split("\n")[line - 1] ?? "";
  const from = Math.max(0, column - 1 - SHOWN_CHARACTERS / 2);
  const excerpt = shown.slice(from, from + SHOWN_CHARACTERS).replace(/[\t\r]/g, " ");
  return `(line ${line}, column ${column})\n  ${excerpt}\n  ${" ".repeat(column - 1 - from)}^`;
}

/** Returns a fault whose position is in another file than `task.js`. */
export function inFile(file: string, fault: CodeFault, detail: string = fault.fault.detail): CodeFault {
  const { code, at, ...members } = fault.fault;
  const named = new CodeFault(code, detail, at ? { ...members, at: { ...at, file } } : members);
  named.loader = fault.loader;
  return named;
}

/**
 * Reads message and position from an error of V8 or of the stripper. Both write the position only before the stack: as
 * `name:line`, the line itself, and a caret below it.
 *
 * @param text The submitted text.
 * @param prefix The text that a wrapper added before the first line.
 */
export function syntaxFailure(error: unknown, text: string, prefix: string): SyntaxFailure {
  const { message, stack } = error as { message: string; stack: unknown };
  // A task can make `stack` something other than a string.
  const shown = (typeof stack === "string" ? stack : "").split("\n");
  const line = Number(/:(\d+)$/.exec(shown[0]!)?.[1]);
  if (!line) return { message, position: null };
  const lines = text.split("\n");
  const submitted = lines[line - 1];
  // The fault lies in the wrapper's own closing line: the text ended too early.
  if (submitted === undefined) return endOfText(lines);
  // The stripper shows some lines around the faulty line. V8 shows one line, and no caret for a fault at the end of the text.
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

/** Whether the position of `a` is behind that of `b`. */
export function isFurther(a: SyntaxFailure, b: SyntaxFailure): boolean {
  if (!a.position || !b.position) return false;
  return (
    a.position.line > b.position.line || (a.position.line === b.position.line && a.position.column > b.position.column)
  );
}

/** Returns the number of characters before a position. */
export function offsetOf(text: string, { line, column }: SourcePosition): number {
  let start = 0;
  for (let count = 1; count < line; count += 1) start = text.indexOf("\n", start) + 1;
  return start + column - 1;
}
