import { isCompiled, parseBody, parseExpression } from "./parse.ts";
import { type Token, tokensOf } from "./tokens.ts";

/** The most places at which the last statement is looked for. Each takes V8 two parses of the text. */
const MAX_PLACES = 20;
/** A longer text is not looked at, because other runs of the guest wait meanwhile. */
const MAX_CHARACTERS = 32 * 1024;
/** A line that begins with one of these may continue the line before it. */
const CONTINUES = /^(?:[([+\-/*.,`?:%&|^<>=]|\?\.|\?\?|&&|\|\||\+\+|--|=>|in|instanceof)/;
/** A statement that begins with one of these is no expression, or its value is not meant. */
const NO_VALUE = /^(?:\{|function|class|void|delete|throw|debugger)$/;

/**
 * Returns the line of the last statement of a body, if that is an expression whose value the body may have meant to return.
 * V8 decides: what is before the statement must parse as a body, and the statement as an expression.
 *
 * @param text a body that V8 has parsed, without types
 */
export function unreturnedLine(text: string): number | null {
  if (text.length > MAX_CHARACTERS) return null;
  const tokens = tokensOf(text);
  if (tokens === null) return null;
  let places = 0;
  for (let index = tokens.length - 1; index >= 0 && places < MAX_PLACES; index -= 1) {
    if (!mayBegin(tokens, index)) continue;
    places += 1;
    const { at } = tokens[index]!;
    if (!isStatement(text, tokens, index)) continue;
    return isValue(tokens, index) ? text.slice(0, at).split("\n").length : null;
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

function isStatement(text: string, tokens: readonly Token[], index: number): boolean {
  const { at, text: first } = tokens[index]!;
  const before = tokens[index - 1];
  const isAfterEnd = before === undefined || before.text === ";";
  // After a block another statement may follow in the same line; after an unfinished statement it may not.
  const follows =
    isAfterEnd || !CONTINUES.test(first) || parses(`${text.slice(0, before.at)}${before.text} let $next$`);
  const statement = text.slice(at).trimEnd().replace(/;$/, "");
  const isExpression = isCompiled(parseExpression(statement, "statement.js"));
  return isExpression && follows && parses(text.slice(0, at));
}

function parses(body: string): boolean {
  return isCompiled(parseBody(body, "before.js"));
}

function isValue(tokens: readonly Token[], index: number): boolean {
  const first = tokens[index]!.text === "await" ? index + 1 : index;
  const { text } = tokens[first] ?? { text: "" };
  const isAsyncFunction = text === "async" && tokens[first + 1]?.text === "function";
  // What is printed is in the log, and not meant as the result.
  const isPrinted = text === "console" && tokens[first + 1]?.text === ".";
  return !NO_VALUE.test(text) && !isAsyncFunction && !isPrinted;
}
