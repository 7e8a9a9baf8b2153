import { DASHED, dashHint, dashlessHint } from "./dash-names.ts";
import { exportHint, type NamesOf } from "./export-hints.ts";
import { messageHint } from "./message-hints.ts";
import { nearName } from "./near-name.ts";
import { dividedHint, followsHint, forHint, memberHint, partHint, type Stop, typeHint } from "./part-hints.ts";
import { scanTokens, type Scanned, type Token } from "./scan-tokens.ts";
import { offsetOf, type SyntaxFailure } from "./syntax.ts";
import { isPair, notClosed, unclosedBrace } from "./unclosed.ts";
import { wordOperatorHint } from "./word-operators.ts";
import { wrongExport } from "./wrong-export.ts";

const KEYWORDS =
  "return const let var function async await import export default class extends throw while switch typeof instanceof continue break catch finally yield delete else for if new try".split(
    " ",
  );
/** A word that begins a statement, so that it cannot stand in an object, in brackets or in a call. */
const BEGINS = /^(?:const|let|var|return|if|for|while|import|export|throw|switch|try|do)$/;
const OPERATOR = /^(?:[+\-*/%=<>&|^!~?:,.]|=>|&&|\|\||\?\?|\?\.)$/;
/** A longer line is not looked at, because other runs of the guest wait meanwhile. */
const MAX_LINE = 16 * 1024;
/** The part of a text in front of a failure that a message may be about. */
const MAX_BEFORE = 80;

/**
 * Returns the hint for a text that does not parse because of a frequent mistake of grammar, or undefined. Never throws.
 *
 * @param namesOf returns the exports of a submitted module or a package, if they are known
 */
export function grammarHint(
  text: string,
  { message, position }: SyntaxFailure,
  namesOf: NamesOf = () => null,
): string | undefined {
  try {
    const at = position ? offsetOf(text, position) : text.length;
    const declared = /^Identifier '(.{1,64})' has already been declared/.exec(message)?.[1];
    if (declared !== undefined) {
      const { tokens, open } = scanTokens(text.slice(0, at));
      const parts = position && forHint({ text, rest: text.slice(at), message, tokens, open });
      return parts ?? `Assign to ${declared} without const or let, or choose another name.`;
    }
    const named = messageHint(message, text.slice(at), text.slice(Math.max(0, at - MAX_BEFORE), at));
    if (named !== undefined) return named;
    if (/^[ \t]*import\s*\*\s*from\b/m.test(text) && /'from'/.test(message))
      return 'Name what * stands for: import * as name from "module".';
    const [, module, name] = /module '(.{1,100})' does not provide an export named '(.{1,64})'/.exec(message) ?? [];
    if (name !== undefined) return exportHint(text, module!, name, namesOf);
    if (hasEscapedLines(text, position)) return ESCAPED_LINES;
    if (hasLostLines(text)) return LOST_LINES;
    const wrong = wrongExport(text, position);
    if (wrong !== null) return wrong;
    if (!position) return undefined;
    if (message.startsWith("Missing initializer in const")) return initializerHint(text.slice(at));
    if (message.startsWith("Missing initializer in destr"))
      return "A pattern needs a value: const { name } = value. Check that each bracket before it is closed.";
    if (touches(text, at)) return LOST_LINES;
    const scanned = scanTokens(text.slice(0, at));
    return hintAt(text, at, message, scanned);
  } catch {
    // A task has replaced a method of texts or patterns.
    return undefined;
  }
}

const UNQUOTED = /^[ \t]*import[ \t]+([\w$]{1,64}|\{[^{}\n]{1,200}\})[ \t]+from[ \t]+([\w./@-]{1,100})[ \t]*;?[ \t]*$/m;

/** Returns the hint for an import whose module is not in quotes, or null. */
export function unquotedHint(text: string): string | null {
  const [, names, module] = UNQUOTED.exec(text) ?? [];
  return names === undefined ? null : `Write the name of the module in quotes: import ${names} from "${module}".`;
}

function initializerHint(rest: string): string {
  const dashed = DASHED.exec(rest)?.[1];
  if (dashed !== undefined) return dashlessHint(dashed);
  if (/^\s*[\w$]+\s*==/.test(rest)) return "Write = instead of == to give a value.";
  return "Give the const a value, or declare the variable with let.";
}

