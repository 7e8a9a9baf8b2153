import { BracketPairs } from "./bracket-pairs.ts";
import { type Token, tokensOf } from "./scan-tokens.ts";

/** A longer text is not looked at, because other runs of the guest wait meanwhile. */
const MAX_CHARACTERS = 32 * 1024;
/** The calls that are looked at. Each takes a search of the tokens behind it. */
const MAX_CALLS = 20;
/** The variables that one callback fills, as far as they are looked at. */
const MAX_NAMES = 20;
const TIMER = /^(?:setTimeout|setInterval|setImmediate|queueMicrotask|nextTick)$/;
/** Functions of node:fs and node:http that give their result to a callback. */
const OF_FILES = /^(?:readFile|readdir|stat|lstat|readlink|realpath|access|mkdtemp|mkdir|writeFile|appendFile)$/;
const OF_HTTP = /^(?:get|request)$/;
/** What may wait for the callback, or run it at once. */
const WAITS = /^(?:await|yield|Promise|emit|once)$/;

/**
 * Whether a text returns a variable that a callback of a timer, of node:fs or of node:http fills, and waits for nothing between the call
 * and that `return`. Never throws.
 */
export function isFilledLate(text: string): boolean {
  try {
    const tokens = text.length > MAX_CHARACTERS ? null : tokensOf(text);
    if (!tokens) return false;
    const pairs = new BracketPairs(tokens);
    let left = MAX_CALLS;
    for (let index = 0; index < tokens.length && left > 0; index += 1) {
      if (!isLate(tokens, index)) continue;
      left -= 1;
      const end = pairs.endOf(index + 1);
      const filled = filledIn(tokens, index + 2, end);
      if (filled.length > 0 && !isInPromise(tokens, pairs, index) && isReturned(tokens, end, index, filled))
        return true;
    }
    return false;
  } catch {
    // A task has replaced a method of texts, lists or patterns.
    return false;
  }
}

/** Whether a call at an index runs its callback after the code. */
function isLate(tokens: readonly Token[], index: number): boolean {
  const name = tokens[index]!.text;
  if (tokens[index + 1]?.text !== "(" || tokens[index - 1]?.text === "function") return false;
  const isMember = tokens[index - 1]?.text === ".";
  const owner = isMember ? (tokens[index - 2]?.text ?? "") : "";
  if (TIMER.test(name)) return owner === "" || owner === "process";
  if (OF_FILES.test(name)) return owner === "fs" || owner === ")";
  return OF_HTTP.test(name) && /^https?$/.test(owner);
}

/** Returns the variables that a callback between two tokens fills. */
function filledIn(tokens: readonly Token[], start: number, end: number): readonly string[] {
  const names: string[] = [];
  let isCallback = false;
  for (let index = start; index < end; index += 1) {
    const { kind, text } = tokens[index]!;
    if (text === "=>" || text === "function") isCallback = true;
    const before = tokens[index - 1]?.text ?? "";
    if (!isCallback || kind !== "word" || /^(?:\??\.|const|let|var)$/.test(before)) continue;
    const next = tokens[index + 1]?.text;
    const following = tokens[index + 2]?.text;
    const isSet = next === "=" && following !== "=";
    const isAdded = next === "++" || (next === "+" && following === "=") || (next === "." && following === "push");
    if ((isSet || isAdded) && names.length < MAX_NAMES && !names.includes(text)) names.push(text);
  }
  return names;
}

function isInPromise(tokens: readonly Token[], pairs: BracketPairs, index: number): boolean {
  for (let at = pairs.around(index); at !== -1; at = pairs.around(at))
    if (tokens[at - 1]?.text === "Promise") return true;
  return false;
}

/** Whether a `return` behind a call names one of the variables, before anything may wait. */
function isReturned(tokens: readonly Token[], end: number, call: number, names: readonly string[]): boolean {
  const { depth } = tokens[call]!;
  let isInReturn = false;
  for (let index = end; index < tokens.length; index += 1) {
    const { kind, text, depth: inner, startsLine } = tokens[index]!;
    if (WAITS.test(text)) return false;
    if (text === "return" && inner <= depth) isInReturn = true;
    else if (text === ";" || (startsLine && inner <= depth)) isInReturn = false;
    if (isInReturn && kind === "word" && names.includes(text) && tokens[index - 1]?.text !== ".") return true;
  }
  return false;
}
