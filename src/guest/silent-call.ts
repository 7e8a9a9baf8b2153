import { missingReturn } from "./missing-return.ts";
import { type Token, tokensOf } from "./scan-tokens.ts";
import { unreturnedArrow } from "./unreturned.ts";

/** A longer text is not looked at, because other runs of the guest wait meanwhile. */
const MAX_CHARACTERS = 32 * 1024;
/** The type of what a function returns. */
const RETURN_TYPE = /^([^{}]{0,500}\))\s*:\s*[\w<>[\]|. ]{1,80}(?=\{|=>)/;

/** A call at the end of a text, of a function of the text that returns no value. */
export interface SilentCall {
  readonly name: string;
  /** The line of the call; null if `return` is in front of it. */
  readonly line: number | null;
}

/** Returns the call that ends a text, if its function is in the text and returns no value; otherwise null. Never throws. */
export function silentCall(text: string): SilentCall | null {
  try {
    const tokens = text.length > MAX_CHARACTERS ? null : tokensOf(text);
    const at = tokens ? callAtEnd(tokens) : -1;
    if (!tokens || at === -1) return null;
    const { text: name, at: offset } = tokens[at]!;
    const source = functionOf(text, tokens, name);
    if (source === null || missingReturn(source.replace(RETURN_TYPE, "$1")) !== "noReturn") return null;
    const isReturned = /^return$/.test(tokens[wordBefore(tokens, at)]?.text ?? "");
    // A function whose value is returned, and that prints nothing and does not end with a value, may have an effect only.
    if (isReturned && !endsWithValue(source) && !/\bconsole\s*\.|\bprocess\.stdout\b/.test(source)) return null;
    return { name, line: isReturned ? null : text.slice(0, offset).split("\n").length };
  } catch {
    // A task has replaced a method of texts, lists or patterns.
    return null;
  }
}

/** The functions of a text that are looked at. */
const MAX_FUNCTIONS = 20;

/**
 * Returns a function of a text that returns no value although it ends with one, and whose call the text uses as a value; otherwise null.
 * Never throws.
 */
export function silentFunction(text: string): SilentCall | null {
  try {
    const tokens = text.length > MAX_CHARACTERS ? null : tokensOf(text);
    if (!tokens) return null;
    let left = MAX_FUNCTIONS;
    for (let index = 0; index < tokens.length - 1 && left > 0; index += 1) {
      const { text: word, depth } = tokens[index]!;
      const name = tokens[index + 1]!.text;
      if (depth !== 0 || !/^(?:function|const|let|var)$/.test(word) || !isUsed(tokens, name)) continue;
      left -= 1;
      const source = functionOf(text, tokens, name);
      if (source === null || missingReturn(source.replace(RETURN_TYPE, "$1")) !== "noReturn") continue;
      if (endsWithValue(source)) return { name, line: null };
    }
    return null;
  } catch {
    // A task has replaced a method of texts, lists or patterns.
    return null;
  }
}

/** Whether a text has this function at its top level, and the function has no `return` of a value. */
export function returnsNothing(text: string, name: string): boolean {
  const tokens = text.length > MAX_CHARACTERS ? null : tokensOf(text);
  const source = tokens && functionOf(text, tokens, name)?.replace(RETURN_TYPE, "$1");
  // An arrow function without braces ends before the brace that was found.
  const hasBody = /^(?:async\s*)?(?:function\b|(?:\([^()]*\)|[\w$]+)\s*=>\s*\{)/.test(source ?? "");
  return hasBody && missingReturn(source!) === "noReturn";
}

/** Whether a text uses what a function returns: its call follows an operator, a colon, an opening bracket, a comma or `return`. */
function isUsed(tokens: readonly Token[], name: string): boolean {
  return tokens.some(({ text }, index) => {
    if (text !== name || tokens[index + 1]?.text !== "(") return false;
    return /^(?:[=:([,+*/<>-]|return|await|\?\?|&&|\|\|)$/.test(tokens[index - 1]?.text ?? "");
  });
}

/** Whether the last statement of a function without `return` is an expression that has no effect. */
function endsWithValue(source: string): boolean {
  return unreturnedArrow(`() => ${source.slice(source.indexOf("{"))}`) === "arrow";
}

/** Returns the index of the word in front of a call, without `await`. */
function wordBefore(tokens: readonly Token[], call: number): number {
  return tokens[call - 1]?.text === "await" ? call - 2 : call - 1;
}

/** Returns the index of the name of the function whose call is the last statement, perhaps with `catch` or `finally`; or -1. */
export function callAtEnd(tokens: readonly Token[]): number {
  let at = tokens.length - 1;
  if (tokens[at]?.text === ";") at -= 1;
  for (;;) {
    if (tokens[at]?.text !== ")" || tokens[at]!.depth !== 0) return -1;
    at -= 1;
    while (at >= 0 && !(tokens[at]!.depth === 0 && tokens[at]!.text === "(")) at -= 1;
    const name = tokens[at - 1];
    if (name?.kind !== "word") return -1;
    if (tokens[at - 2]?.text !== ".") break;
    if (!/^(?:catch|finally)$/.test(name.text)) return -1;
    at -= 3;
  }
  const call = at - 1;
  const before = wordBefore(tokens, call);
  const first = tokens[before + 1]!;
  const word = tokens[before]?.text ?? ";";
  return first.startsLine || /^(?:[;}]|return)$/.test(word) ? call : -1;
}

/** Returns the source of a function that a text declares at its top level, or null. */
function functionOf(text: string, tokens: readonly Token[], name: string): string | null {
  for (let index = 0; index < tokens.length - 1; index += 1) {
    const { text: word, depth, at } = tokens[index]!;
    if (depth !== 0 || tokens[index + 1]!.text !== name) continue;
    const isVariable = /^(?:const|let|var)$/.test(word) && tokens[index + 2]?.text === "=";
    if (word !== "function" && !isVariable) continue;
    const start = isVariable ? (tokens[index + 3]?.at ?? at) : at;
    let brace = index + 2;
    while (brace < tokens.length && !(tokens[brace]!.depth === 0 && tokens[brace]!.text === "{")) {
      if (tokens[brace]!.depth === 0 && tokens[brace]!.text === ";") return null;
      brace += 1;
    }
    const end = tokens.findIndex((token, other) => other > brace && token.depth === 0 && token.text === "}");
    return end === -1 ? null : text.slice(start, tokens[end]!.at + 1);
  }
  return null;
}
