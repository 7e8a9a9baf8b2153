import { tokensOf } from "./scan-tokens.ts";

/** The last text: several hints of one run look at it. */
let last: { readonly text: string; readonly plain: string } | null = null;

/** Returns a text without its comments and the contents of its texts, so that no word of them is taken for code. */
export function withoutTexts(text: string): string {
  if (last?.text !== text) last = { text, plain: plainOf(text) };
  return last.plain;
}

function plainOf(text: string): string {
  const tokens = tokensOf(text);
  if (!tokens) return text;
  let plain = "";
  for (let index = 0; index < tokens.length; index += 1) {
    const { at, kind, text: token } = tokens[index]!;
    const next = tokens[index + 1];
    const hasBreak = next?.startsLine === true;
    const hasSpace = next !== undefined && next.at > at + token.length;
    const shown = kind === "value" && /^["'`/}]/.test(token) ? shortened(token) : token;
    plain += hasBreak ? `${shown}\n` : hasSpace ? `${shown} ` : shown;
  }
  return plain;
}

/** Returns the marks of a text or of a part of a template, without what is between them. */
function shortened(token: string): string {
  const end = token.endsWith("${") ? "${" : token[token.length - 1]!;
  return `${token[0]!}${end}`;
}