/** A statement begins with one of these words. */
const STATEMENT = /^(?:const|let|var|return|import|export|function|class|async|for|while|if|switch|throw|try|await)\b/;

/** Whether a statement begins behind the end of another one in the same line of a text of one line, as without line breaks. */
function touches(text: string, at: number): boolean {
  if (text.length > MAX_LINE || /[\r\n]/.test(text.trimEnd()) || !STATEMENT.test(text.slice(at))) return false;
  return /[\w"'`\])}](?: {2,}|\t+)?$/.test(text.slice(Math.max(0, at - 80), at));
}

const ESCAPED_LINES =
  "The text contains the two characters \\n instead of line breaks. In JSON, write \\n and not \\\\n; in a shell, use real line breaks, $'...', or --data-binary @task.js.";

/** Whether a parser stops at a line break that is written as \\n, outside of texts, in a text of one line. */
function hasEscapedLines(text: string, position: SyntaxFailure["position"]): boolean {
  if (text.length > MAX_LINE || /[\r\n]/.test(text.trimEnd())) return false;
  // Without a position, the backslash follows the end of a statement.
  return position ? /^(?:\\r)?\\n/.test(text.slice(offsetOf(text, position))) : /[;{})\]]\s*\\n/.test(text);
}

const LOST_LINES =
  "The text has one line only, as curl sends a file with -d or --data: send it with --data-binary @task.js, which keeps the line breaks.";

/** Whether the text looks like several lines whose line breaks were removed: a comment swallows the rest, or statements touch. */
export function hasLostLines(text: string): boolean {
  if (text.length > MAX_LINE || /[\r\n]/.test(text.trimEnd())) return false;
  if (/[\w;(){},[\]] *(?<!:)\/\/ *\w/.test(text)) return true;
  return /[\w"')\]](?:const|let|var|return|import|export) [\w{$]|\d(?:for|if|while|switch) ?\(|\d(?:function|async|class) /.test(
    text,
  );
}

