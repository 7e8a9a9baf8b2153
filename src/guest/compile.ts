import type { CodeMessage } from "../wire/code-message.ts";
import { compileModule, type Evaluate } from "./body-module.ts";
import { packagesOfCode } from "./code-packages.ts";
import { countText } from "./compilation-flags.ts";
import { envelopeHint } from "./envelope-text.ts";
import type { CodeFault } from "./faults.ts";
import { type GeneratedMap, noteMap } from "./generated-maps.ts";
import { codeOfModule } from "./loaded-module.ts";
import { checkModule, isModuleOnly, isTypes, mayBeModule } from "./module-check.ts";
import { checkRequires, moduleUrl, requireOf } from "./modules.ts";
import { withNodeStacks } from "./node-stacks.ts";
import { objectFailure } from "./object-failure.ts";
import { type Compiled, isCompiled, parseBody, parseExpression } from "./parse.ts";
import type { Evaluation, ParsedCode } from "./parsed-code.ts";
import { refuseNotCode } from "./refuse-not-code.ts";
import { scopeContext } from "./scope-context.ts";
import { noteShift, noteStart } from "./stack-positions.ts";
import { inSource, isStripped, strip, type Stripped } from "./strip.ts";
import { explainedFault } from "./syntax-hints.ts";
import { inFile, isFurther, offsetOf, type SyntaxFailure } from "./syntax.ts";
import { isTrivia, mayBeExpression, triviaLength, withoutSemicolon } from "./trivia.ts";
import { printedLine, unreturnedLine, withDefault, withReturn } from "./unreturned.ts";

const STRIP_BODY_HEAD = "async function _(module, exports, require) {";

/**
 * Parses a text as an expression, a function body, an ES module, and then as the same three with its types stripped. The
 * first form that parses is used. The order matters: some texts, such as `{ a: 1 }`, parse in a later form with another
 * meaning.
 *
 * @throws {CodeFault} `code_syntax` when the text parses in none of them. The fault has a loader if the builder can make
 *   JavaScript from the text.
 */
