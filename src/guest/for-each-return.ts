import { BracketPairs } from "./bracket-pairs.ts";
import { type Token, tokensOf } from "./scan-tokens.ts";

/** A longer text is not looked at, because other runs of the guest wait meanwhile. */
const MAX_CHARACTERS = 32 * 1024;
/** How many brackets around a `return` are looked at. */
const MAX_LEVELS = 20;
const STATEMENT = /^(?:if|for|while|switch|catch|with)$/;

/** Whether a text returns a value in the function that it gives to forEach, which ends that function only. Never throws. */
export function returnsInForEach(text: string): boolean {
  try {
    const tokens = text.length > MAX_CHARACTERS || !text.includes(".forEach(") ? null : tokensOf(text);
    if (!tokens) return false;
    const pairs = new BracketPairs(tokens);
    return tokens.some((token, index) => {
      const next = tokens[index + 1];
      if (token.text !== "return" || next === undefined || next.startsLine || /^[;}]$/.test(next.text)) return false;
      return isInForEach(tokens, pairs, index);
    });
  } catch {
    // A task has replaced a method of texts, lists or patterns.
    return false;
  }
}

/** Whether the innermost function around a token is an argument of forEach. */
function isInForEach(tokens: readonly Token[], pairs: BracketPairs, index: number): boolean {
  let at = pairs.around(index);
  for (let level = 0; level < MAX_LEVELS && at !== -1; level += 1) {
    if (tokens[at]!.text === "{" && isFunction(tokens, pairs, at)) {
      const outer = pairs.around(at);
      return outer !== -1 && tokens[outer - 1]?.text === "forEach" && tokens[outer - 2]?.text === ".";
    }
    at = pairs.around(at);
  }
  return false;
}

/** Whether a brace begins the body of a function. */
function isFunction(tokens: readonly Token[], pairs: BracketPairs, brace: number): boolean {
  const before = tokens[brace - 1]?.text;
  if (before === "=>") return true;
  return before === ")" && !STATEMENT.test(tokens[pairs.startOf(brace - 1) - 1]?.text ?? "");
}
