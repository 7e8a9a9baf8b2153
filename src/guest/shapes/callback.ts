import { contextOf } from "../context.ts";
import { calledBackFault, threwFault } from "../faults.ts";
import { isThenable, whenSettled } from "../promises.ts";
import { answer } from "../result.ts";
import type { Shape, Submitted } from "./shape.ts";

/** A function that answers through a callback, error first. */
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
        // A promise of nothing is that of a function which still calls back: it is no answer.
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
