import { CodeFault } from "./faults.ts";
import { ILLEGAL_RETURN, parseModuleBody, returnOfModule } from "./parse.ts";
import { type SyntaxFailure, syntaxFault } from "./syntax.ts";

/** At the start of a statement, which is the start of a line or follows the end of another statement. */
const START = String.raw`(?<=^|[;}]|\*/)([ \t]*)`;
const FROM = String.raw`\s*from\s*(?:"[^"\n]*"|'[^'\n]*')(?:\s*with\s*\{[^}]*\})?`;
const DEFAULT = new RegExp(String.raw`${START}export(\s+)default\b`, "gm");
const LIST = new RegExp(String.raw`${START}export\s*(?:\{[^}]*\}(?:${FROM})?|\*(?:\s*as\s+[\w$]+)?${FROM})`, "gm");
const DECLARED = new RegExp(String.raw`${START}export\b(?=\s)`, "gm");
/** An import of types is no JavaScript; `import type from` and `{ type as x }` are. */
const TYPES = String.raw`\s+type(?:\s*[{*]|\s+(?!from\b)[\w$])|[^"'();]*[{,]\s*type\s+(?!as\b)[\w$]`;
const IMPORT = new RegExp(
  String.raw`${START}import\b(?!${TYPES})(?:[^"'();]*from)?\s*(?:"[^"\n]*"|'[^'\n]*')(?:\s*with\s*\{[^}]*\})?`,
  "gm",
);

/** Whether the error of a text, read as a function's body, is only about `import` or `export`. */
export function isModuleOnly(failure: SyntaxFailure): boolean {
  return /^Cannot use '?import|^Unexpected token 'export'|^'import', and 'export'/.test(failure.message);
}

/** Whether a text that fails as a function's body may still be a module. */
export function mayBeModule(failure: SyntaxFailure): boolean {
  // A module may also declare the names that the wrapper of a body gives as parameters. For the rest its grammar is the stricter one.
  return isModuleOnly(failure) || /^Identifier '(?:module|exports|require)' has/.test(failure.message);
}

/**
 * Looks for what is wrong in the text of a module, beside its imports and exports. V8 tells no place for an error in a module, and parses
 * none without loading it; so the text is read as a body.
 */
export function checkModule(text: string): SyntaxFailure | null {
  const parsed = parseModuleBody(withoutModules(text));
  return typeof parsed === "function" ? null : parsed;
}

/** The fault of a module that did not parse when it was loaded, after `checkModule` found nothing. */
export function moduleFault(text: string, message: string): CodeFault {
  if (message !== ILLEGAL_RETURN) {
    const nested = nestedImport(text, message);
    return nested ? syntaxFault(text, nested, NESTED_HINT) : new CodeFault("code_syntax", message);
  }
  const hint = "A module returns nothing: use export default for the answer, or leave out import and export.";
  return syntaxFault(text, returnOfModule(withoutModules(text)) ?? { message, position: null }, hint);
}

const NESTED_HINT =
  'Imports and exports stand outside of functions and blocks; within, there is `await import("module")`.';

/** Where an import or an export stands within something, if that is what V8 met: it names the word that it did not expect. */
function nestedImport(text: string, message: string): SyntaxFailure | null {
  const word = /^Unexpected (?:identifier|token) '([^']+)'/.exec(message)?.[1];
  if (word === undefined) return null;
  const lines = text.split("\n");
  for (let index = 0; index < lines.length; index += 1) {
    const [, blanks, keyword, next] = /^(\s+)(import|export)\b\s*([\w$]+|\S?)/.exec(lines[index]!) ?? [];
    if (blanks !== undefined && word === (keyword === "import" ? next : keyword)) {
      return { message, position: { line: index + 1, column: blanks.length + 1 } };
    }
  }
  return null;
}

/** The text with imports and exports made harmless, each character in its place. */
function withoutModules(text: string): string {
  return (
    text
      .replace(IMPORT, blank)
      .replace(LIST, blank)
      // An assignment takes whatever a default export takes: a function, a class, an object.
      .replace(DEFAULT, (_, start: string, gap: string) => `${start}_=${blank(`port${gap}default`)}`)
      .replace(DECLARED, blank)
      .replace(/\bimport(?=\s*\.\s*meta\b)/g, "_mport")
  );
}

function blank(text: string): string {
  return text.replace(/[^\n]/g, " ");
}
