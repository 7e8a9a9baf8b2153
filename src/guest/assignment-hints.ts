import type { FaultMessage } from "../wire/messages.ts";
import { scanTokens, type Token } from "./scan-tokens.ts";
import { offsetOf } from "./syntax.ts";

/** A longer text is not looked at, because other runs of the guest wait meanwhile. */
const MAX_CHARACTERS = 32 * 1024;
/** The brackets around the assignment that are looked at. */
const MAX_DEPTH = 20;
/** A value that code compares more often than it assigns it in a condition. */
const LITERAL = /^\s*(?:["'`\d]|(?:true|false|null|undefined)\b)/;

/** Returns the hint for an assignment to a const that was probably meant as a comparison, or undefined. Never throws. */
export function assignmentHint(text: string, { code, error, at }: FaultMessage): string | undefined {
  try {
    if (code !== "task_threw" || error?.message !== "Assignment to constant variable.") return undefined;
    if (!at || !/^task\.[jt]s$/.test(at.file) || text.length > MAX_CHARACTERS) return undefined;
    const offset = offsetOf(text, at);
    const { tokens, open, isWhole } = scanTokens(text.slice(0, offset));
    const [before, name] = tokens.slice(-2);
    if (text[offset] !== "=" || !isWhole || name?.kind !== "word") return undefined;
    const isCondition = isInCondition(tokens, open);
    if (isCondition && LITERAL.test(text.slice(offset + 1, offset + 100)))
      return `= gives a value to ${name.text}: to compare, write ===.`;
    const isValue = isCondition || /^(?:return|=>|&&|\|\||!)$/.test(before?.text ?? "");
    return isValue
      ? `To compare ${name.text}, write ===. To give it a value, declare it with let instead of const.`
      : undefined;
  } catch {
    // A task has replaced a method of texts or patterns.
    return undefined;
  }
}

/** Whether the open brackets are the parentheses of an `if` or a `while`, perhaps with others in them. */
function isInCondition(tokens: readonly Token[], open: readonly Token[]): boolean {
  for (let index = open.length - 1; index >= 0 && index > open.length - MAX_DEPTH; index -= 1) {
    if (open[index]!.text !== "(") return false;
    const opener = tokens[tokens.lastIndexOf(open[index]!) - 1];
    if (opener === undefined) return false;
    if (opener.kind === "word") return /^(?:if|while)$/.test(opener.text);
    if (opener.kind === "value" || /^[)\]]$/.test(opener.text)) return false;
  }
  return false;
}
