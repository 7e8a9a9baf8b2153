import type { Stop } from "./part-hints.ts";

/** An operator of other languages that is a word, with a value behind it. */
const BINARY = /^(and|or)(?:\s+["'`\w$([{!-]|\()/i;
const VALUE = /^(?:["'`\w$([{!]|-\d)/;
const DECLARED = /\b(?:const|let|var|function|class)\s+(?:and|or|not)\b/i;
const KEYWORD =
  /^(?:return|const|let|var|function|await|new|typeof|case|throw|in|of|else|do|yield|import|export|class)$/;

/** Returns the hint for `and`, `or` or `not`, at which or behind which a text stops to parse; or null. */
export function wordOperatorHint({ text, rest, tokens }: Stop): string | null {
  const last = tokens[tokens.length - 1];
  const before = tokens[tokens.length - 2];
  if (last === undefined || DECLARED.test(text)) return null;
  const isMember = /^\??\.$/.test(before?.text ?? "");
  if (/^not$/i.test(last.text) && !isMember && VALUE.test(rest)) return `JavaScript has no ${last.text}: write !.`;
  const word = BINARY.exec(rest)?.[1];
  if (word === undefined) return null;
  const isValue =
    last.kind === "value" ||
    /^[)\]]$/.test(last.text) ||
    (last.kind === "word" && (isMember || !KEYWORD.test(last.text)));
  return isValue ? `JavaScript has no ${word}: write ${word.toLowerCase() === "and" ? "&&" : "||"}.` : null;
}
