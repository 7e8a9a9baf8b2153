import { contextOf } from "../context.ts";
import { answer } from "../result.ts";
import type { Shape, Submitted } from "./shape.ts";

/** The shape of a function whose returned value is the result. */
export function valueShape(fn: Submitted, needsContext: boolean): Shape {
  return {
    needsContext,
    answersBy: "value",
    run: needsContext ? (run) => answer(run, fn(contextOf(run))) : (run) => answer(run, fn()),
  };
}
