import { Problem } from "../../errors.ts";
import { formatDuration } from "../../units.ts";
import type { GuestRun } from "../guest/guest-run.ts";
import type { Guest } from "../guest/guest.ts";

export interface RunDeadlines {
  readonly wallMs: number;
  readonly streamMs: number;
}

/**
 * Ends each run whose deadline has passed. After the limit for all runs its guest takes no new run, because what the run
 * left behind is still there.
 */
export function expireRuns(guest: Guest, nowMs: number, deadlines: RunDeadlines): void {
  for (const [id, guestRun] of guest.inFlight) {
    if (guestRun.deadlineMs > nowMs) continue;
    const problem = timeoutOf(guestRun, deadlines);
    if (guestRun.timeoutMs === null) guest.expire(id, problem);
    else guest.giveUp(id, problem);
  }
}

function timeoutOf(guestRun: GuestRun, { wallMs, streamMs }: RunDeadlines): Problem {
  if (guestRun.answered) {
    return new Problem(
      "task_timeout",
      "the work that the task passed to waitUntil did not end by the deadline of its run",
    );
  }
  const hint = hintOf(guestRun);
  const own = guestRun.timeoutMs;
  const what = guestRun.streaming
    ? `the result was still streaming after ${formatDuration(own ?? streamMs)}`
    : `the task gave no result within ${formatDuration(own ?? wallMs)}${own === null ? "" : ", the timeout of this run"}`;
  return new Problem("task_timeout", what, hint === null ? {} : { hint });
}

/** Returns the most frequent reason why code of this form gives no answer, or null. */
function hintOf({ code, streaming }: GuestRun): string | null {
  if (code.answersBy === "response") {
    return streaming
      ? "A function of (context, req, res) ends its answer with res.end(). Perhaps res.end() was never called."
      : "res.end() was never called. A function of (context, req, res) must call it on every path.";
  }
  if (code.answersBy !== "callback" || streaming) return null;
  return "cb was never called, or was called with a promise that does not settle. A function of (cb) or (context, cb) must call cb(error, result) on every path. A Node handler has three parameters, (context, req, res).";
}
