import type { Token } from "./scan-tokens.ts";

const PAIRS: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}", "`": "`" };

/** Whether a closing bracket closes an opening one. */
export function isPair(opening: string, closing: string): boolean {
  return PAIRS[opening] === closing;
}

/** Returns the hint for a bracket that no other closes. */
export function notClosed(text: string, { text: bracket, at }: Token): string {
  const line = text.slice(0, at).split("\n").length;
  // The token of a template is its part up to the expression.
  if (bracket.endsWith("${")) return `The \${ in line ${line} has no }.`;
  return `The ${bracket} in line ${line} has no ${PAIRS[bracket] ?? bracket}.`;
}

/**
 * Returns the brace that no other closes, as the indentation shows it: the first one that ends at a brace further left, in the column of an outer
 * one. Brackets alone show the outermost brace only, because each later brace closes the one before.
 *
 * @param inner the innermost bracket that is open at the end of the text
 */
export function unclosedBrace(text: string, tokens: readonly Token[], inner: Token): Token {
  if (inner.text !== "{") return inner;
  const open: { readonly token: Token; readonly indent: string }[] = [];
  let indent = "";
  for (let index = 0; index < tokens.length; index += 1) {
    const token = tokens[index]!;
    if (token.startsLine) indent = indentAt(text, token.at);
    if (token.kind !== "mark") continue;
    if (/^[([{]$/.test(token.text)) open[open.length] = { token, indent };
    if (!/^[)\]}]$/.test(token.text)) continue;
    const last = open.pop();
    if (last?.token.text !== "{" || !token.startsLine || last.indent === indent) continue;
    const isLeft = last.indent.startsWith(indent);
    if (isLeft && open[open.length - 1]?.token.text === "{" && open.some((outer) => outer.indent === indent))
      return last.token;
  }
  return inner;
}

/** The longest indentation that is compared. */
const MAX_INDENT = 200;

function indentAt(text: string, at: number): string {
  const start = text.lastIndexOf("\n", at - 1) + 1;
  return text.slice(start, Math.min(at, start + MAX_INDENT));
}
