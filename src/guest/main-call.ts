import type { Emptied } from "./emptied.ts";
import { type Token, tokensOf } from "./scan-tokens.ts";
import { callAtEnd, returnsNothing } from "./silent-call.ts";

/** A longer text is not looked at, because other runs of the guest wait meanwhile. */
const MAX_CHARACTERS = 32 * 1024;
/** A call of a program that tests whether it is the main module, at the end of a text. */
const IF_MAIN =
  /(?:^|[;}\n])[ \t]*if\s*\(\s*(?:require\s*\.\s*main\s*===?\s*module|module\s*===?\s*require\s*\.\s*main)\s*\)\s*(?:\{\s*)?(?:await\s+)?([A-Za-z_$][\w$]{0,63})\s*\([^(){}]{0,200}\)[^(){}]{0,20}\}?\s*;?\s*$/;

/**
 * Returns the hint for code that returned nothing, because nothing returns the value of the function that does its work: its call stands
 * above its declaration, or behind a test for the main module. Otherwise null. Never throws.
 */
export function mainCall(text: string): Emptied | null {
  try {
    if (text.length > MAX_CHARACTERS) return null;
    const main = IF_MAIN.exec(text);
    if (main) {
      const line = text.slice(0, text.lastIndexOf("if", main.index + main[0].lastIndexOf("main"))).split("\n").length;
      return { hint: "mainModule", path: `.${main[1]!}.line${line}` };
    }
    const all = tokensOf(text);
    const tokens = all && withoutLastFunctions(all);
    const at = tokens && tokens.length < all.length ? callAtEnd(tokens) : -1;
    if (!tokens || at === -1) return null;
    const { text: name, at: offset } = tokens[at]!;
    const isReturned = tokens.some(({ text: word, depth }) => word === "return" && depth === 0);
    const isDeclared = all.some(({ text: word, depth }, index) => {
      return depth === 0 && word === "function" && all[index + 1]?.text === name;
    });
    if (isReturned || !isDeclared) return null;
    const line = text.slice(0, offset).split("\n").length;
    return { hint: returnsNothing(text, name) ? "noValue" : "unreturnedCall", path: `.${name}.line${line}` };
  } catch {
    // A task has replaced a method of texts, lists or patterns.
    return null;
  }
}

/** Returns the tokens in front of the function declarations that end a text. */
function withoutLastFunctions(tokens: readonly Token[]): readonly Token[] {
  let end = tokens.length;
  for (;;) {
    if (tokens[end - 1]?.text !== "}" || tokens[end - 1]!.depth !== 0) return tokens.slice(0, end);
    let start = end - 1;
    while (start > 0 && !(tokens[start]!.depth === 0 && tokens[start]!.text === "function")) {
      // Another statement begins behind the last function.
      if (start < end - 1 && tokens[start]!.depth === 0 && /^[;}]$/.test(tokens[start]!.text))
        return tokens.slice(0, end);
      start -= 1;
    }
    if (tokens[start]!.text !== "function") return tokens.slice(0, end);
    if (tokens[start - 1]?.text === "async") start -= 1;
    if (!tokens[start]!.startsLine) return tokens.slice(0, end);
    end = start;
  }
}
