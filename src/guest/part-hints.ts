import type { Token } from "./scan-tokens.ts";
import { scanTokens } from "./scan-tokens.ts";
import { notClosed } from "./unclosed.ts";

/** The place at which a text stops to parse. */
export interface Stop {
  readonly text: string;
  /** The text from there on. */
  readonly rest: string;
  readonly message: string;
  /** The tokens before. */
  readonly tokens: readonly Token[];
  /** The brackets that are open there. */
  readonly open: readonly Token[];
}

/** Returns the hint for a mistake in one kind of statement or expression, which the tokens before it show, or null. */
export function partHint({ text, rest, tokens, open }: Stop): string | null {
  const last = tokens[tokens.length - 1];
  const inner = open[open.length - 1];
  const opener = inner === undefined ? undefined : tokens[tokens.indexOf(inner) - 1];
  if (rest[0] === ":" && inner?.text === "{" && opener?.text === "=>")
    return "To return an object from an arrow function, put it in parentheses: (context) => ({ a: 1 }).";
  if (rest[0] === ")" && inner?.text === "(" && opener?.text === "for")
    return "A for has two semicolons: for (let i = 0; i < n; i += 1).";
  if (inner?.text === "{" && /^[A-Za-z]/.test(rest)) {
    const label = openCase(tokens, open.length);
    if (label !== null) return `A colon is missing after ${label}.`;
  }
  const mixed = /^(?:\|\||&&)/.test(rest) ? /^\?\?$/ : rest.startsWith("??") ? /^(?:\|\||&&)$/ : null;
  if (mixed !== null && tokens.some((token) => token.depth === open.length && mixed.test(token.text)))
    return "?? cannot stand next to || or &&: put one of them in parentheses, such as (a ?? b) || c.";
  if (last === undefined) return null;
  if (/^=(?![=>])/.test(rest) && inner?.text === "(" && /^(?:if|while)$/.test(opener?.text ?? "") && isValue(last))
    return "= gives a value to a variable or a member: to compare, write ===.";
  if (/^(?:if|while|switch)$/.test(last.text) && /^[\w$"'!]/.test(rest))
    return `Put what follows ${last.text} in parentheses: ${last.text} (...) { ... }.`;
  const before = tokens[tokens.length - 2];
  if (rest[0] === "{") return braceHint(last, before);
  if (rest[0] === "(" && last.kind === "word" && before?.text === "async" && last.text !== "function")
    return `Write async function ${last.text}(...) { ... }.`;
  if (inner?.text === "(" && /^for_?each$/i.test(opener?.text ?? "") && /^(?:const|let|var)$/.test(word(rest)))
    return "Write for (const item of list) { ... }.";
  if (rest[0] === "," && last.text === ",") return "One of the two commas is too many.";
  if (rest[0] === ">" && last.text === "<" && text[last.at + 1] === ">") return "Write !== instead of <>.";
  return null;
}

/** Returns the hint for a for whose parts have commas between them, or null. */
export function forHint({ rest, tokens, open }: Stop): string | null {
  const inner = open[open.length - 1];
  const at = inner === undefined ? -1 : tokens.indexOf(inner);
  if (inner?.text !== "(" || tokens[at - 1]?.text !== "for" || !COMPARES.test(rest)) return null;
  const parts = tokens.slice(at + 1).filter(({ depth }) => depth === open.length);
  const hasCommas = parts.some(({ text }) => text === ",") && parts.every(({ text }) => text !== ";");
  return hasCommas ? "The parts of a for have semicolons between them: for (let i = 0; i < n; i += 1) { ... }." : null;
}

/** A comparison, perhaps behind a name. */
const COMPARES = /^(?:[\w$]{1,64}\s*)?(?:[<>]|[!=]==?)/;

/** Returns the hint for a brace behind a word that needs something else. */
function braceHint(last: Token, before: Token | undefined): string | null {
  if (last.text === "assert" && before?.kind === "value")
    return 'Write with instead of assert: import data from "./data.json" with { type: "json" }.';
  if (/^(?:if|while|switch)$/.test(last.text))
    return `${last.text} needs a condition before this brace: ${last.text} (...) { ... }.`;
  if (last.text === "for") return "for needs its head before this brace: for (const item of list) { ... }.";
  if (/^(?:class|interface|enum|namespace)$/.test(last.text))
    return `${last.text} needs a name before this brace: ${last.text} Name { ... }.`;
  return last.text === "then" && before?.text === ")"
    ? "JavaScript has no then after a condition: write if (...) { ... }."
    : null;
}

function isValue({ kind, text }: Token): boolean {
  return kind !== "mark" || /^[)\]]$/.test(text);
}

