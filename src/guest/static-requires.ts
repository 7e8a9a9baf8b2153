import { type Token, tokensOf } from "./scan-tokens.ts";

/** With one of these, a statement may not execute its `require`. */
const CONDITIONS =
  /^(?:if|for|while|else|do|switch|case|try|catch|finally|function|class|typeof|with|=>|\?|\?\?|\?\.|&&|\|\|)$/;
const DECLARATIONS = /^(?:const|let|var|import)$/;

/**
 * Returns the specifiers that a text requires whenever it executes: in `require("name")` outside of functions, blocks and
 * conditions. Other calls may be meant to fail, or may never execute. Returns nothing for a text that declares `require`.
 */
export function staticRequires(text: string): string[] {
  if (!text.includes("require")) return [];
  const tokens = tokensOf(text) ?? [];
  const found: string[] = [];
  let blocks = 0;
  let isConditional = false;
  for (let index = 0; index < tokens.length; index += 1) {
    const token = tokens[index]!;
    if (token.depth === 0 && (token.text === ";" || startsDeclaration(tokens, index))) isConditional = false;
    if (token.kind !== "value" && CONDITIONS.test(token.text)) isConditional = true;
    if (token.text === "{") blocks += 1;
    else if (token.text === "}") blocks -= 1;
    if (token.text !== "require" || token.kind !== "word" || tokens[index - 1]?.text === ".") continue;
    if (isDeclared(tokens, index)) return [];
    const specifier = argumentOf(tokens, index);
    if (specifier !== null && blocks === 0 && !isConditional) found[found.length] = specifier;
  }
  return found;
}

function startsDeclaration(tokens: readonly Token[], index: number): boolean {
  const { kind, text, startsLine } = tokens[index]!;
  return kind === "word" && DECLARATIONS.test(text) && (startsLine || tokens[index - 1]?.text === "}");
}

/** Whether the name may belong to a parameter or a variable of the text, as in the output of some bundlers. */
function isDeclared(tokens: readonly Token[], index: number): boolean {
  const before = tokens[index - 1]?.text ?? "";
  const after = tokens[index + 1]?.text ?? "";
  if (before === "function") return true;
  return before !== "typeof" && after !== "(" && after !== "." && after !== "?.";
}

/** Returns the specifier of `require("name")`, or null. */
function argumentOf(tokens: readonly Token[], index: number): string | null {
  const [opening, argument, closing] = [tokens[index + 1], tokens[index + 2], tokens[index + 3]];
  if (opening?.text !== "(" || closing?.text !== ")") return null;
  return /^(["'`])([^\\$]+)\1$/.exec(argument?.text ?? "")?.[2] ?? null;
}
