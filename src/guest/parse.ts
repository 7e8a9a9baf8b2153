import vm from "node:vm";

import { type SyntaxFailure, syntaxFailure } from "./syntax.ts";

/** What a text is compiled to: called with `module`, `exports` and `require` in scope. */
export type Compiled = (this: unknown, module: object, exports: object, require: unknown) => unknown;

const PARAMETERS = ["module", "exports", "require"];
/** What V8 says of a `return` outside of functions. */
export const ILLEGAL_RETURN = "Illegal return statement";
const ASYNC_HEAD = `(async function (${PARAMETERS.join(", ")}) {`;
const ASYNC_TAIL = "\n})";
const { compileFunction, Script } = vm;
const AsyncFunction = (async () => {}).constructor as FunctionConstructor;
/** `import()` in a task goes the way of every other import, through the module hooks. */
const importModuleDynamically = vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER;

/** Compiles the text as one expression. The newline before the bracket ends a comment at the end of the text. */
export function parseExpression(text: string, filename: string): Compiled | SyntaxFailure {
  const parsed = parseFunction("return (", text, "\n)", filename);
  if (typeof parsed === "function" && !isWhole(text)) return { message: "Unexpected token ')'", position: null };
  return parsed;
}

/** Compiles the text as the body of a function, an async one when it awaits. */
export function parseBody(text: string, filename: string): Compiled | SyntaxFailure {
  return parseFunction("", text, "", filename);
}

/** Compiles what is left of a module without its imports and exports, in the strict mode of modules, to see whether it parses. */
export function parseModuleBody(text: string): Compiled | SyntaxFailure {
  // A block, because a module may declare the names that are parameters here.
  return parseFunction('"use strict";{', text, "\n}", "module.js");
}

/** Where a module returns, outside of all functions. The module itself tells no place, and as a function's body it may return. */
export function returnOfModule(text: string): SyntaxFailure | null {
  const prefix = '"use strict";{';
  // A script awaits nothing.
  const script = text.replace(/\bawait\b/g, (word, at: number) =>
    /\bfor\s*$/.test(text.slice(Math.max(0, at - 20), at)) ? "     " : "void ",
  );
  try {
    void new Script(`${prefix}${script}\n}`, { filename: "module.js", columnOffset: -prefix.length });
    return null;
  } catch (error) {
    const failure = syntaxFailure(error, text, prefix);
    return failure.message === ILLEGAL_RETURN ? failure : null;
  }
}

/**
 * `compileFunction` takes no `await`, a script does: so a text with `await` is wrapped as an async function in a script. One without
 * stays a plain function, whose value is there at once.
 */
function parseFunction(head: string, text: string, tail: string, filename: string): Compiled | SyntaxFailure {
  const awaits = /\bawait\b/.test(text);
  const prefix = awaits ? ASYNC_HEAD + head : head;
  const origin = { filename, columnOffset: -prefix.length, importModuleDynamically };
  try {
    if (!awaits) return compileFunction(head + text + tail, PARAMETERS, origin) as Compiled;
    const script = new Script(prefix + text + tail + ASYNC_TAIL, origin);
    // The constructor checks its body by itself, so a text that closes the wrapper's brace and opens another fails here.
    AsyncFunction(head + text + tail);
    return script.runInThisContext() as Compiled;
  } catch (error) {
    return syntaxFailure(error, text, prefix);
  }
}

/**
 * Whether a text that parses between round brackets is one expression. `1) , (2` is not: it closes the wrapper's bracket and opens
 * another. Such a text has a `)` before a `(`, and does not parse between square brackets.
 */
function isWhole(text: string): boolean {
  const closing = text.indexOf(")");
  if (closing === -1 || text.lastIndexOf("(") < closing) return true;
  try {
    AsyncFunction(`[${text}\n]`);
    return true;
  } catch {
    return false;
  }
}