/** Returns the hint for an operator with a space in it, such as `= >`, in the line in which a text stops to parse; or null. */
export function dividedHint(line: string): string | null {
  const { tokens } = scanTokens(line.replace(/^[)\]};,\s]+/, ""));
  for (let index = 1; index < tokens.length; index += 1) {
    const [first, second] = [tokens[index - 1]!, tokens[index]!];
    if (second.at === first.at + 1 || second.startsLine) continue;
    const operator = first.text + second.text;
    const isPart = operator === "?." ? /^[\w$[(]/.test(tokens[index + 1]?.text ?? "") : DIVIDED.test(operator);
    if (isPart) return `Write ${operator} without a space.`;
  }
  return null;
}

const DIVIDED = /^(?:=>|==|!=|<=|&&|\|\||\?\?)$/;

/** Returns the hint for a mistake with types, or null. */
export function typeHint({ text, rest, message, tokens, open }: Stop): string | null {
  const last = tokens[tokens.length - 1];
  const inner = open[open.length - 1];
  if (last === undefined) return null;
  if (rest[0] === ":" && message.startsWith("Expected '=>'"))
    return "An arrow function has => between its type and its body: (name: string): string => { ... }.";
  if (rest[0] === ":" && inner?.text === "(" && hasType(tokens, inner))
    return `${notClosed(text, inner).slice(0, -1)} before this colon.`;
  if (rest[0] === "=" && /^Expected ','|^Unexpected token/.test(message)) {
    const angle = openAngle(tokens);
    if (angle) return `The < in line ${text.slice(0, angle.at).split("\n").length} has no >.`;
  }
  const opener = inner === undefined ? undefined : tokens[tokens.indexOf(inner) - 1];
  // A statement among the members of a type, whose brace has no end.
  if (
    inner?.text === "{" &&
    last.startsLine &&
    STATEMENT.test(last.text) &&
    /^[\w$*{[]/.test(rest) &&
    kindOf(tokens, tokens.indexOf(inner)) !== null
  )
    return notClosed(text, inner);
  // Braces behind a colon are read as a type of members.
  if (inner?.text === "{" && opener?.text === ":" && last.text === "return")
    return "A type is missing between the colon and the brace.";
  if (!message.includes("Expected a type")) return null;
  if (last === inner && !/^[\w$"'`]/.test(rest) && !/^[)\]}]/.test(rest))
    return `${notClosed(text, inner).slice(0, -1)} before this ${rest[0]}.`;
  return `A type is missing after ${last.text}.`;
}

const STATEMENT = /^(?:export|import|const|let|var|function|class|async|return)$/;

/** Whether a parameter of the parenthesis that is open has a type already. */
function hasType(tokens: readonly Token[], inner: Token): boolean {
  for (let index = tokens.length - 1; index >= 0 && tokens[index] !== inner; index -= 1) {
    const { text, depth } = tokens[index]!;
    if (depth !== inner.depth + 1) continue;
    if (/^[?,]$/.test(text)) return false;
    if (text === ":") return true;
  }
  return false;
}

/** Returns the bracket of a list of types that is open in the last statement, or null. */
function openAngle(tokens: readonly Token[]): Token | null {
  let closed = 0;
  const depth = tokens[tokens.length - 1]!.depth;
  for (let index = tokens.length - 1; index >= 0; index -= 1) {
    const token = tokens[index]!;
    if (token.depth < depth || /^[;{}=]$/.test(token.text)) return null;
    if (token.text === ">") closed += 1;
    if (token.text !== "<") continue;
    if (closed === 0) return token;
    closed -= 1;
  }
  return null;
}

/** Returns the hint for a member that follows another one of an enum, an interface or a class in the same line, or null. */
export function memberHint({ rest, tokens, open }: Stop, next: string): string | null {
  const inner = open[open.length - 1];
  if (inner?.text !== "{" || !/^["'\w$[]/.test(rest)) return null;
  const at = tokens.indexOf(inner);
  const kind = kindOf(tokens, at);
  if (kind === "enum") return `A comma is missing before ${next}.`;
  if (kind === null) return null;
  const [before, last] = tokens.slice(-2);
  const isName = /^(?:[{,;]|readonly)$/.test(before?.text ?? "") || last!.startsLine;
  if (isName && last!.kind === "word" && /^[\w$]/.test(rest) && !/^[\w$]+\s*\??\s*[:(]/.test(rest))
    return `A colon is missing after ${last!.text}.`;
  return `Put ; or a line break before ${next}.`;
}

/** Returns the word that begins the declaration whose members a brace encloses, or null. */
function kindOf(tokens: readonly Token[], brace: number): string | null {
  const from = Math.max(0, brace - MAX_HEAD);
  for (let index = brace - 1; index >= from; index -= 1) {
    const { text, depth } = tokens[index]!;
    if (depth > tokens[brace]!.depth) continue;
    if (/^(?:enum|interface|type)$/.test(text)) return text;
    if (/^[;{}()]$/.test(text)) return null;
  }
  return null;
}

/** The tokens of the head of a declaration that are looked at. */
const MAX_HEAD = 40;

/** Returns the `case` or `default` at the end of the tokens that has no colon, or null. */
function openCase(tokens: readonly Token[], depth: number): string | null {
  for (let index = tokens.length - 1; index >= 0; index -= 1) {
    const { text, depth: at } = tokens[index]!;
    if (at !== depth) continue;
    if (text === "case" || text === "default") return text;
    if (/^[:;{}]$/.test(text)) return null;
  }
  return null;
}

function word(rest: string): string {
  return /^[A-Za-z]+/.exec(rest)?.[0] ?? "";
}

/** The longest token that a hint repeats. */
const MAX_SHOWN = 24;

/** Returns the hint for what has no other: it names what cannot follow what. */
export function followsHint({ rest, message, tokens }: Stop): string | undefined {
  // Other messages are about the meaning of what can stand there.
  if (!OF_TOKEN.test(message)) return undefined;
  const last = tokens[tokens.length - 1]?.text;
  const next = scanTokens(rest.slice(0, MAX_NEXT)).tokens[0]?.text ?? /^[)\]}]/.exec(rest)?.[0];
  if (last === undefined || next === undefined || last.length > MAX_SHOWN || next.length > MAX_SHOWN) return undefined;
  // Between two words, or after the end of a statement, anything may be wrong.
  if (/^[;}]$/.test(last) || (/^[\w$]+$/.test(last) && /^[\w$]/.test(next))) return undefined;
  return `${next} cannot follow ${last} here: perhaps a comma, an operator or a bracket between them is missing or too many.`;
}

/** Messages of the parsers for a token that cannot stand where it stands. */
const OF_TOKEN = /^(?:Invalid or )?unexpected |^missing |^Malformed |^Expected |^Expression expected/i;
/** The characters behind the stop that are read for the next token. */
const MAX_NEXT = 100;
