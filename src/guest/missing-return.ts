import { type Token, tokensOf } from "./scan-tokens.ts";

/** A longer function is not looked at, because other runs of the guest wait meanwhile. */
const MAX_CHARACTERS = 32 * 1024;
/** Statements that may return on each path without a last `return`. */
const BRANCHES = /^(?:else|switch|for|while|do|try|throw)$/;

/**
 * Returns why a function that returned nothing probably did: it has no `return` of a value, or has one on some paths only. Returns null
 * for a function that also returns without a value, because its author means that, and for one that has no body. Never throws.
 */
export function missingReturn(source: string): "noReturn" | "noReturnPath" | null {
  try {
    const tokens = source.length > MAX_CHARACTERS ? null : tokensOf(source);
    const body = tokens ? bodyOf(tokens) : -1;
    return tokens && body !== -1 ? judge(tokens, body) : null;
  } catch {
    // A task has replaced a method of texts or patterns.
    return null;
  }
}

/** The same for code that is a body, or a call of a function in place. A body without a return has other hints. */
export function missingOfBody(text: string): "noReturn" | "noReturnPath" | null {
  const inner = CALLED_IN_PLACE.exec(text)?.[1];
  if (inner !== undefined) return missingReturn(inner);
  const found = missingReturn(`function () {\n${text}\n}`);
  return found === "noReturnPath" ? found : null;
}

const CALLED_IN_PLACE = /^\s*;?\(\s*((?:async\b|function\b|\(\s*\)\s*=>)[^]*\})\s*\)\s*\(\s*\)\s*;?\s*$/;

/** Returns the index of the brace that begins the body of a function, or -1. */
function bodyOf(tokens: readonly Token[]): number {
  // The last token closes the body, unless the function is an arrow function whose body is an expression.
  const last = tokens[tokens.length - 1];
  if (last?.text !== "}") return -1;
  for (let index = 0; index < tokens.length; index += 1) {
    const { text, depth } = tokens[index]!;
    const before = tokens[index - 1]?.text;
    if (depth !== last.depth) continue;
    if (text === "{") return before === ")" || before === "=>" ? index : -1;
  }
  return -1;
}

function judge(tokens: readonly Token[], body: number): "noReturn" | "noReturnPath" | null {
  // An empty function returns nothing on purpose.
  if (body === tokens.length - 2) return null;
  const inner = tokens[body]!.depth + 1;
  let hasValue = false;
  let isLast = false;
  for (let index = body + 1; index < tokens.length - 1; index += 1) {
    const token = tokens[index]!;
    if (token.text === "{" && beginsFunction(tokens, index)) {
      index = closingOf(tokens, index);
      continue;
    }
    if (token.kind !== "word" || tokens[index - 1]?.text === ".") continue;
    if (BRANCHES.test(token.text)) isLast = true;
    if (token.text !== "return") continue;
    const next = tokens[index + 1]!;
    if (/^[;}]$/.test(next.text) || next.startsLine) return null;
    hasValue = true;
    if (token.depth === inner && /^[;{}]$/.test(tokens[index - 1]?.text ?? "")) isLast = true;
    if (token.depth === inner && token.startsLine && !/^(?:\)|else)$/.test(tokens[index - 1]?.text ?? ""))
      isLast = true;
  }
  if (!hasValue) return "noReturn";
  return isLast ? null : "noReturnPath";
}

/** Whether a brace begins the body of a function inside of the function. */
function beginsFunction(tokens: readonly Token[], brace: number): boolean {
  const before = tokens[brace - 1];
  if (before?.text === "=>") return true;
  if (before?.text !== ")") return false;
  for (let index = brace - 2; index >= 0; index -= 1) {
    const { text, depth } = tokens[index]!;
    if (depth !== before.depth || text !== "(") continue;
    const name = tokens[index - 1];
    return name?.kind === "word" && !/^(?:if|for|while|switch|catch|with|await)$/.test(name.text);
  }
  return false;
}

/** Returns the index of the brace that closes another one. */
function closingOf(tokens: readonly Token[], opening: number): number {
  const { depth } = tokens[opening]!;
  for (let index = opening + 1; index < tokens.length; index += 1) {
    if (tokens[index]!.depth === depth && tokens[index]!.text === "}") return index;
  }
  return tokens.length - 1;
}