function hintAt(text: string, at: number, message: string, { tokens, open, isWhole }: Scanned): string | undefined {
  const rest = text.slice(at);
  if (/^\d+[A-Za-z_$]/.test(rest)) return "A name cannot begin with a digit.";
  const last = tokens[tokens.length - 1];
  const inner = open[open.length - 1];
  if (/^#(?!!)/.test(rest) && !/(?:[.\w$]|\bin\s*)$/.test(text.slice(0, at)))
    return "A comment of JavaScript begins with //, and not with #.";
  if (rest.startsWith("/*") && !rest.includes("*/")) return "The comment that begins here has no */ at its end.";
  if (/^["']/.test(rest) && !QUOTED.test(rest))
    return `The text that begins here has no ${rest[0]} at its end, in the same line.`;
  const isEnd = rest.trim() === "" || /^Unexpected end of input|^Unterminated template/.test(message);
  if (message.startsWith("Missing } in template") && inner) return notClosed(text, inner);
  const surplus = isEnd && !isWhole && last ? surplusAfter(text, last.at + last.text.length) : null;
  if (surplus !== null) return surplus;
  if (isEnd && inner !== undefined) return notClosed(text, unclosedBrace(text, tokens, inner));
  if (isEnd) return "The code ends in the middle of a statement.";
  const stop: Stop = { text, rest, message, tokens, open };
  const part =
    dividedHint(lineAt(text, at)) ??
    dashHint(stop) ??
    wordOperatorHint(stop) ??
    forHint(stop) ??
    partHint(stop) ??
    typeHint(stop);
  if (part !== null) return part;
  if (/^[)\]}]/.test(rest) && inner && last?.text === "," && !isPair(inner.text, rest[0]!))
    return `${notClosed(text, inner).slice(0, -1)} before this ${rest[0]}.`;
  const near = last?.kind === "word" && !KEYWORDS.includes(last.text) ? nearName(last.text, KEYWORDS) : null;
  if (near !== null) return `Did you mean ${near}?`;
  const word = /^[A-Za-z]+/.exec(rest)?.[0] ?? "";
  if (inner !== undefined && BEGINS.test(word)) return notClosed(text, inner);
  // A statement in an object, a pattern or a type: what comes before its brace has no end.
  if (inner?.text === "{" && last?.kind === "word" && BEGINS.test(last.text)) {
    if (isParameter(tokens, inner)) return notClosed(text, open[open.length - 2]!);
    if (isObject(tokens, inner)) return notClosed(text, inner);
  }
  if (rest[0] === ";" && inner?.text === "{" && isObject(tokens, inner) && !/^;\s*(?:[\w$"']+\s*[:,;}(]|\})/.test(rest))
    return `${notClosed(text, inner).slice(0, -1)} before this ;.`;
  if (rest[0] === ";" && inner?.text === "{" && isObject(tokens, inner))
    return "Separate the members of an object by commas.";
  if (/^[;)\]}]/.test(rest) && last?.kind === "mark" && OPERATOR.test(last.text))
    return `A value is missing after ${last.text}.`;
  if (/^[*%|^]/.test(rest) && last?.kind === "mark" && /^[+\-*/%=<>&|^]$/.test(last.text))
    return `A value is missing between ${last.text} and ${rest[0]}.`;
  const opener = inner === undefined ? undefined : tokens[tokens.indexOf(inner) - 1]?.text;
  const isCut =
    (rest[0] === ";" && /^[([]$/.test(inner?.text ?? "") && opener !== "for") ||
    (rest[0] === "{" && inner?.text === "(" && /^(?:if|for|while|switch|catch)$/.test(opener ?? ""));
  if (/^[)\]}]/.test(rest) || (isCut && inner !== undefined)) {
    return inner === undefined
      ? `Nothing opens this ${rest[0]}.`
      : `${notClosed(text, inner).slice(0, -1)} before this ${rest[0]}.`;
  }
  const quote = quoteHint(rest, at, last);
  if (quote !== null) return quote;
  const separator = separatorHint(stop);
  if (separator !== null) return separator;
  if (word === "yield" || last?.text === "yield")
    return "yield is valid only in a function*, such as function* numbers() { yield 1 }.";
  return followsHint(stop);
}

