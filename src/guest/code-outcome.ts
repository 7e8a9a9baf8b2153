import { CodeFault } from "./faults.ts";
import type { Evaluation } from "./parsed-code.ts";
import { isThenable } from "./promises.ts";
import { tokensOf } from "./scan-tokens.ts";
import { fetchShape, isFetchHandler } from "./shapes/fetch.ts";
import { classHint, functionShape } from "./shapes/function.ts";
import type { Shape } from "./shapes/shape.ts";

/** The outcome of an evaluation: a shape to call, or the result itself. */
export type Outcome = { shape: Shape } | { shape: null; result: unknown };

/**
 * Determines the outcome: `module.exports` if the code replaced or filled it, then a default export, otherwise the value.
 *
 * @param value The evaluation's value, settled.
 * @throws {CodeFault} `code_shape`.
 */
export function outcomeOf(evaluation: Evaluation, value: unknown): Outcome {
  if (!evaluation.module) return isEmpty(value) ? { shape: null, result: undefined } : ofExport(value);
  const { exports } = evaluation.module;
  if (exports !== evaluation.exports || !isEmpty(exports)) return ofExport(exports);
  return ofHandler(value) ?? { shape: null, result: value };
}

/** What an export may begin with if it has a name. */
const NAMED = /^(?:const|let|var|function|async|class|\{)$/;
/** Words of code that may have a handler under another name. */
const HANDLES = /^(?:default|fetch|exports)$/;

/**
 * Returns the fault of a module whose every run would fail, because it exports names only, and none of them is a handler; null if its
 * text does not show that. Never throws.
 */
export function withoutHandler(text: string): CodeFault | null {
  try {
    const tokens = tokensOf(text);
    if (!tokens) return null;
    let name: string | null = null;
    for (let index = 0; index < tokens.length; index += 1) {
      const { kind, text: word, depth, startsLine } = tokens[index]!;
      if (kind === "word" && HANDLES.test(word)) return null;
      if (depth !== 0 || word !== "export" || !startsLine) continue;
      const next = tokens[index + 1]?.text ?? "";
      if (!NAMED.test(next)) return null;
      name ??= next;
    }
    return name === null
      ? null
      : new CodeFault("code_shape", "the code exports names, and no default", { hint: NO_DEFAULT });
  } catch {
    // A task has replaced a method of texts or patterns.
    return null;
  }
}

const NO_DEFAULT =
  "Add a default export that a run calls: `export default (context) => value`, or an object with fetch(request, env, ctx).";

function isEmpty(exports: unknown): boolean {
  // All keys: `__esModule` is often not enumerable.
  return Reflect.ownKeys(exports as object).every((key) => key === Symbol.toStringTag);
}

function ofExport(exported: unknown): Outcome {
  // A transpiled module exports `{ __esModule, default }`. An ES module that imports it wraps it in another `default`.
  const first = hasDefault(exported) ? exported.default : exported;
  const main = hasDefault(first) && "__esModule" in first ? first.default : first;
  const outcome = ofHandler(main);
  if (outcome) return outcome;
  if (typeof main !== "object" || main === null || isThenable(main)) return { shape: null, result: main };
  throw shapeFault(main);
}

const NO_SERVER =
  "No client can connect to a task: export default { fetch(request) { ... } }, or export the listener with three parameters, (context, req, res).";

/** Makes the fault for an object without a shape. Other runtimes call exports by name; the hint shows the form for caisson. */
function shapeFault(main: object): CodeFault {
  const name = Object.keys(main).find((key) => /^[\w$]{1,64}$/.test(key) && isFunction(main, key));
  if (name !== undefined && isClass(main, name)) {
    const detail = `the code exports the class ${name}, and a run needs something to call`;
    return new CodeFault("code_shape", detail, { hint: classHint((main as Record<string, object>)[name]!) });
  }
  if (isFunction(main, "listen") && isFunction(main, "on")) {
    throw new CodeFault("code_shape", "the code exports a server", { hint: NO_SERVER });
  }
  const more = name === undefined ? "" : `, but with ${name}`;
  const other = name === undefined ? undefined : otherHandler(name);
  if (other !== undefined) {
    return new CodeFault("code_shape", `the code exports an object without a fetch function${more}`, { hint: other });
  }
  const hint =
    name === undefined
      ? "Export a function, or an object with fetch(request, env, ctx)."
      : /^(?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS)$/.test(name)
        ? `One function answers all methods, and receives a request only as fetch: \`export default { fetch: ${name} }\`; request.method names the method.`
        : parametersOf(main, name) === 3
          ? `Export one function. A function that calls back has two parameters: \`module.exports = (context, callback) => ${name}(context, context, callback)\`.`
          : `Export a function, or an object with fetch(request, env, ctx): for example \`export default async function ${name}(context) { ... }\` instead of the object, or \`module.exports = module.exports.${name}\` at the end of CommonJS.`;
  return new CodeFault("code_shape", `the code exports an object without a fetch function${more}`, { hint });
}

/** Returns the hint for a handler of other services, or undefined. */
function otherHandler(name: string): string | undefined {
  if (name.toLowerCase() === "fetch") return `Rename ${name} to fetch: the name is in lower case.`;
  if (/^(?:scheduled|cron)$/.test(name))
    return "The service has no schedule: export a function, and let cron call /api/run/{container}/{name}.";
  return /^(?:queue|email|tail|alarm)$/.test(name)
    ? `The service has no ${name} events: export a function, or an object with fetch(request, env, ctx).`
    : undefined;
}

function parametersOf(main: object, key: string): number {
  return (main as Record<string, { readonly length: number }>)[key]!.length;
}

function isClass(main: object, key: string): boolean {
  return /^class\b/.test(String((main as Record<string, unknown>)[key]));
}

function isFunction(main: object, key: string): boolean {
  return typeof (main as Record<string, unknown>)[key] === "function";
}

function ofHandler(value: unknown): Outcome | null {
  if (typeof value === "function") return { shape: functionShape(value) };
  return isFetchHandler(value) ? { shape: fetchShape(value) } : null;
}

function hasDefault(value: unknown): value is { default: unknown } {
  return typeof value === "object" && value !== null && "default" in value;
}
