/**
 * Rewrites an ES module as the body of a function, which V8 frees when nothing refers to it. Node's loader takes twenty times
 * as long for a module, and never frees it.
 */

/** A module whose every character but those of imports and exports is where it was. */
export interface ModuleBody {
  /** Goes before the text, on its first line. */
  readonly head: string;
  readonly text: string;
  /** Goes after the text, on a separate line. */
  readonly tail: string;
  /** The modules that the head reads, each by its place in this list. */
  readonly imports: readonly ModuleImport[];
  /**
   * Set if the text means the same as the module only if this text parses in its place too: if each `await` that V8 could take
   * for a name is an operator, in an async function.
   */
  readonly trial: string | null;
}

export interface ModuleImport {
  readonly specifier: string;
  /** The names that the module must export. */
  readonly names: readonly string[];
  /** Whether a variable has the namespace of the module. */
  readonly isWhole: boolean;
}

/** The names of the parameters of the compiled text. A text that contains one of them is not rewritten. */
export const BODY_PARAMETERS: string[] = ["$imports$", "$exports$"];
/** The name of a default export that has none. */
export const DEFAULT_NAME = "$default$";

const OWN_NAMES = /\$(?:imports|exports|default)\$/;
/**
 * What has another meaning in a function than in a module, or may: the names of a function, comments as in HTML, and a string
 * over several lines, in which an export is not a statement.
 */
