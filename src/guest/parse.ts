import vm from "node:vm";

import { isBalanced, wholeFunction } from "./bracket-scan.ts";
import { compiledWhole } from "./compilation-flags.ts";
import { BODY_PARAMETERS, type ModuleBody } from "./module-body.ts";
import { mayUseContext } from "./scope-context.ts";
import { type SyntaxFailure, syntaxFailure } from "./syntax.ts";

/** A text that is compiled to a function. The text sees the parameters as `module`, `exports`, `require` and `context`. */
export interface Compiled {
  readonly call: (this: unknown, module: object, exports: object, require: unknown, context?: object) => unknown;
  /** Whether the text is given `context`. Only a text that contains the word is, and none that declares it. */
  readonly takesContext: boolean;
  /** The text. It shares the memory of the string that V8 keeps: a second string would double the memory of each code. */
  readonly text: string;
}

const PARAMETERS = ["module", "exports", "require"];
const WITH_CONTEXT = ["module", "exports", "require", "context"];
/** V8's message for a `return` outside of functions. */
export const ILLEGAL_RETURN = "Illegal return statement";
const ASYNC_HEAD = `(async function (${PARAMETERS.join(", ")}) {`;
const ASYNC_HEAD_WITH_CONTEXT = `(async function (${WITH_CONTEXT.join(", ")}) {`;
const ASYNC_TAIL = "\n})";
const { compileFunction, Script } = vm;
const { hasOwn } = Object;
const AsyncFunction = (async () => {}).constructor as FunctionConstructor;
/** Makes `import()` in a task use the module hooks, as every other import does. */
const importModuleDynamically = vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER;

export function isCompiled(parsed: Compiled | SyntaxFailure): parsed is Compiled {
  return hasOwn(parsed, "call");
}

/** Compiles the text as one expression. The newline before the bracket ends a comment at the end of the text. */
export function parseExpression(text: string, filename: string): Compiled | SyntaxFailure {
  const whole = wholeFunction(text);
  if (whole) {
    // What is in a function sees its parameter, and an `await` in it is of this function or of another in it.
    const takesContext = !CONTEXT.test(whole.parameters) && mayUseContext(text);
    return parseFunction({ takesContext, awaits: false }, "return (", text, "\n)", filename);
  }
  const parsed = parseFunction(needsOf(text), "return (", text, "\n)", filename);
  if (isCompiled(parsed) && !isWhole(text)) return { message: "Unexpected token ')'", position: null };
  return parsed;
}

/** Compiles the text as the body of a function, which is async if the text contains `await`. */
export function parseBody(text: string, filename: string): Compiled | SyntaxFailure {
  return parseFunction(needsOf(text), "", text, "", filename);
}

/** Checks whether a module parses. Its imports and exports must be removed before. Modules are in strict mode. */
export function parseModuleBody(text: string): Compiled | SyntaxFailure {
  // In a block, because a module may declare names that are parameters here.
  return parseFunction(needsOf(text), '"use strict";{', text, "\n}", "module.js");
}

/** Evaluates a module. @param exported receives what the module exports */
export type EvaluateModule = (imports: readonly object[], exported: (namespace: object) => void) => void;

/** Compiles a module that was rewritten as the body of a function. @returns null if V8 rejects it */
export function compileModuleBody({ head, text, tail, trial }: ModuleBody, filename: string): EvaluateModule | null {
  const origin = { filename, columnOffset: -head.length, importModuleDynamically };
  try {
    if (trial !== null) compileFunction(head + trial + tail, BODY_PARAMETERS);
    const source = head + text + tail;
    return compiledWhole(source.length, () => compileFunction(source, BODY_PARAMETERS, origin)) as EvaluateModule;
  } catch {
    return null;
  }
}

/**
 * Finds a `return` outside of all functions in a module. V8 gives no position for it in a module, and accepts it in a
 * function body, so the text is parsed as a script.
 */
export function returnOfModule(text: string): SyntaxFailure | null {
  const prefix = '"use strict";{';
  // `await` is not allowed in a script.
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
 * Compiles a text as a function. `compileFunction` does not accept `await`, so a text with `await` is wrapped in an async
 * function in a script. A text without `await` becomes a plain function, which returns its value synchronously.
 */
function parseFunction(
  needs: Needs,
  head: string,
  text: string,
  tail: string,
  filename: string,
): Compiled | SyntaxFailure {
  const parsed = parseWith(needs, head, text, tail, filename);
  if (!needs.takesContext || isCompiled(parsed) || parsed.message !== DECLARED) return parsed;
  return parseWith({ ...needs, takesContext: false }, head, text, tail, filename);
}

/** What a text needs of the function that it becomes. */
interface Needs {
  readonly takesContext: boolean;
  readonly awaits: boolean;
}

function needsOf(text: string): Needs {
  return { takesContext: mayUseContext(text), awaits: /\bawait\b/.test(text) };
}

/** The parameter that hides the `context` in scope. */
const CONTEXT = /(?<![\w$])context(?![\w$])/;

/** V8's message for a text that declares `context` itself. */
const DECLARED = "Identifier 'context' has already been declared";

function parseWith(
  { takesContext, awaits }: Needs,
  head: string,
  text: string,
  tail: string,
  filename: string,
): Compiled | SyntaxFailure {
  const asyncHead = takesContext ? ASYNC_HEAD_WITH_CONTEXT : ASYNC_HEAD;
  const prefix = awaits ? asyncHead + head : head;
  const origin = { filename, columnOffset: -prefix.length, importModuleDynamically };
  const source = prefix + text + tail + (awaits ? ASYNC_TAIL : "");
  try {
    const compiled = (call: unknown): Compiled => ({
      call: call as Compiled["call"],
      takesContext,
      text: source.slice(prefix.length, prefix.length + text.length),
    });
    if (!awaits) {
      const parameters = takesContext ? WITH_CONTEXT : PARAMETERS;
      return compiled(compiledWhole(source.length, () => compileFunction(source, parameters, origin)));
    }
    const script = compiledWhole(source.length, () => new Script(source, origin));
    // The constructor parses the body separately, so it rejects a text that closes the wrapper's brace and opens another.
    if (!isBalanced(text, "{", "}")) AsyncFunction(head + text + tail);
    return compiled(script.runInThisContext());
  } catch (error) {
    return syntaxFailure(error, text, prefix);
  }
}

/**
 * Whether a text that parses between round brackets is one expression. `1) , (2` is not: it closes the wrapper's bracket and
 * opens another. A text like this has a `)` before a `(`, and does not parse between square brackets.
 */
function isWhole(text: string): boolean {
  const closing = text.indexOf(")");
  if (closing === -1 || text.lastIndexOf("(") < closing || isBalanced(text, "(", ")")) return true;
  try {
    AsyncFunction(`[${text}\n]`);
    return true;
  } catch {
    return false;
  }
}
