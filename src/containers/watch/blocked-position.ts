import type { TaskPosition } from "../../errors.ts";

/** A frame of a text of a task in a stack that V8 prints: the id of the code, the name of the text, line and column. */
const FRAME =
  /^ {4}at (?:[^\n]{0,1000} \()?task:\/(\d{1,10})(?:\.\d{1,10})?\/([\w./@-]{1,128}):(\d{1,9}):(\d{1,9})\)?$/gm;

/**
 * Returns the position in a code at which a guest was interrupted, or null.
 *
 * @param stack the printed stack. A task can forge it, which changes only what its own isolation group receives.
 */
export function blockedPosition(stack: string, codeId: number): TaskPosition | null {
  for (const [, id, file, line, column] of stack.matchAll(FRAME)) {
    if (Number(id) !== codeId) continue;
    return { file: file!, line: Math.max(1, Number(line)), column: Math.max(1, Number(column)), frame: null };
  }
  return null;
}
