import type { CodeMessage } from "../wire/messages.ts";
import { type NotCode, notCode } from "../wire/not-code.ts";
import { hintOf } from "./error-hints.ts";
import { CodeFault } from "./faults.ts";
import { checkModule, isModuleOnly, mayBeModule, moduleFault } from "./module-check.ts";
import { faultOfModules, importText, MissingModule, moduleUrl, parseText, requireOf } from "./modules.ts";
import { type Compiled, parseBody, parseExpression } from "./parse.ts";
import { onRejection } from "./promises.ts";
import { noteStart } from "./stack-positions.ts";
import { strip } from "./strip.ts";
import { explainedFault } from "./syntax-hints.ts";
import { isFurther, offsetOf, type SyntaxFailure, syntaxFailure, syntaxFault } from "./syntax.ts";

/** What one evaluation of a text left behind. */
export interface Evaluation {
  /** Null for an ES module. */
  module: { exports: unknown } | null;
  /** What `module.exports` was at the start. */
  exports: object | null;
  /** The namespace of an ES module, else what the expression or the body came to: perhaps a promise. */
  value: unknown;
}

/** A text that was understood: evaluates it, each time anew but for an ES module. */
export interface Reading {
  (): Evaluation;
  /** Of an ES module, which is read in full only when it is loaded: does that, and evaluates nothing. */
  readonly parse?: () => Promise<unknown>;
}

const STRIP_BODY_HEAD = "async function _(module, exports, require) {";

/**
 * Finds the reading of a text: an expression, a body, an ES module, then the same with its types stripped. The order matters: each reading takes
 * texts that a later one would take with another meaning, as `{ a: 1 }`.
 *
 * @throws {CodeFault} `code_syntax` when nothing parses.
 */