/** A text in quotes, with its end. */
const QUOTED = /^(?:"[^"\\\n]*(?:\\[^][^"\\\n]*)*"|'[^'\\\n]*(?:\\[^][^'\\\n]*)*')/;
/** A name between two texts, as where a + is missing. */
const JOINED = /^[A-Za-z_$][\w$]*[ \t]*["'`+]/;
/** The longest part of a token that a hint repeats. */
const MAX_SHOWN = 40;

/** Returns the line of an offset. */
function lineAt(text: string, at: number): string {
  const end = text.indexOf("\n", at);
  return text.slice(text.lastIndexOf("\n", at - 1) + 1, end === -1 ? text.length : end).slice(0, MAX_LINE);
}

/** Returns the hint for a text that ends at a quote inside of it, because a word touches the quote; or null. */
function quoteHint(rest: string, at: number, last: Token | undefined): string | null {
  const quote = last?.kind === "value" ? last.text[last.text.length - 1]! : "";
  if (!/^["'`]$/.test(quote) || last!.at + last!.text.length !== at || STATEMENT.test(rest)) return null;
  const word = /^[A-Za-z_$][\w$]{0,40}/.exec(rest)?.[0];
  if (word === undefined) return null;
  const other =
    quote === "'" ? ", or put the text in double quotes" : quote === '"' ? ", or put the text in single quotes" : "";
  return `The ${quote} before ${word} ends the text: write \\${quote} inside of it${other}.`;
}

/** Returns the hint for a bracket behind an offset that closes no other, or null. */
function surplusAfter(text: string, from: number): string | null {
  const [bracket] = /^\s*([)\]}])/.exec(text.slice(from))?.slice(1) ?? [];
  if (bracket === undefined) return null;
  const line = text.slice(0, text.indexOf(bracket, from)).split("\n").length;
  return `Nothing opens the ${bracket} in line ${line}.`;
}

const RESERVED =
  /^(?:break|case|catch|class|const|continue|debugger|default|delete|do|else|enum|export|extends|finally|for|function|if|import|in|instanceof|new|return|super|switch|this|throw|try|typeof|var|void|while|with)$/;

/** Returns the hint for a value that follows another one without a comma or an operator, or for a word that is no name; or null. */
function separatorHint(stop: Stop): string | null {
  const { rest, tokens, open } = stop;
  const last = tokens[tokens.length - 1];
  const inner = open[open.length - 1];
  const next = /^(?:[A-Za-z_$][\w$]{0,40}|\d[\w.]{0,20}|["'`{[])/.exec(rest)?.[0];
  if (next === "else" && (inner === undefined || last?.text !== "{"))
    return "This else has no if: close the block of an if before it.";
  if (next === undefined || last === undefined) return null;
  if (/^(?:const|let|var)$/.test(last.text) && RESERVED.test(next))
    return `${next} is a word of the language: choose another name.`;
  if (next === "else") return "The block before this else has no }.";
  const name = tokens[tokens.indexOf(last) - 1];
  const isEnd =
    last.kind === "value" || /^[)\]}]$/.test(last.text) || (last.kind === "word" && !KEYWORDS.includes(last.text));
  if (!isEnd || name?.text === "async") return null;
  if (next === "{") return functionHint(last, tokens);
  const member = memberHint(stop, next);
  if (member !== null) return member;
  const opener = inner === undefined ? undefined : tokens[tokens.indexOf(inner) - 1];
  const isList =
    inner !== undefined &&
    (inner.text === "[" ||
      (inner.text === "(" && !/^(?:if|for|while|switch)$/.test(opener?.text ?? "")) ||
      (inner.text === "{" && (isObject(tokens, inner) || /^(?:const|let|var)$/.test(opener?.text ?? ""))));
  const isName = last.kind === "value" && inner?.text === "{" && /^[,{]$/.test(name?.text ?? "");
  if (isName && (isList || tokens[0] === inner)) return `A colon is missing after ${last.text.slice(0, MAX_SHOWN)}.`;
  if (isList) return `A comma is missing before ${next}.`;
  if (/^["']/.test(next)) return `An operator, such as +, is missing before this text.`;
  if (/^["']/.test(last.text) && JOINED.test(rest) && !STATEMENT.test(rest))
    return `An operator, such as +, is missing before ${next}.`;
  return last.kind === "value" || STATEMENT.test(rest)
    ? `A semicolon or a line break is missing before ${next}.`
    : null;
}

/** Words of other languages that stand in front of a condition, or of a list. */
const ELSE_IF = /^(?:else_?if|elsif|elif)$/i;
const FOR_EACH = /^for_?each$/i;

/** Returns the hint for a brace after a call, as of a function without its word, or null. */
function functionHint(last: Token, tokens: readonly Token[]): string | null {
  if (last.text !== ")") return null;
  for (let index = tokens.length - 1; index > 0; index -= 1) {
    const { text, depth } = tokens[index]!;
    if (depth !== last.depth || text !== "(") continue;
    const name = tokens[index - 1]!;
    if (name.kind !== "word" || tokens[index - 2]?.text === "." || KEYWORDS.includes(name.text)) return null;
    if (ELSE_IF.test(name.text)) return `JavaScript has no ${name.text}: write else if (...) { ... }.`;
    if (FOR_EACH.test(name.text)) return `JavaScript has no ${name.text}: write for (const item of list) { ... }.`;
    return name.text === "fetch"
      ? "Write export default { fetch(request) { ... } }."
      : `Write function ${name.text}(...) { ... }.`;
  }
  return null;
}

/** Whether a brace follows an opening parenthesis, as in the parameters of a function. */
function isParameter(tokens: readonly Token[], brace: Token): boolean {
  return tokens[tokens.indexOf(brace) - 1]?.text === "(";
}

/** Whether a brace begins an object: it follows an operator, a bracket or return. */
function isObject(tokens: readonly Token[], brace: Token): boolean {
  const before = tokens[tokens.indexOf(brace) - 1];
  return before !== undefined && (/^(?:return|default)$/.test(before.text) || /^[=(,:[?]$/.test(before.text));
}
