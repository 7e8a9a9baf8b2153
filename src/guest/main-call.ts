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
 * above its declaration, or behind a test for the main module, or there is none. Otherwise null. Never throws.
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
    if (!tokens || tokens.length === all.length) return null;
    const at = callAtEnd(tokens);
    if (at === -1) return uncalledFunction(text, all, tokens.length);
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

/** Names of a function that does the work of a program. */
const MAIN = /^(?:main|run|start|solve|solution|handler|execute)$/;
const DECLARES = /^(?:const|let|var|import|function|async|class|type|interface)$/;
const NAME = /^[A-Za-z_$][\w$]{0,63}$/;

/**
 * Returns the hint for a text that ends with function declarations, and names the function that does its work nowhere else: one with the
 * name of a main function, or the last one of a text that has only functions. Otherwise null.
 *
 * @param end the number of tokens in front of the declarations
 */
function uncalledFunction(text: string, all: readonly Token[], end: number): Emptied | null {
  if (all.some(({ text: word, depth }) => word === "return" && depth === 0)) return null;
  // Another statement before the declarations may be the whole work.
  if (all.slice(0, end).some(isOther)) return null;
  let at = end;
  for (let index = end; index < all.length && !MAIN.test(all[at + 1]!.text); index += 1)
    if (all[index]!.depth === 0 && all[index]!.text === "function") at = index;
  const name = all[at + 1]!.text;
  if (!(end === 0 ? NAME : MAIN).test(name)) return null;
  const close = all.findIndex(({ depth, text: word }, index) => index > at && depth === 0 && word === "}");
  if (all.some(({ text: word }, index) => word === name && (index < at || index > close))) return null;
  return { hint: "uncalledMain", path: `.${name}${/^[ \t]*import\b/m.test(text) ? ".module" : ""}` };
}

function isOther({ depth, kind, startsLine, text: word }: Token): boolean {
  return depth === 0 && startsLine && kind === "word" && !DECLARES.test(word);
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
