import { Problem } from "../../errors.ts";
import { formatDuration } from "../../units.ts";
import type { GuestRun } from "../guest/guest-run.ts";
import type { Guest } from "../guest/guest.ts";

export interface RunDeadlines {
  readonly wallMs: number;
  readonly streamMs: number;
}

/** Ends each run whose deadline has passed. Its guest takes no new run, because what the run left behind is still there. */
export function expireRuns(guest: Guest, nowMs: number, deadlines: RunDeadlines): void {
  for (const [id, guestRun] of guest.inFlight) {
    if (guestRun.deadlineMs <= nowMs) guest.expire(id, timeoutOf(guestRun, deadlines));
  }
}

function timeoutOf(guestRun: GuestRun, { wallMs, streamMs }: RunDeadlines): Problem {
  if (guestRun.answered) {
    return new Problem("task_timeout", "what the task gave to waitUntil was not over by the deadline of its run");
  }
  const hint = hintOf(guestRun);
  const what = guestRun.streaming
    ? `the result was still streaming after ${formatDuration(streamMs)}`
    : `the task gave no result within ${formatDuration(wallMs)}`;
  return new Problem("task_timeout", what, hint === null ? {} : { hint });
}

/** The most frequent reason why code of this form gives no answer. */
function hintOf({ code, streaming }: GuestRun): string | null {
  if (code.answersBy === "response") {
    return streaming
      ? "A function of (context, req, res) has answered when it calls res.end(): perhaps that was never called."
      : "res.end() was never called: a function of (context, req, res) answers by it, on every path.";
  }
  if (code.answersBy === "value" || streaming) return null;
  return "cb was never called, or with a promise that does not settle: a function of (cb) or (context, cb) answers by cb(error, result), on every path. A Node handler has three parameters, (context, req, res).";
}
