import { printable } from "./source-names.ts";

/** A position in a text; both members count from 1. */
export interface SourcePosition {
  readonly line: number;
  readonly column: number;
}

/** The lines shown before and after a position. */
const CONTEXT_LINES = 2;
/** The longest part of a line that is shown. Lines of minified code are longer. Five of them stay below 2 KiB of UTF-8. */
const MAX_SHOWN = 100;
const TAB = "  ";
/** The line ends of JavaScript, which V8 counts. */
const LINE_END = /\r\n|[\n\r\u2028\u2029]/g;

/**
 * Returns the lines around a position, with their numbers and a `^` below the position, or null if the text has no such line.
 *
 * ```text
 *   2 | const user = undefined;
 * > 3 | return user.name;
 *     |             ^
 *   4 | }
 * ```
 */
export function codeFrame(text: string, { line, column }: SourcePosition): string | null {
  const first = Math.max(1, line - CONTEXT_LINES);
  const lines = linesOf(text, first, line + CONTEXT_LINES);
  const faulty = lines[line - first];
  if (faulty === undefined) return null;
  const at = Math.min(column - 1, faulty.length);
  const from =
    faulty.length <= MAX_SHOWN ? 0 : Math.max(0, Math.min(at - MAX_SHOWN / 2, faulty.length - MAX_SHOWN + 1));
  const width = String(first + lines.length - 1).length;
  let frame = "";
  for (let index = 0; index < lines.length; index += 1) {
    const number = first + index;
    const mark = number === line ? ">" : " ";
    frame += `${mark} ${String(number).padStart(width)} | ${shown(lines[index]!, from, from + MAX_SHOWN)}`.trimEnd();
    frame += "\n";
    if (number === line) frame += `  ${" ".repeat(width)} | ${" ".repeat(shown(faulty, from, at).length)}^\n`;
  }
  return frame.slice(0, -1);
}

/** Returns the given lines without their ends. They are found one after the other: a list of all lines would take memory. */
function linesOf(text: string, first: number, last: number): string[] {
  const lines: string[] = [];
  LINE_END.lastIndex = 0;
  for (let line = 1, start = 0; line <= last; line += 1) {
    const end = LINE_END.exec(text);
    if (line >= first) lines[lines.length] = text.slice(start, end ? end.index : text.length);
    if (!end) break;
    start = LINE_END.lastIndex;
  }
  return lines;
}

/** Returns a part of a line. An ellipsis stands for its first and last character if the line is longer on that side. */
function shown(line: string, from: number, to: number): string {
  const part = line.slice(from, to);
  const start = from > 0 && part !== "" ? `…${part.slice(1)}` : part;
  const cut = to - from === MAX_SHOWN && line.length > to ? `${start.slice(0, -1)}…` : start;
  return printable(cut.replaceAll("\t", TAB), " ");
}
