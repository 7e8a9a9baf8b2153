import { diff } from "node:util";

/** The most lines that are compared: the time grows with the lines times the changes. */
const MAX_LINES = 4_000;
/** The lines around a change that are shown. */
const CONTEXT = 2;
const MARKS: Readonly<Record<string, string>> = { "-1": "+", "0": " ", "1": "-" };

/** Returns the changed lines of a text with the lines around them, each with `+`, `-` or a space before it. */
export function lineDiff(before: string, after: string): string[] {
  const old = before.trimEnd().split("\n");
  const now = after.trimEnd().split("\n");
  if (old.length + now.length > MAX_LINES) return [`(${old.length} lines become ${now.length} lines)`];
  // Node names what must be done to get the first text from the second one.
  const all = diff(old, now).map(([operation, line]) => ({ mark: MARKS[String(operation)]!, line }));
  const shown = new Set<number>();
  for (const [at, { mark }] of all.entries()) {
    if (mark === " ") continue;
    for (let near = at - CONTEXT; near <= at + CONTEXT; near++) shown.add(near);
  }
  const lines: string[] = [];
  for (const [at, { mark, line }] of all.entries()) {
    if (shown.has(at)) lines.push(`${mark} ${line}`.trimEnd());
    else if (shown.has(at - 1) && at < all.length - 1) lines.push("...");
  }
  return lines;
}
