import { missingReturn } from "./missing-return.ts";
import { checkModule } from "./module-check.ts";
import { withNodeStacks } from "./node-stacks.ts";
import { isCompiled, parseBody, parseExpression } from "./parse.ts";
import { type Token, tokensOf } from "./scan-tokens.ts";
import { isStripped, strip } from "./strip.ts";

/** The most places at which the last statement is looked for. Each takes V8 two parses of the text. */
const MAX_PLACES = 20;
/** A longer text is not looked at, because other runs of the guest wait meanwhile. */
const MAX_CHARACTERS = 32 * 1024;
/** A line that begins with one of these may continue the line before it. */
const CONTINUES = /^(?:[([+\-/*.,`?:%&|^<>=]|\?\.|\?\?|&&|\|\||\+\+|--|=>|in|instanceof)/;
/** A statement that begins with one of these is not an expression, or its value is not meant. */
const NO_VALUE = /^(?:\{|function|class|void|delete|throw|debugger)$/;

/**
 * Returns the line of the last statement of a body, if that is an expression whose value the body may have meant to return. Never throws.
 *
 * @param text a body that V8 has parsed, without types
 */
export function unreturnedLine(text: string): number | null {
  try {
    const last = lastValueOf(text);
    return last && lineOf(text, last);
  } catch {
    // A task has replaced a method of texts or patterns.
    return null;
  }
}

/** A body that returns the value of its last statement. */
export interface ReturningBody {
  readonly text: string;
  /** The offset from which on the characters of a line stand further right than in the text before, and by how many; or null. */
  readonly shift: { readonly at: number; readonly by: number } | null;
}

/**
 * Adds the `return` in front of the last statement of a body, if that is an expression whose value the body may have meant to
 * return. All lines keep their numbers.
 *
 * @param text a body that V8 has parsed, without types
 * @returns null for any other body
 */
export function withReturn(text: string): ReturningBody | null {
  const last = lastValueOf(text);
  if (!last) return null;
  const { at, end, afterBefore, startsLine } = last;
  const rest = `\n)${text.slice(end)}`;
  // At the end of the line before, it moves no column of the statement.
  if (startsLine) {
    const head = `${text.slice(0, afterBefore)}${RETURN}`;
    return { text: `${head}${text.slice(afterBefore, end)}${rest}`, shift: null };
  }
  const head = `${text.slice(0, at)}${RETURN}`;
  return { text: `${head}${text.slice(at, end)}${rest}`, shift: { at, by: RETURN.length } };
}

/** The semicolon ends a statement that ended with its line. */
const RETURN = ";return (";
const EXPORT = "export default (";

/**
 * Makes the last statement of a module its default export, if that is an expression that begins its line, and if the module
 * exports nothing.
 *
 * @param text a module that V8 may have rejected, without types
 * @param isModule whether the text is a module, although its imports and exports may have been of types only
 * @returns null for any other text
 */
export function withDefault(text: string, isModule: boolean = /^[ \t]*import\b/m.test(text)): ReturningBody | null {
  if (!isModule || /\bexport\b/.test(text)) return null;
  const last = lastValueOf(text, (head) => checkModule(head) === null);
  if (!last?.startsLine) return null;
  const { at, end } = last;
  const changed = `${text.slice(0, at)}${EXPORT}${text.slice(at, end)}\n)${text.slice(end)}`;
  // A guess that V8 rejects is not a fault of the code.
  return checkModule(changed) === null ? { text: changed, shift: { at, by: EXPORT.length } } : null;
}

/** An arrow function with braces. */
const ARROW = /^(?:async\s*)?(?:\([^()]*\)|[\w$]+)\s*=>\s*\{([^]*)\}$/;
/** A statement that has an effect, and whose value is not meant. */
const EFFECT =
  /^(?:await|yield|new)\b|(?:^|[^=!<>])=(?![=>])|\+\+|--|\b(?:add|catch|delete|emit|end|forEach|push|send|set|setTimeout|then|write)\(/;

/** An object as the body of an arrow function: a label and a value, in which no statement begins. */
const LABELLED = /^\s*[A-Za-z_$][\w$]*\s*:(?!\s*(?:for|while|do|if|switch|try)\b)[^;{}]+$/;

/** Returns what an arrow function that returns nothing may have meant to return: an object, or its last statement; or null. Never throws. */
export function unreturnedArrow(source: string): "arrow" | "braces" | null {
  try {
    const body = source.length > MAX_CHARACTERS ? undefined : ARROW.exec(source)?.[1];
    if (body === undefined) return null;
    if (LABELLED.test(body)) return "braces";
    const last = withNodeStacks(() => lastValueOf(body));
    return last !== null && !EFFECT.test(body.slice(last.at, last.end)) ? "arrow" : null;
  } catch {
    // A task has replaced a method of patterns.
    return null;
  }
}

/** A call of console, with what it prints. */
const PRINTED = /^(?:await\s+)?(?:console\s*\.\s*\w+|process\.stdout\.write)\s*\(([^]*)\)\s*$/;
const TEXTS = /"[^"\\\n]*(?:\\.[^"\\\n]*)*"|'[^'\\\n]*(?:\\.[^'\\\n]*)*'|`[^`$\\]*`/g;

/**
 * Returns the line of the last statement of a body, if that is the only call of `console` in it and probably prints what was meant as the
 * result: the code has no `return` outside of functions, and the call is the whole code or prints more than a fixed text. Never throws.
 */
export function printedLine(text: string): number | null {
  try {
    if (text.length > MAX_CHARACTERS || text.split(/\bconsole\b|\bprocess\.stdout\b/).length !== 2) return null;
    if (/\breturn\b/.test(text) && missingReturn(`function () {\n${text}\n}`) !== "noReturn") return null;
    const last = withNodeStacks(() => lastStatementOf(text, isBody));
    return last && printsValue(text, last) ? lineOf(text, last) : null;
  } catch {
    // A task has replaced a method of texts or patterns.
    return null;
  }
}

function printsValue(text: string, { at, end, isPrinted }: LastValue): boolean {
  const printed = isPrinted ? PRINTED.exec(text.slice(at, end))?.[1] : undefined;
  if (printed === undefined) return false;
  const before = text.slice(0, at).replace(/^[ \t]*import\b.*$/gm, "");
  return before.trim() === "" || /[A-Za-z_$]/.test(printed.replace(TEXTS, ""));
}

function lineOf(text: string, { at }: LastValue): number {
  return text.slice(0, at).split("\n").length;
}

/** The end of a module without a default export. */
export interface ModuleEnd {
  readonly hint: "printedModule" | "unreturnedModule";
  readonly line: number;
}

/** Returns the last statement of a module that exports nothing, if it prints a value, or is an expression; otherwise null. Never throws. */
export function moduleEnd(text: string): ModuleEnd | null {
  try {
    if (text.length > MAX_CHARACTERS || !/^[ \t]*import\b/m.test(text) || /\bexports?\b/.test(text)) return null;
    return withNodeStacks(() => {
      const stripped = checkModule(text) === null ? null : strip("", text, "");
      if (stripped !== null && (!isStripped(stripped) || stripped.map !== null)) return null;
      const bare = stripped === null ? text : stripped.text;
      const last = lastStatementOf(bare, (head) => checkModule(head) === null);
      if (!last || (!last.isValue && !printsValue(bare, last))) return null;
      return { hint: last.isValue ? "unreturnedModule" : "printedModule", line: lineOf(bare, last) };
    });
  } catch {
    // A task has replaced a method of texts or patterns.
    return null;
  }
}

/** A declaration at the end of a body. */
export interface Declared {
  readonly name: string;
  readonly line: number;
  /** Whether the text has an import or an export, so that it cannot return. */
  readonly isInModule: boolean;
  /** Whether its value is a timer. */
  readonly isTimer: boolean;
}

/** Returns the last declaration of a body with a value, if no statement follows it. Never throws. */
export function lastDeclared(text: string): Declared | null {
  try {
    const tokens = text.length > MAX_CHARACTERS ? null : tokensOf(text);
    if (!tokens) return null;
    for (let index = tokens.length - 1; index >= 0; index -= 1) {
      const { at, depth, text: word, startsLine } = tokens[index]!;
      if (depth !== 0) continue;
      if (word === ";" && index < tokens.length - 1) return null;
      if (/^(?:const|let|var)$/.test(word)) {
        const name = tokens[index + 1];
        const isSet =
          name?.kind === "word" && tokens.slice(index + 2).some((token) => token.depth === 0 && token.text === "=");
        const isInModule = /^[ \t]*(?:import|export)\b/m.test(text);
        const isTimer = /^set(?:Timeout|Interval|Immediate)$/.test(tokens[index + 3]?.text ?? "");
        return isSet ? { name: name.text, line: text.slice(0, at).split("\n").length, isInModule, isTimer } : null;
      }
      if (startsLine && !CONTINUES.test(word) && !/^[)\]}]/.test(word)) return null;
    }
    return null;
  } catch {
    // A task has replaced a method of texts or patterns.
    return null;
  }
}

/** The last statement of a body, by offsets in its text. */
interface LastValue {
  readonly at: number;
  /** Its end, without a semicolon. */
  readonly end: number;
  /** The end of the token before it. */
  readonly afterBefore: number;
  readonly startsLine: boolean;
  /** Whether it is an expression whose value may be meant. */
  readonly isValue: boolean;
  /** Whether it is a call of `console`. */
  readonly isPrinted: boolean;
}

function lastValueOf(text: string, parses: (text: string) => boolean = isBody): LastValue | null {
  const last = lastStatementOf(text, parses);
  return last?.isValue ? last : null;
}

/**
 * V8 decides: what is before the statement must parse, and the statement as an expression.
 *
 * @param parses whether a text parses
 * @returns null if the last statement is not an expression
 */
function lastStatementOf(text: string, parses: (text: string) => boolean): LastValue | null {
  if (text.length > MAX_CHARACTERS) return null;
  const tokens = tokensOf(text);
  const final = tokens?.[tokens.length - 1];
  if (!tokens || !final) return null;
  const end = final.text === ";" ? final.at : text.length;
  let places = 0;
  for (let index = tokens.length - 1; index >= 0 && places < MAX_PLACES; index -= 1) {
    if (!mayBegin(tokens, index)) continue;
    places += 1;
    const { at, startsLine } = tokens[index]!;
    if (!isStatement(text, tokens, index, end, parses)) continue;
    const before = tokens[index - 1];
    const afterBefore = before ? before.at + before.text.length : 0;
    const isPrinted = isCallOfConsole(tokens, index);
    return { at, end, afterBefore, startsLine, isPrinted, isValue: !isPrinted && isValue(tokens, index) };
  }
  return null;
}

/** Whether a statement may begin with this token. */
function mayBegin(tokens: readonly Token[], index: number): boolean {
  const { depth, text, startsLine } = tokens[index]!;
  if (depth !== 0 || text === ";" || text === "}") return false;
  const before = tokens[index - 1]?.text;
  if (before === undefined || before === ";") return true;
  return startsLine || before === "}";
}

function isStatement(
  text: string,
  tokens: readonly Token[],
  index: number,
  end: number,
  parses: (text: string) => boolean,
): boolean {
  const { at, text: first } = tokens[index]!;
  const before = tokens[index - 1];
  const isAfterEnd = before === undefined || before.text === ";";
  // After a block another statement may follow in the same line; after an unfinished statement it may not.
  const follows =
    isAfterEnd || !CONTINUES.test(first) || parses(`${text.slice(0, before.at)}${before.text} let $next$`);
  const isExpression = isCompiled(parseExpression(text.slice(at, end), "statement.js"));
  return isExpression && follows && parses(text.slice(0, at));
}

function isBody(body: string): boolean {
  return isCompiled(parseBody(body, "before.js"));
}

function isValue(tokens: readonly Token[], index: number): boolean {
  const first = tokens[index]!.text === "await" ? index + 1 : index;
  const { text } = tokens[first] ?? { text: "" };
  const isAsyncFunction = text === "async" && tokens[first + 1]?.text === "function";
  return !NO_VALUE.test(text) && !isAsyncFunction;
}

/** Whether a statement prints: that is in the log, and not meant as the result. */
function isCallOfConsole(tokens: readonly Token[], index: number): boolean {
  const first = tokens[index]!.text === "await" ? index + 1 : index;
  const [name, , member] = tokens.slice(first, first + 3);
  if (name?.text === "process") return member?.text === "stdout";
  return name?.text === "console" && tokens[first + 1]?.text === ".";
}