const OTHERWISE = /\barguments\b|\bnew\s*\.\s*target\b|<!--|-->|\\\r?\n/;
/** An `await` that can be a name: what follows it may continue an expression or begin the next statement. */
const DOUBTFUL_AWAIT = /(?<![\w$#]|(?<!\.\.)\.|\bfor\s{1,9})await(?![\w$])(?![ \t]+[\w$"'])/g;
/** Names for which Node explains that a module does not have them. */
const COMMON_JS = /\b(?:module\.exports|exports\.\w)/;
/** Every `export` and each static `import` must be found by these patterns at the start of its line, or after an import. */
const WORDS = /\b(?:export|import(?!\s*[(]))\b/g;
const DEFAULT = /export default\b/y;
/** A function or a class without a name. V8 gives it the name `default`. */
const NAMELESS = /export default (?:async function|function|class)(?=\s*[({]|\s+extends\b)/y;
const NAMED =
  /export default (?:async function|function|class)\*?\s+(?!extends\b)([\p{ID_Start}$_][\p{ID_Continue}$]*)/uy;
const GENERATOR = /export default (?:async )?function\s*\*/y;
const DECLARED =
  /export (?:const|let|var|class|function\*?|async function\*?)\s+([\p{ID_Start}$_][\p{ID_Continue}$]*)(?=\s*[=({;]|\s+extends\b|\s*\n)/uy;
const FROM = String.raw`\s*from\s*(?:"([\w:/.@^~*+-]+)"|'([\w:/.@^~*+-]+)')[ \t]*(?:;|(?=\n)|$)`;
const IDENTIFIER = String.raw`[\p{ID_Start}$_][\p{ID_Continue}$]*`;
const IMPORT = new RegExp(
  String.raw`import\s+(?:(${IDENTIFIER})(?:\s*,\s*)?)?(?:\*\s*as\s+(${IDENTIFIER})|\{([^{}"'/]*)\})?${FROM}`,
  "uy",
);
const SPECIFIER = new RegExp(String.raw`^(${IDENTIFIER})(?:\s+as\s+(${IDENTIFIER}))?$`, "u");

/**
 * @param text without types
 * @param isKnown whether a specifier names a built-in module, or a package of the code
 * @returns null for a text that is not a module, or that needs a loader: re-exports, lists of exports, `import.meta`, imports
 *   of submitted modules, `await` outside of functions
 */
export function moduleBody(text: string, isKnown: (specifier: string) => boolean): ModuleBody | null {
  const statements = statementsOf(text);
  if (statements === null || OWN_NAMES.test(text) || COMMON_JS.test(text) || OTHERWISE.test(text)) return null;
  const parts: string[] = [];
  const imports: ModuleImport[] = [];
  const bindings: string[] = [];
  const exported: string[] = [];
  let hasDefault = false;
  let end = 0;
  for (let index = 0; index < statements.length; index += 1) {
    const at = statements[index]!;
    if (at < end) return null;
    parts[parts.length] = text.slice(end, at);
    if (text.startsWith("import", at)) {
      const found = matchAt(IMPORT, text, at);
      const read = found && readImport(found, imports.length);
      if (!read || !isKnown(read.specifier)) return null;
      imports[imports.length] = read;
      bindings[bindings.length] = read.bindings;
      parts[parts.length] = blank(found[0]);
      end = at + found[0].length;
      continue;
    }
    if (matchAt(DEFAULT, text, at)) {
      if (hasDefault || matchAt(GENERATOR, text, at)) return null;
      hasDefault = true;
      const named = matchAt(NAMED, text, at);
      const nameless = named ? null : matchAt(NAMELESS, text, at);
      if (named) exported[exported.length] = `default:${named[1]!}`;
      else exported[exported.length] = `default:${DEFAULT_NAME}`;
      if (named) parts[parts.length] = " ".repeat("export default".length);
      else if (nameless) parts[parts.length] = withName(nameless[0]);
      // As long as `export default`.
      else parts[parts.length] = `let ${DEFAULT_NAME}=`;
      end = at + (nameless ? nameless[0].length : "export default".length);
      continue;
    }
    const declared = matchAt(DECLARED, text, at);
    if (!declared || exported.includes(declared[1]!)) return null;
    exported[exported.length] = declared[1]!;
    parts[parts.length] = "      ";
    end = at + "export".length;
  }
  parts[parts.length] = text.slice(end);
  const body = parts.join("");
  return {
    head: `"use strict";${bindings.join("")}`,
    text: body,
    tail: `\n;$exports$({__proto__:null,${exported.join(",")}})`,
    imports,
    trial: body.search(DOUBTFUL_AWAIT) === -1 ? null : body.replace(DOUBTFUL_AWAIT, "await 0+ "),
  };
}

/** A module with more imports and exports is loaded. */
const MAX_STATEMENTS = 100;
/** Templates, comments of several lines, and brackets, in which an import or export is not a statement. */
const QUOTES = /`|\/\*(?:[^]*?\*\/)?|[{}()[\]]/g;

/** Returns the offsets of all imports and exports, or null if the text has none or one that may be no statement. */
function statementsOf(text: string): number[] | null {
  const found: number[] = [];
  let read = 0;
  /** The end of an import, after which another statement may follow on the same line. */
  let end = 0;
  WORDS.lastIndex = 0;
  for (let match = WORDS.exec(text); match; match = WORDS.exec(text)) {
    const { index } = match;
    const line = text.slice(Math.max(text.lastIndexOf("\n", index - 1) + 1, end), index);
    if (found.length === MAX_STATEMENTS || !/^[ \t]*$/.test(line)) return null;
    if (!endsBetween(text.slice(read, index))) return null;
    read = index;
    found[found.length] = index;
    const whole = text.startsWith("import", index) ? matchAt(IMPORT, text, index) : null;
    if (whole) end = index + whole[0].length;
  }
  return found.length === 0 ? null : found;
}

/**
 * Whether the end of a text is between two statements: in no comment, template or bracket. It is false for some texts that end
 * there, such as those with a template, or with a bracket in a string.
 */
function endsBetween(text: string): boolean {
  let depth = 0;
  QUOTES.lastIndex = 0;
  for (let match = QUOTES.exec(text); match; match = QUOTES.exec(text)) {
    const mark = match[0];
    if (mark === "`" || mark === "/*") return false;
    if ("{([".includes(mark)) depth += 1;
    else if ("})]".includes(mark)) depth -= 1;
  }
  return depth === 0;
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

function readImport(statement: RegExpExecArray, place: number): (ModuleImport & { readonly bindings: string }) | null {
  // No iteration: an earlier task may have replaced the iterator of arrays.
  const main = statement[1];
  const whole = statement[2];
  const list = statement[3];
  const specifier = statement[4] ?? statement[5]!;
  const source = `$imports$[${place}]`;
  const bindings: string[] = [];
  const names: string[] = [];
  if (main === undefined && whole === undefined && list === undefined) return null;
  if (main !== undefined) {
    bindings[bindings.length] = `${main}=${source}.default`;
    names[names.length] = "default";
  }
  if (whole !== undefined) bindings[bindings.length] = `${whole}=${source}`;
  const entries = (list ?? "").split(",");
  for (let index = 0; index < entries.length; index += 1) {
    const entry = entries[index]!.trim();
    if (entry === "") continue;
    const found = SPECIFIER.exec(entry);
    const name = found?.[1];
    const alias = found?.[2] ?? name;
    if (name === undefined || name === "type") return null;
    bindings[bindings.length] = `${alias}=${source}.${name}`;
    names[names.length] = name;
  }
  const isWhole = whole !== undefined;
  return { specifier, names, isWhole, bindings: bindings.length === 0 ? "" : `const ${bindings.join(",")};` };
}

/** Moves `function` or `class` to the left and gives it a name, so that what follows stays where it is. */
function withName(statement: string): string {
  const declaration = `${statement.slice("export default ".length)} ${DEFAULT_NAME}`;
  return declaration.padStart(statement.length);
}

function blank(text: string): string {
  return text.replace(/[^\n]/g, " ");
}