export function compile(codeId: number, code: CodeMessage, text: string): ParsedCode {
  countText();
  refuseNotCode(text);
  // `name<Type>(` is also a JavaScript comparison, but is hardly ever meant as one.
  const typed = code.typescript || /[\w$]<[\w$][^()=;&]*>\(/.test(text);
  const { lastValue = false } = code;
  const first = typed ? parseStripped(codeId, text, lastValue) : parsePlain(codeId, text, lastValue);
  if (typeof first === "function") return first;
  const second = typed ? parsePlain(codeId, text, lastValue) : parseStripped(codeId, text, lastValue);
  if (typeof second === "function") return second;
  const isSecond = isFurther(second, first) && (typed || isTypes(text, first));
  const found = isSecond ? explainedFault(text, second, first) : explainedFault(text, first, second);
  const fault = typed === isSecond ? found : inFile("task.ts", found);
  if (fault.loader) throw fault;
  // `checkModule` is approximate, so a module that it rejects is loaded before the fault is reported.
  const body = parseBody(text, moduleUrl(codeId, "task.js"));
  if (!isCompiled(body) && isModuleOnly(body))
    return codeOfModule(codeId, { name: "task.js", text, bare: text, map: null }, fault);
  throw fault;
}

function parsePlain(codeId: number, text: string, lastValue: boolean): ParsedCode | SyntaxFailure {
  const url = moduleUrl(codeId, "task.js");
  const bare = lastValue ? withModuleValue(codeId, text) : text;
  const module = compileModule(bare, url, packagesOfCode(codeId));
  if (module)
    return codeOfEvaluation(text, module, () => codeOfModule(codeId, { name: "task.js", text, bare, map: null }, null));
  const expression = parseAsExpression(text, url);
  if (expression) {
    noteStart(codeId, text, triviaLength(text));
    // The rest is a semicolon and comments. V8 copies the sum of two texts only when something reads it.
    const whole = expression.text + text.slice(expression.text.length);
    return Object.assign(codeOfBody(codeId, whole, expression), { hint: envelopeHint(text) });
  }
  const body = parseBody(text, url);
  if (isCompiled(body)) {
    const code = codeOfStatements(codeId, body.text, body, { url, lastValue, map: null });
    return Object.assign(code, { hint: isTrivia(text) ? ({ hint: "comments", path: "" } as const) : null });
  }
  if (!mayBeModule(body)) return objectFailure(text, url, body);
  const failure = checkModule(text);
  if (!failure) return codeOfModule(codeId, { name: "task.js", text, bare, map: null }, null);
  return isModuleOnly(body) ? failure : body;
}

function parseStripped(codeId: number, text: string, lastValue: boolean): ParsedCode | SyntaxFailure {
  const name = "task.ts";
  const url = moduleUrl(codeId, name);
  const bare = mayBeExpression(text) ? strip("(", withoutSemicolon(text), "\n)") : null;
  const expression = bare && isStripped(bare) ? parseExpression(bare.text, url) : null;
  if (expression && isCompiled(expression)) {
    const { map } = bare as Stripped;
    if (!map) noteStart(codeId, text, triviaLength(text));
    noteMap(codeId, name, map);
    return codeOfBody(codeId, text, expression);
  }
  const wrapped = strip(STRIP_BODY_HEAD, text, "\n}");
  const body = isStripped(wrapped) ? inSource(wrapped, parseBody(wrapped.text, url)) : wrapped;
  if (isCompiled(body)) {
    const { map } = wrapped as Stripped;
    noteMap(codeId, name, map);
    return codeOfStatements(codeId, text, body, { url, lastValue, map });
  }
  if (isStripped(wrapped) && !mayBeModule(body)) return body;
  const module = strip("", text, "");
  if (!isStripped(module)) return isFurther(module, body) ? module : body;
  noteMap(codeId, name, module.map);
  return parseStrippedModule(codeId, name, text, module, body, lastValue);
}

/** @param body why the text is not a body */
export function parseStrippedModule(
  codeId: number,
  name: string,
  text: string,
  stripped: Stripped,
  body: SyntaxFailure,
  lastValue: boolean,
): ParsedCode | SyntaxFailure {
  const { map } = stripped;
  const url = moduleUrl(codeId, name);
  // `import fs = require("fs")` and `export = fs` become CommonJS.
  const generated = map ? parseBody(stripped.text, url) : null;
  if (generated && isCompiled(generated)) {
    return codeOfStatements(codeId, text, generated, { url, lastValue, map });
  }
  const bare = lastValue ? withModuleValue(codeId, stripped.text, true) : stripped.text;
  const evaluate = compileModule(bare, url, packagesOfCode(codeId));
  const load = (fault: CodeFault | null): ParsedCode => codeOfModule(codeId, { name, text, bare, map }, fault);
  if (evaluate) return codeOfEvaluation(text, evaluate, () => load(null));
  const failure = checkModule(bare);
  if (!failure) return load(null);
  if (!isModuleOnly(body)) return body;
  const fault = inFile(name, explainedFault(text, inSource(stripped, failure)));
  if (fault.loader) throw fault;
  return load(fault);
}

/** Compiles a text that is one expression, perhaps with a semicolon and comments behind it. */
export function parseAsExpression(text: string, url: string): Compiled | null {
  if (!mayBeExpression(text)) return null;
  const parsed = parseExpression(withoutSemicolon(text), url);
  if (isCompiled(parsed)) return parsed;
  // `6 * 7; // the answer`: only comments follow the semicolon at which V8 stopped.
  if (!parsed.position || parsed.message !== "Unexpected token ';'") return null;
  const at = offsetOf(text, parsed.position);
  if (!isTrivia(text.slice(at))) return null;
  const head = parseExpression(text.slice(0, at), url);
  return isCompiled(head) ? head : null;
}

export function codeOfBody(codeId: number, text: string, compiled: Compiled): ParsedCode {
  const require = requireOf(codeId);
  const { takesContext } = compiled;
  const call = Function.prototype.call.bind(compiled.call) as (
    self: unknown,
    ...args: Parameters<Compiled["call"]>
  ) => unknown;
  const evaluate = (): Evaluation => {
    const exports = {};
    const module = { exports };
    const value = takesContext
      ? call(exports, module, exports, require, scopeContext())
      : call(exports, module, exports, require);
    return { module, exports, value };
  };
  const parse = (): void => checkRequires(compiled.text, moduleUrl(codeId, "task.js"));
  return Object.assign(evaluate, { text, parse, takesContext });
}

/** Returns a module that gives the value of its last statement, or the same text. */
function withModuleValue(codeId: number, text: string, isModule?: boolean): string {
  const changed = withDefault(text, isModule);
  if (changed?.shift) noteShift(codeId, text, changed.shift.at, changed.shift.by);
  return changed?.text ?? text;
}

/** @param lastValue whether the body gives the value of its last statement */
export function codeOfStatements(
  codeId: number,
  text: string,
  body: Compiled,
  { url, lastValue, map }: { url: string; lastValue: boolean; map: GeneratedMap | null },
): ParsedCode {
  const returning = lastValue ? withReturn(body.text) : null;
  const compiled = returning && parseBody(returning.text, url);
  // A guess that V8 rejects is not a fault of the code.
  if (!returning || !compiled || !isCompiled(compiled)) {
    return withUnreturned(codeOfBody(codeId, text, body), body.text, map);
  }
  if (returning.shift) noteShift(codeId, body.text, returning.shift.at, returning.shift.by);
  return codeOfBody(codeId, text, compiled);
}

/** @param bare the body without types */
function withUnreturned(code: ParsedCode, bare: string, map: GeneratedMap | null): ParsedCode {
  const lineOf = (find: (text: string) => number | null): (() => number | null) => {
    let found: number | null | undefined;
    return () => {
      if (found !== undefined) return found;
      const line = withNodeStacks(() => find(bare));
      found = line !== null && map ? (map.originalOf({ line, column: Infinity })?.line ?? line) : line;
      return found;
    };
  };
  return Object.assign(code, { unreturned: lineOf(unreturnedLine), printed: lineOf(printedLine) });
}

/** @param load loads the text with Node's loader, which finds the fault of a module that returns */
function codeOfEvaluation(text: string, evaluate: Evaluate, load: () => ParsedCode): ParsedCode {
  let loaded: ParsedCode | null = null;
  const call = (): Evaluation => {
    const value = loaded ? null : evaluate();
    return value === null ? (loaded ??= load())() : { module: null, exports: null, value };
  };
  // The loader finds each fault, without an evaluation.
  return Object.assign(call, { text, parse: () => load().parse(), takesContext: false });
}
