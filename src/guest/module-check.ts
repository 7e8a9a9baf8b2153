import type { CodeFault } from "./faults.ts";
import { grammarHint } from "./grammar-hints.ts";
import { MODULE_RETURN } from "./message-hints.ts";
import { ILLEGAL_RETURN, isCompiled, parseModuleBody, returnOfModule } from "./parse.ts";
import { offsetOf, type SyntaxFailure, syntaxFault } from "./syntax.ts";

/** Matches the start of a statement: the start of a line or the end of another statement. */
const START = String.raw`(?<=^|[;}]|\*/)([ \t]*)`;
const FROM = String.raw`\s*from\s*(?:"[^"\n]*"|'[^'\n]*')(?:\s*with\s*\{[^}]*\})?`;
const DEFAULT = new RegExp(String.raw`${START}export(\s+)default\b`, "gm");
const LIST = new RegExp(String.raw`${START}export\s*(?:\{[^}]*\}(?:${FROM})?|\*(?:\s*as\s+[\w$]+)?${FROM})`, "gm");
const DECLARED = new RegExp(String.raw`${START}export\b(?=\s)`, "gm");
/** Matches an import of types, which is not JavaScript. `import type from` and `{ type as x }` are JavaScript. */
const TYPES = String.raw`\s+type(?:\s*[{*]|\s+(?!from\b)[\w$])|[^"'();]*[{,]\s*type\s+(?!as\b)[\w$]`;
const IMPORT = new RegExp(
  String.raw`${START}import\b(?!${TYPES})(?:[^"'();]*from)?\s*(?:"[^"\n]*"|'[^'\n]*')(?:\s*with\s*\{[^}]*\})?`,
  "gm",
);

/** Whether a text failed as a function body only because of `import` or `export`. */
export function isModuleOnly(failure: SyntaxFailure): boolean {
  return /^Cannot use '?import|^Unexpected token 'export'|^'import', and 'export'/.test(failure.message);
}

/** Whether a text that failed as a function body may still be a module. */
export function mayBeModule(failure: SyntaxFailure): boolean {
  // A module may also declare the names of the body's parameters. Otherwise the grammar of modules is stricter.
  return isModuleOnly(failure) || /^Identifier '(?:module|exports|require)' has/.test(failure.message);
}

/** Whether V8 reports this error for TypeScript types. */
export function isTypes(text: string, failure: SyntaxFailure): boolean {
  // The type of what an arrow function without parameters returns.
  if (failure.message === "Unexpected token ')'" && failure.position)
    return /^\)\s*:/.test(text.slice(offsetOf(text, failure.position)));
  return /^Unexpected (?:token '[:?!<]|identifier|strict mode|reserved word)|^Missing initializer|^missing \)|^Malformed arrow/.test(
    failure.message,
  );
}

/**
 * Finds a syntax error in the text of a module, outside of imports and exports. V8 gives no position for an error in a
 * module, and parses a module only when it loads it. So the text is parsed as a function body.
 */
export function checkModule(text: string): SyntaxFailure | null {
  const parsed = parseModuleBody(withoutModules(text));
  return isCompiled(parsed) ? null : parsed;
}

/** Makes the fault of a module that did not parse when it was loaded, and in which `checkModule` found no error. */
export function moduleFault(text: string, message: string): CodeFault {
  if (isDuplicate(message)) return duplicateFault(text, message);
  if (message !== ILLEGAL_RETURN) {
    const nested = nestedImport(text, message);
    return nested ? syntaxFault(text, nested, NESTED_HINT) : withHint(text, message);
  }
  const isOfMeta = /\bimport\s*\.\s*meta\b/.test(text) && !/^\s*(?:import\s*["'{*\w]|export\b)/m.test(text);
  const hint = isOfMeta
    ? "import.meta makes a module of the code, and a module cannot return: use export default for the result, or leave import.meta out."
    : MODULE_RETURN;
  return syntaxFault(text, returnOfModule(withoutModules(text)) ?? { message, position: null }, hint);
}

const TWO_DEFAULTS = "Duplicate export of 'default'";

/** Whether V8's message is about a module that exports a name twice. The second is about two values without names. */
export function isDuplicate(message: string): boolean {
  return message.startsWith("Duplicate export of ") || message.startsWith("Identifier '.default' has already been");
}

/** Makes the fault of a module that exports a name twice. V8 gives no position for it. */
function duplicateFault(text: string, message: string): CodeFault {
  if (message.startsWith("Duplicate") && message !== TWO_DEFAULTS) return withHint(text, message);
  const starts = new RegExp(DEFAULT, "gm");
  let second = starts.exec(text);
  second = second && starts.exec(text);
  const at = second && second.index + second[1]!.length;
  const before = at === null ? null : text.slice(0, at).split("\n");
  const position = before && { line: before.length, column: before[before.length - 1]!.length + 1 };
  const hint = "A module has one default export: keep one, and export the other by its name.";
  return syntaxFault(text, { message: TWO_DEFAULTS, position }, hint);
}

function withHint(text: string, message: string): CodeFault {
  const failure = { message, position: message.startsWith("Unexpected ") ? wrongImport(text) : null };
  return syntaxFault(text, failure, grammarHint(text, failure));
}

const NAME = String.raw`(?:[\w$]+|"[^"\n]*"|'[^'\n]*')(?:\s+as\s+[\w$]+)?`;
const CLAUSE = new RegExp(
  String.raw`^import\s*(?:["']|(?:[\w$]+\s*(?:,\s*)?)?(?:\*\s*as\s+[\w$]+|\{\s*(?:${NAME}(?:\s*,\s*${NAME})*\s*,?\s*)?\})?\s*from\b)`,
);

/** Returns the position of the first import whose names are not those of the grammar, or null. */
function wrongImport(text: string): SyntaxFailure["position"] {
  const imports = new RegExp(IMPORT, "gm");
  for (let found = imports.exec(text); found; found = imports.exec(text)) {
    const indent = found[1]!.length;
    if (CLAUSE.test(found[0].slice(indent))) continue;
    const before = text.slice(0, found.index + indent).split("\n");
    return { line: before.length, column: before[before.length - 1]!.length + 1 };
  }
  return null;
}

const NESTED_HINT =
  'Write imports and exports outside of functions and blocks, or use `await import("module")` inside of them.';

/** Finds an indented import or export if it matches V8's message, which names the unexpected word. */
function nestedImport(text: string, message: string): SyntaxFailure | null {
  const word = /^Unexpected (?:identifier|token) '([^']+)'/.exec(message)?.[1];
  if (word === undefined) return null;
  const lines = text.split("\n");
  for (let index = 0; index < lines.length; index += 1) {
    const [, indent, keyword, next] = /^(\s+)(import|export)\b\s*([\w$]+|\S?)/.exec(lines[index]!) ?? [];
    if (indent !== undefined && word === (keyword === "import" ? next : keyword)) {
      return { message, position: { line: index + 1, column: indent.length + 1 } };
    }
  }
  return null;
}

/** Removes imports and exports from a text without moving any other character. */
function withoutModules(text: string): string {
  return (
    text
      .replace(IMPORT, blank)
      .replace(LIST, blank)
      // An assignment accepts the same expressions as a default export: a function, a class, an object.
      .replace(DEFAULT, (_, start: string, gap: string) => `${start}_=${blank(`port${gap}default`)}`)
      .replace(DECLARED, blank)
      .replace(/\bimport(?=\s*\.\s*meta\b)/g, "_mport")
  );
}

function blank(text: string): string {
  return text.replace(/[^\n]/g, " ");
}