export function compile(codeId: number, code: CodeMessage, text: string): Reading {
  refuseOther(text);
  // `name<Type>(` is also JavaScript, a comparison, and is hardly ever meant as one.
  const typed = code.typescript || /[\w$]<[\w$][^()=;&]*>\(/.test(text);
  const first = typed ? readStripped(codeId, text) : readPlain(codeId, text);
  if (typeof first === "function") return first;
  const second = typed ? readPlain(codeId, text) : readStripped(codeId, text);
  if (typeof second === "function") return second;
  const isSecond = isFurther(second, first) && (typed || isTypes(first));
  const fault = isSecond ? explainedFault(text, second, first) : explainedFault(text, first, second);
  // The check of modules knows them only roughly; what it refused is tried before it is refused.
  const body = parseBody(text, moduleUrl(codeId, "task.js"));
  if (typeof body !== "function" && isModuleOnly(body)) return moduleReading(codeId, "task.js", text, fault);
  throw fault;
}

function readPlain(codeId: number, text: string): Reading | SyntaxFailure {
  const url = moduleUrl(codeId, "task.js");
  const expression = readExpression(text, url);
  if (expression) return expressionReading(codeId, text, expression);
  const body = parseBody(text, url);
  if (typeof body === "function") return bodyReading(codeId, body);
  if (!mayBeModule(body)) return body;
  const failure = checkModule(text);
  if (!failure) return moduleReading(codeId, "task.js", text, null);
  return isModuleOnly(body) ? failure : body;
}

function readStripped(codeId: number, text: string): Reading | SyntaxFailure {
  const url = moduleUrl(codeId, "task.ts");
  const bare = mayBeExpression(text) ? strip("(", withoutSemicolon(text), "\n)") : null;
  const expression = typeof bare === "string" ? parseExpression(bare, url) : bare;
  if (typeof expression === "function") return expressionReading(codeId, text, expression);
  const wrapped = strip(STRIP_BODY_HEAD, text, "\n}");
  const body = typeof wrapped === "string" ? parseBody(wrapped, url) : wrapped;
  if (typeof body === "function") return bodyReading(codeId, body);
  if (typeof wrapped === "string" && !mayBeModule(body)) return body;
  const module = strip("", text, "");
  if (typeof module !== "string") return isFurther(module, body) ? module : body;
  const failure = checkModule(module);
  if (!failure) return moduleReading(codeId, "task.ts", module, null);
  return isModuleOnly(body) ? moduleReading(codeId, "task.ts", module, explainedFault(text, failure)) : body;
}

function readExpression(text: string, url: string): Compiled | null {
  if (!mayBeExpression(text)) return null;
  const parsed = parseExpression(withoutSemicolon(text), url);
  if (typeof parsed === "function") return parsed;
  // `6 * 7; // the answer`: nothing but comments follows the semicolon at which V8 stopped.
  if (!parsed.position || parsed.message !== "Unexpected token ';'") return null;
  const at = offsetOf(text, parsed.position);
  if (!isTrivia(text.slice(at))) return null;
  const head = parseExpression(text.slice(0, at), url);
  return typeof head === "function" ? head : null;
}

/** Whether the text begins with no word that no expression begins with: V8 takes 30 µs to say no, and most bodies are told so. */
function mayBeExpression(text: string): boolean {
  const start = triviaLength(text);
  return !STATEMENT.test(text.slice(start, start + LONGEST_WORD));
}

const STATEMENT = /^(?:const|return|if|for|while|throw|try|switch|var|export|import(?!\s*[(.]))(?![\w$])/;
const LONGEST_WORD = 32;

function withoutSemicolon(text: string): string {
  const trimmed = text.trimEnd();
  return trimmed.endsWith(";") ? trimmed.slice(0, -1) : text;
}

function isTrivia(text: string): boolean {
  return triviaLength(text) === text.length;
}

/** How much of the start of a text is white space, comments and semicolons. */
function triviaLength(text: string): number {
  // Sticky, one token after the other, so that no text takes more than linear time.
  const token = /\s+|;|\/\/.*|\/\*[^]*?\*\//y;
  let length = 0;
  while (token.test(text)) length = token.lastIndex;
  return length;
}

function expressionReading(codeId: number, text: string, compiled: Compiled): Reading {
  noteStart(codeId, text, triviaLength(text));
  return bodyReading(codeId, compiled);
}

function bodyReading(codeId: number, compiled: Compiled): Reading {
  const require = requireOf(codeId);
  const call = Function.prototype.call.bind(compiled) as (self: unknown, ...args: Parameters<Compiled>) => unknown;
  return () => {
    const exports = {};
    const module = { exports };
    return { module, exports, value: call(exports, module, exports, require) };
  };
}

/** @param known The fault to tell when the module does not load, where it was found before. */
function moduleReading(codeId: number, name: string, text: string, known: CodeFault | null): Reading {
  let loaded: Promise<unknown> | null = null;
  let attempt = 0;
  const evaluate = (): Evaluation => {
    loaded ??= onRejection(importText(moduleUrl(codeId, name, attempt), text), (error) => {
      // A module that threw stays broken under its URL: the next run loads it under another, as a body would be evaluated anew.
      loaded = null;
      attempt += 1;
      throw asLoadFault(error, codeId, text, known);
    });
    return { module: null, exports: null, value: loaded };
  };
  const parse = (): Promise<unknown> => {
    attempt += 1;
    return onRejection(parseText(moduleUrl(codeId, name, attempt), text), (error) => {
      throw asLoadFault(error, codeId, text, known);
    });
  };
  return Object.assign(evaluate, { parse });
}

/** Tells the errors of loading a module from those that its code throws. */
function asLoadFault(error: unknown, codeId: number, text: string, known: CodeFault | null): unknown {
  if (error instanceof MissingModule) {
    const hint = hintOf({ name: "Error", message: error.message });
    return new CodeFault("code_syntax", error.message, hint === undefined ? {} : { hint });
  }
  if (!(error instanceof SyntaxError)) return error;
  const stack = String(error.stack);
  // An error of linking has its place before the stack; one of parsing comes straight from the loader.
  if (/^task:\/[\d.]+\/task\.[jt]s:/.test(stack)) return syntaxFault(text, syntaxFailure(error, text, ""));
  if (!stack.includes("at compileSourceTextModule")) return error;
  return known ?? faultOfModules(codeId) ?? moduleFault(text, error.message);
}

/** What V8 says when it meets a type. */
function isTypes(failure: SyntaxFailure): boolean {
  return /^Unexpected (?:token '[:?!<]|identifier|strict mode)|^Missing initializer|^missing \)|^Malformed arrow/.test(
    failure.message,
  );
}

const OTHERS: Readonly<Record<NotCode, { what: string; hint: string }>> = {
  fence: {
    what: "the code begins with a Markdown fence",
    hint: "Send what stands between the fences, without them.",
  },
  page: {
    what: "the code is an HTML page",
    hint: "Check the URL that the code came from; it may answer with a page about the file.",
  },
  xml: {
    what: "the code is an XML document",
    hint: "Check the URL that the code came from; it may answer with an error of the place that keeps the file.",
  },
};

function refuseOther(text: string): void {
  const other = notCode(text);
  if (other === null) return;
  const { what, hint } = OTHERS[other];
  throw new CodeFault("code_syntax", what, { hint });
}
