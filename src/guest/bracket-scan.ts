import { triviaLength } from "./trivia.ts";

/**
 * Decides by a scan what would otherwise take V8 another parse of the text. A scan cannot read every text: it is certain where it
 * answers true, and where it answers false, only a grammar can decide.
 */

/** The words after which a slash begins a regular expression. */
const WORDS = "return|typeof|case|in|of|instanceof|new|delete|void|throw|else|do|yield|await|extends";
/**
 * What a scan reads as one token: strings, comments, templates without expressions, brackets, and the regular expressions and divisions
 * whose slash cannot be the other of the two. A quote, slash or escape that is left over ends a scan.
 */
const TOKENS = new RegExp(
  [
    String.raw`"(?:[^"\\\n]|\\[^])*"|'(?:[^'\\\n]|\\[^])*'`,
    // An escape continues the template, and so does a dollar sign without a brace.
    "`(?:[^`\\\\$]|\\\\[^]|\\$(?!\\{))*`",
    String.raw`\/\/[^\n\r\u2028\u2029]*|\/\*[^]*?\*\/`,
    // On the same line as an operator before it, because a line comment may end with the same character.
    String.raw`\/(?<=[(,=:[!&|?][ \t]*\/)(?![*/])(?:[^\\/[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/`,
    String.raw`\/(?<=[\w$\]][ \t]*\/)(?<!\b(?:${WORDS})[ \t]*\/)(?![*/])`,
    // The group is what ends a scan.
    "(<!--|-->|[`/\\\\\"'])|[(){}]",
  ].join("|"),
  "g",
);

/** Whether each closing bracket of a text that V8 has parsed in a wrapper follows its opening one, so that none closes the wrapper. */
export function isBalanced(text: string, open: "(" | "{", close: ")" | "}"): boolean {
  let depth = 0;
  TOKENS.lastIndex = 0;
  for (let match = TOKENS.exec(text); match; match = TOKENS.exec(text)) {
    const token = match[0];
    if (token === open) depth += 1;
    else if (token === close) {
      depth -= 1;
      if (depth < 0) return false;
    } else if (match[1] !== undefined) return false;
  }
  return depth === 0;
}

/** A text that is one function, with the names of its parameters. */
export interface WholeFunction {
  readonly parameters: string;
}

/** The start of a function with simple parameters, up to its body. */
const HEAD =
  /(?:async[ \t]+)?(?:function(?:[ \t]+[\w$]+)?[ \t]*\(([\w$\s,]*)\)\s*|(?:\(([\w$\s,]*)\)|([\w$]+))[ \t]*=>\s*)\{/y;

/** Returns the function if a text is one, with nothing but comments around it; null for any other text, and if a scan cannot tell. */
export function wholeFunction(text: string): WholeFunction | null {
  HEAD.lastIndex = triviaLength(text);
  const head = HEAD.exec(text);
  if (!head || /\bawait\b/.test(head[0])) return null;
  let depth = 1;
  TOKENS.lastIndex = HEAD.lastIndex;
  for (let match = TOKENS.exec(text); match; match = TOKENS.exec(text)) {
    const token = match[0];
    if (token === "{") depth += 1;
    else if (token === "}") {
      depth -= 1;
      if (depth > 0) continue;
      const rest = text.slice(TOKENS.lastIndex);
      return triviaLength(rest) === rest.length ? { parameters: head[1] ?? head[2] ?? head[3]! } : null;
    } else if (match[1] !== undefined) return null;
  }
  return null;
}
