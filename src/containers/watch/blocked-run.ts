import type { TaskPosition } from "../../errors.ts";
import type { GuestStatus } from "../../sandbox/sandbox.ts";
import type { Guest } from "../guest/guest.ts";

/** What the kernel reports of a guest that does not answer. A task can forge its title. */
export type BlockedStatus = Pick<GuestStatus, "title" | "state" | "memoryBytes">;

/** The fix for code that computes without a pause. */
export const COMPUTING_HINT =
  "Perhaps a loop never ends. Otherwise give the event loop a turn in long loops: await new Promise(setImmediate).";

/** A frame of a text of a task in a stack that V8 prints: the id of the code, the name of the text, line and column. */
const FRAME =
  /^ {4}at (?:[^\n]{0,1000} \()?task:\/(\d{1,10})(?:\.\d{1,10})?\/([\w./@-]{1,128}):(\d{1,9}):(\d{1,9})\)?$/gm;

/** Returns the run that the guest names in its title (`r` and the id in base 36), or its only run, or null. */
export function blockedRun(guest: Guest, title: string): number | null {
  const entered = /^r([0-9a-z]{1,7})$/.exec(title);
  const id = entered ? Number.parseInt(entered[1]!, 36) : Number.NaN;
  return guest.inFlight.get(id) ? id : guest.inFlight.only;
}

/**
 * Interrupts a guest that does not answer, and returns the position that it was executing; null if that is not known. The guest
 * must be ended then.
 */
export async function interruptedAt(guest: Guest, run: number, { state }: BlockedStatus): Promise<TaskPosition | null> {
  // The frames are named by the code, so another run of the guest cannot be meant by mistake.
  const codeId = guest.inFlight.get(run)?.code.id;
  // A guest that sleeps cannot print its stack.
  const mayPrint = state === "R" && codeId !== undefined;
  return mayPrint ? blockedPosition(await guest.interrupt(), codeId) : null;
}

/** Returns a position as the end of a sentence. */
export function lineText(at: TaskPosition | null): string {
  return at === null ? "" : `, in line ${at.line}${/^task\.[jt]s$/.test(at.file) ? "" : ` of ${at.file}`}`;
}

/**
 * Returns the position in a code at which a guest was interrupted, or null.
 *
 * @param stack the printed stack. A task can forge it, which changes only what its own isolation group receives.
 */
function blockedPosition(stack: string, codeId: number): TaskPosition | null {
  for (const [, id, file, line, column] of stack.matchAll(FRAME)) {
    if (Number(id) !== codeId) continue;
    return { file: file!, line: Math.max(1, Number(line)), column: Math.max(1, Number(column)), frame: null };
  }
  return null;
}
