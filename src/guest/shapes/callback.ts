import { contextOf } from "../context.ts";
import { calledBackFault, threwFault } from "../faults.ts";
import { isThenable, whenSettled } from "../promises.ts";
import { answer } from "../result.ts";
import type { Shape, Submitted } from "./shape.ts";

/** The shape of a function that answers through a callback, error first. */
export function callbackShape(fn: Submitted, needsContext: boolean): Shape {
  return {
    needsContext,
    answersBy: "callback",
    run: (run) => {
      let answered = false;
      const callback = (error: unknown, value: unknown): void => {
        if (answered) return;
        answered = true;
        if (error) run.fault(calledBackFault(error));
        else answer(run, value);
      };
      const returned = needsContext ? fn(contextOf(run), callback) : fn(callback);
      if (!isThenable(returned)) return;
      whenSettled(
        returned,
        // A promise of undefined is not an answer: an async function that answers by its callback returns it too.
        (value) => {
          if (value !== undefined) callback(null, value);
        },
        (error) => {
          if (answered) return;
          answered = true;
          run.fault(threwFault(error));
        },
      );
    },
  };
}
