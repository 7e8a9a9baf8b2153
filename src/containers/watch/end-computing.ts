import { Problem } from "../../errors.ts";
import type { GuestRun } from "../guest/guest-run.ts";
import type { Guest } from "../guest/guest.ts";
import { blockedRun, COMPUTING_HINT, interruptedAt, lineText } from "./blocked-run.ts";

/** What else is possible if the guest was executing no line of the code: it may have been given little processor time. */
const SLOW = "Or a first fetch, or a busy machine, took the time: set a longer timeout.";

/** Runs of which the end has begun. */
const ending = new WeakSet<GuestRun>();

/** A guest that computes for its only run has not answered for this long. Most answers take a millisecond. */
const SILENT_MS = 100;

export function isSilent(guest: Guest, nowMs: number): boolean {
  const { pingedMs } = guest.heartbeat;
  return guest.inFlight.size === 1 && pingedMs !== null && nowMs - pingedMs >= SILENT_MS;
}

/**
 * Whether a guest probably computes without a pause for its only run. Other runs must not end with the guest, and a run that has
 * computed for a moment only must not cost one.
 */
export function isComputing(guest: Guest, guestRun: GuestRun, nowMs: number): boolean {
  return guest.inFlight.size === 1 && !guestRun.answered && guest.heartbeat.isOverdue(nowMs);
}

/**
 * Ends a run past its deadline and the guest that computes for it, so that the answer has the line that the guest was executing.
 * The code would use the processor until the block limit otherwise.
 *
 * @param problem the answer without the line
 * @param giveUp ends the run if the guest does not compute for it
 */
export async function endComputing(
  guest: Guest,
  id: number,
  guestRun: GuestRun,
  problem: Problem,
  giveUp: () => void,
): Promise<void> {
  if (ending.has(guestRun)) return;
  ending.add(guestRun);
  const status = await guest.process.inspect();
  const isOpen = (): boolean => !guest.ended && guest.inFlight.get(id) === guestRun;
  if (!isOpen()) return;
  const mayEnd = guest.inFlight.size === 1 && guest.heartbeat.pingedMs !== null;
  if (!mayEnd || status?.state !== "R" || blockedRun(guest, status.title) !== id) return giveUp();
  const at = await interruptedAt(guest, id, status);
  const what = at === null ? "it did not let its event loop turn" : `it computed without a pause${lineText(at)}`;
  const hint = at === null ? `${COMPUTING_HINT} ${SLOW}` : COMPUTING_HINT;
  const cause = new Problem(problem.code, `${problem.message}: ${what}`, {
    ...problem.options,
    hint,
    ...(at && { at }),
  });
  guest.crash(new Problem("container_restarted", "another run blocked the container past its deadline"), { id, cause });
}
