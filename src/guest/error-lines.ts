import type { FaultMessage } from "../wire/messages.ts";

/** The lines in front of an error that are looked at: a condition and its brace. */
const LINES_BEFORE = 2;

/** Returns the line of an error in the text of the code, with the lines in front of it; an empty text if its position is not known. */
export function linesOf(text: string, { at }: FaultMessage): string {
  if (!at || !/^task\.[jt]s$/.test(at.file)) return "";
  const lines = text.split("\n");
  return lines.slice(Math.max(0, at.line - 1 - LINES_BEFORE), at.line).join("\n");
}
