import type { SourcePosition } from "./code-frame.ts";
import { packageModuleAt } from "./package-frames.ts";
import { safeMap } from "./safe-map.ts";

/** A position in a stack. It is in a text of the code with this id: `task.js`, `task.ts`, or the name of a module. */
export interface StackPosition extends SourcePosition {
  readonly codeId: number;
  readonly name: string;
}

/** Returns what a reader sees of a position, such as `task.js:1:2`. */
export type ShowPosition = (position: StackPosition) => string;

/** Matches a position: `task:/<code>.<attempt>/<name>:<line>:<column>`. The lengths keep a search in any text linear. */
const POSITION = String.raw`task:/(\d{1,10})(?:\.\d{1,10})?/(\S{1,255}?):(\d{1,9})(?::(-?\d{1,9}))?(?!\d)`;
const POSITIONS = new RegExp(POSITION, "g");
/** Matches a position in an artefact of packages. */
const PACKAGE_POSITIONS = /package:\/(\d{1,10}):(\d{1,9})(?::\d{1,9})?(?!\d)/g;
const FRAME = new RegExp(String.raw`^\s+at .*?${POSITION}`);

/** The start of each expression, by code id, if it is not the start of the text. */
const starts = safeMap<number, SourcePosition>();

/** @param lead The number of characters before the expression: white space, comments and semicolons. */
export function noteStart(codeId: number, text: string, lead: number): void {
  if (lead === 0) return;
  const before = text.slice(0, lead).split("\n");
  starts.set(codeId, { line: before.length, column: before.at(-1)!.length + 1 });
}

/** The columns that an inserted `return` has moved, by code id. */
const shifts = safeMap<number, SourcePosition & { readonly by: number }>();

/** @param at the offset in the text from which on the characters of its line have moved. @param by the number of columns */
export function noteShift(codeId: number, text: string, at: number, by: number): void {
  const before = text.slice(0, at).split("\n");
  shifts.set(codeId, { line: before.length, column: before[before.length - 1]!.length + 1, by });
}

export function forgetStart(codeId: number): void {
  starts.delete(codeId);
  shifts.delete(codeId);
}

/** Rewrites a text as the author of the code sees it: positions, and the URLs `task:/<code>/<name>` of its modules. */
export function asSubmitted(text: string, show: ShowPosition = showPlain): string {
  return withPositions(text, show).replace(/task:\/[\d.]+\//g, "");
}

/** Rewrites only the positions in a text. Positions in packages become the names of their modules. */
export function withPositions(text: string, show: ShowPosition = showPlain): string {
  const named = text.includes("package:/")
    ? text.replace(PACKAGE_POSITIONS, (_, id: string, line: string) => packageModuleAt(Number(id), Number(line)))
    : text;
  return named.replace(POSITIONS, (_, id: string, name: string, line: string, column: string | undefined) =>
    column === undefined ? `${name}:${line}` : show(positionOf(id, name, line, column)),
  );
}

/** Returns the position of the first frame of a stack that is in a text of this code. */
export function topPosition(stack: string, codeId: number): StackPosition | null {
  const lines = stack.split("\n");
  for (let index = 0; index < lines.length; index += 1) {
    const [, id, name, line, column] = FRAME.exec(lines[index]!) ?? [];
    if (column !== undefined && Number(id) === codeId) return positionOf(id!, name!, line!, column);
  }
  return null;
}

export function showPlain({ name, line, column }: StackPosition): string {
  return `${name}:${line}:${column}`;
}

/**
 * For some faults of an expression, mostly an unknown name at its start, V8 gives the position of the `return` that the
 * wrapper added: a column below 1. It becomes the start of the expression.
 */
function positionOf(id: string, name: string, line: string, column: string): StackPosition {
  const codeId = Number(id);
  const position = unshifted({ codeId, name, line: Number(line), column: Number(column) });
  if (position.column > 0) return position;
  const start = position.line === 1 ? starts.get(codeId) : undefined;
  return { ...position, line: start?.line ?? Math.max(1, position.line), column: start?.column ?? 1 };
}

function unshifted(position: StackPosition): StackPosition {
  const shift = shifts.get(position.codeId);
  const { name, line, column } = position;
  if (!shift || line !== shift.line || column <= shift.column || !/^task\.[jt]s$/.test(name)) return position;
  return { ...position, column: Math.max(shift.column, column - shift.by) };
}
