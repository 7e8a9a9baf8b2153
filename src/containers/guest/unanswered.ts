import { Problem } from "../../errors.ts";
import type { GuestRun } from "./guest-run.ts";

/** Returns the problem of a run that nothing in its guest can ever end. */
export function stalledProblem(guestRun: GuestRun): Problem {
  const detail =
    "the task waits, and nothing is left that could end the wait: no timer, no connection and no other work";
  return new Problem("task_stalled", detail, { hint: unansweredHint(guestRun) ?? HINT });
}

const HINT =
  "A promise never settles. Perhaps resolve is never called, or an event never occurs. A task has no stdin: its input comes with the request.";

const THREE =
  "A function of three parameters is called as a Node handler, (context, req, res), which answers with res.end(). A function that returns its result has one parameter, (context): code that is only a function with other parameters must also call it, as in return total(1, 2, 3).";

/** Returns the most frequent reason why code of this form gives no answer, or null. */
export function unansweredHint({ code, streaming }: GuestRun): string | null {
  if (code.answersBy === "response") {
    return streaming
      ? "A function of (context, req, res) ends its answer with res.end(). Perhaps res.end() was never called."
      : "res.end() was never called. A function of (context, req, res) must call it on every path.";
  }
  if (code.answersBy === "three" && !streaming) return THREE;
  if (code.answersBy !== "callback" || streaming) return null;
  return "cb was never called, or was called with a promise that does not settle. A function of (cb) or (context, cb) must call cb(error, result) on every path. A function that returns its result has one parameter, (context): code that is only a function with other parameters must also call it, as in return add(1, 2). A Node handler has three parameters, (context, req, res).";
}
