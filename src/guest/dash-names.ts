import type { Stop } from "./part-hints.ts";
import { scanTokens } from "./scan-tokens.ts";
import { offsetOf, type SyntaxFailure } from "./syntax.ts";

/** A name with a dash in it where a name ends. */
export const DASHED: RegExp = /^\s*([A-Za-z_$][\w$]{0,40}(?:-[\w$]{1,40}){1,6})\s*[=,):]/;
/** The rest of the name, from its first dash on. */
const REST = /^(?:-[A-Za-z_$][\w$]{0,40}){1,6}/;
const DECLARES = /^(?:const|let|var|function|class|interface|enum|namespace|static|get|set)$/;

/** A token that begins a name of a member, behind a bracket or a comma. */
const BEGINS = /^[{,]$/;

/** Returns the failure at the first dash in the name of a member of an object, if a parser of TypeScript has stopped behind it. */
export function atDash(text: string, failure: SyntaxFailure): SyntaxFailure {
  if (!/^Unexpected end of input|^Expected ',', got ':'/.test(failure.message) || !failure.position) return failure;
  const { tokens, isWhole } = scanTokens(text.slice(0, offsetOf(text, failure.position) + 1));
  if (!isWhole) return failure;
  for (let index = 2; index < tokens.length - 1; index += 1) {
    const { text: mark, at } = tokens[index]!;
    const name = tokens[index - 1]!;
    if (mark !== "-" || name.kind !== "word" || !BEGINS.test(tokens[index - 2]!.text)) continue;
    if (name.at + name.text.length !== at || !/^(?:-[A-Za-z_$][\w$]{0,40}){1,6}\s{0,9}:/.test(text.slice(at, at + 300)))
      continue;
    const before = text.slice(0, at).split("\n");
    return { message: "Unexpected token '-'", position: { line: before.length, column: before.at(-1)!.length + 1 } };
  }
  return failure;
}

/** Returns the hint for a name with a dash at which a text stops to parse, or null. A subtraction never stops a parser. */
export function dashHint({ text, rest, tokens, open }: Stop): string | null {
  const last = tokens[tokens.length - 1];
  const tail = REST.exec(rest)?.[0];
  if (tail === undefined || last?.kind !== "word") return null;
  if (last.at + last.text.length !== text.length - rest.length || last.text.length > 40) return null;
  const name = last.text + tail;
  const after = rest.slice(tail.length, tail.length + 40);
  const before = tokens[tokens.length - 2]?.text ?? "";
  if (DECLARES.test(before)) return dashlessHint(name);
  const inner = open[open.length - 1];
  const at = inner === undefined ? -1 : tokens.indexOf(inner);
  if (inner?.text === "(" && [tokens[at - 1]?.text, tokens[at - 2]?.text].includes("function"))
    return dashlessHint(name);
  if (inner?.text !== "{") return null;
  if (/^\s*\??:/.test(after)) return `Put a name with - in quotes: "${name}".`;
  if (/^\s*\(/.test(after)) return dashlessHint(name);
  const isPattern = DECLARES.test(tokens[at - 1]?.text ?? "") && /^\s*[,=}]/.test(after);
  return isPattern ? `Put a name with - in quotes, and give it another one: "${name}": ${camelCase(name)}.` : null;
}

export function dashlessHint(name: string): string {
  return `A name has no - in it: write ${camelCase(name)}.`;
}

function camelCase(name: string): string {
  return name.replace(/-+([\w$]?)/g, (_, letter: string) => letter.toUpperCase());
}
