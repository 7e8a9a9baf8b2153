import { Problem } from "../../errors.ts";
import { formatDuration } from "../../units.ts";
import type { GuestRun } from "../guest/guest-run.ts";
import type { Guest } from "../guest/guest.ts";
import { unansweredHint } from "../guest/unanswered.ts";
import { COMPUTING_HINT } from "./blocked-run.ts";
import { endComputing, isComputing, isSilent } from "./end-computing.ts";

export interface RunDeadlines {
  readonly wallMs: number;
  readonly streamMs: number;
}

/**
 * Ends each run whose deadline has passed. After the limit for all runs its guest takes no new run, because what the run
 * left behind is still there. A guest that computes for its only run ends with it.
 */
export function expireRuns(guest: Guest, nowMs: number, deadlines: RunDeadlines): void {
  for (const [id, guestRun] of guest.inFlight) {
    if (guestRun.deadlineMs > nowMs) continue;
    const problem = timeoutOf(guestRun, deadlines, isSilent(guest, nowMs), waitOf(guest));
    const giveUp = (): void =>
      guestRun.timeoutMs === null ? guest.expire(id, problem) : guest.inFlight.giveUp(id, problem);
    if (isComputing(guest, guestRun, nowMs)) void endComputing(guest, id, guestRun, problem, giveUp);
    else giveUp();
  }
}

/**
 * @param silent whether the guest has not answered for a moment, and has no other run
 * @param wait what the run has probably waited for, as a sentence
 */
function timeoutOf(guestRun: GuestRun, { wallMs, streamMs }: RunDeadlines, silent: boolean, wait: string): Problem {
  if (guestRun.answered) {
    return new Problem(
      "task_timeout",
      "the work that the task passed to waitUntil did not end by the deadline of its run",
      {
        hint: "Pass less work to waitUntil, or let the run take longer: its timeout, or --wall-limit of the operator.",
      },
    );
  }
  const hint = unansweredHint(guestRun);
  const own = guestRun.timeoutMs;
  const what = guestRun.streaming
    ? /^(?:response|three)$/.test(guestRun.code.answersBy)
      ? `the task began its answer, and did not end it within ${formatDuration(own ?? streamMs)}`
      : `the result was still streaming after ${formatDuration(own ?? streamMs)}`
    : `the task gave no result within ${formatDuration(own ?? wallMs)}${own === null ? "" : ", the timeout of this run"}`;
  return new Problem("task_timeout", what, {
    hint: hint ?? (silent ? `${COMPUTING_HINT} Or set a longer timeout.` : fixOf(guestRun, wait)),
  });
}

function fixOf({ timeoutMs, streaming }: GuestRun, wait: string): string {
  if (timeoutMs !== null)
    return `The timeout was set by the request, the task or the token: set a longer one, or do less in one run. ${wait}`;
  if (streaming) return "Send less in one run, or ask the operator to raise --stream-limit.";
  return `Do less in one run, stream the result, or ask the operator to raise --wall-limit. ${wait}`;
}

/** Returns what the only run of a guest has probably waited for. Connections of other runs are not separated from its own. */
function waitOf({ inFlight, gateway }: Guest): string {
  if (inFlight.size !== 1) return NEVER;
  return gateway.isIdle ? NO_CONNECTION : CONNECTION;
}

const NEVER = "Perhaps a promise never settles, or an interval is never cleared.";
const NO_CONNECTION =
  "No connection was open, so the run waited for a timer, an interval that is never cleared, or a promise that never settles.";
const CONNECTION =
  "A connection was open: perhaps its server did not answer. fetch(url, { signal: AbortSignal.timeout(ms) }) fails after a time that you choose.";
