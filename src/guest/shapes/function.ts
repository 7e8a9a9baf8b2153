import { types } from "node:util";

import { uncurry } from "../../wire/uncurry.ts";
import { contextOf } from "../context.ts";
import { CodeFault } from "../faults.ts";
import { missingReturn } from "../missing-return.ts";
import { answer } from "../result.ts";
import { unreturnedArrow } from "../unreturned.ts";
import { callbackShape } from "./callback.ts";
import { mistakeHint } from "./mistakes.ts";
import { nodeShape } from "./node.ts";
import { firstParameter, parameterList } from "./parameters.ts";
import type { Shape, Submitted } from "./shape.ts";

const MAX_PARAMETERS = 3;
const { isAsyncFunction, isGeneratorFunction } = types;
const sourceOf = uncurry(Function.prototype as { toString: () => string }, "toString");
const { getOwnPropertyNames: ownNames } = Object;
const IDENTIFIER = /^[A-Za-z_$][\w$]{0,63}$/;
const CALLBACK_NAMES = ["cb", "callback", "done", "next"];

/**
 * Determines the shape of a function from its parameters. They are counted as in `length`: up to the first default or rest
 * parameter, because only these are required.
 *
 * @throws {CodeFault} `code_shape` for a class and for more than 3 parameters.
 */
export function functionShape(value: object): Shape {
  const fn = value as Submitted;
  const source = sourceOf(fn);
  if (/^class\b/.test(source)) {
    throw new CodeFault("code_shape", "the code is a class, and a run needs something to call", {
      hint: classHint(fn),
    });
  }
  const parameters = fn.length;
  if (parameters > MAX_PARAMETERS) {
    throw new CodeFault(
      "code_shape",
      `the function takes ${parameters} parameters; a run passes at most ${MAX_PARAMETERS}`,
      {
        hint: "Use (context), (context, cb) or (context, req, res).",
      },
    );
  }
  return { ...shapeOf(fn, source), hintOf: (fault) => mistakeHint(fn, fault) };
}

/** Returns the hint for a class: a function that uses it, by its own name and that of its first method. */
export function classHint(fn: object): string {
  const { name, prototype } = fn as { readonly name: unknown; readonly prototype: object };
  const methods = ownNames(prototype).filter((method) => method !== "constructor" && IDENTIFIER.test(method));
  const own = typeof name === "string" && IDENTIFIER.test(name) && name !== "default" ? name : "Name";
  if (methods.includes("fetch")) return `Export an instance: export default new ${own}().`;
  return `Export a function that uses the class: export default (context) => new ${own}().${methods[0] ?? "method"}(context).`;
}

function shapeOf(fn: Submitted, source: string): Shape {
  const parameters = fn.length;
  if (parameters === 0) return valueShape(fn, mayReadArguments(source));
  if (isAsyncFunction(fn) || isGeneratorFunction(fn)) return valueShape(fn, true);
  if (parameters === 3) return nodeShape(fn, source);
  if (parameters === 2) {
    if (isBuiltIn(fn, source)) throw builtInFault(fn);
    return callbackShape(fn, true);
  }
  return CALLBACK_NAMES.includes(firstParameter(source)) ? callbackShape(fn, false) : valueShape(fn, true);
}

/** Whether it is a function of JavaScript or Node. The source of a bound function looks so, too, and its name begins with "bound". */
function isBuiltIn(fn: Submitted, source: string): boolean {
  return source.endsWith("{ [native code] }") && !nameOf(fn).startsWith("bound ");
}

function builtInFault(fn: Submitted): CodeFault {
  const name = IDENTIFIER.test(nameOf(fn)) ? nameOf(fn) : "a function";
  return new CodeFault("code_shape", `the result is the built-in function ${name}, which takes no callback`, {
    hint: "Call it with its arguments, as in return Math.max(1, 2) instead of return Math.max.",
  });
}

function nameOf(fn: object): string {
  const { name } = fn as { readonly name: unknown };
  return typeof name === "string" ? name : "";
}

/** Whether a function of `length` 0 may still read the context: through a default, a rest parameter or `arguments`. */
function mayReadArguments(source: string): boolean {
  if (/\barguments\b|\[native code\]/.test(source)) return true;
  const list = parameterList(source);
  return list === null || /[^\s]/.test(list.slice(0, list.indexOf(")")));
}

/** The shape of a function whose returned value is the result. */
function valueShape(fn: Submitted, needsContext: boolean): Shape {
  let unreturned: ReturnType<typeof unreturnedArrow> | undefined;
  let returns: ReturnType<typeof missingReturn> | undefined;
  return {
    needsContext,
    answersBy: "value",
    unreturned: () => (unreturned === undefined ? (unreturned = unreturnedArrow(sourceOf(fn))) : unreturned),
    returns: () => (returns === undefined ? (returns = missingReturn(sourceOf(fn))) : returns),
    run: needsContext ? (run) => answer(run, fn(contextOf(run))) : (run) => answer(run, fn()),
  };
}
