import { DASHED, dashlessHint } from "./dash-names.ts";
import { dividedHint } from "./part-hints.ts";

/** The hint for a module with a `return` outside of functions. */
export const MODULE_RETURN = "A module cannot return: use export default for the result, or remove import and export.";

/** Messages of the parsers that name the mistake, whatever the text is. */
const MESSAGES: readonly { readonly pattern: RegExp; readonly hint: string }[] = [
  // The message for a text with types, of which only modules are read without a function around them.
  { pattern: /^Return statement is not allowed/, hint: MODULE_RETURN },
  {
    pattern: /^Missing catch or finally/,
    hint: "A try needs catch (error) { ... } or finally { ... } after its block.",
  },
  { pattern: /^Illegal break/, hint: "break is valid only in a loop or a switch: return ends the code." },
  { pattern: /^Illegal continue/, hint: "continue is valid only in a loop." },
  {
    pattern: /^(?:Octal literals|Decimals with leading zeros) are not allowed|^Legacy (?:decimal|octal)/,
    hint: "A number cannot begin with 0: write 8 instead of 08, and 0o17 for the octal number 17.",
  },
  {
    pattern: /^Expected one variable binding|Must have a single binding/,
    hint: "A for ... of or for ... in declares one variable: for the parts of an item, write for (const [a, b] of pairs).",
  },
  {
    pattern: /^Octal escape sequences are not allowed/,
    hint: "Write \\x and two hexadecimal digits, such as \\x1b instead of \\033.",
  },
  {
    pattern: /^Invalid regular expression flags/,
    hint: "A pattern ends at its second /: write \\/ for a / in it. Only the flags d, g, i, m, s, u, v and y can follow it.",
  },
  {
    pattern: /^Invalid regular expression: missing \//,
    hint: "This / begins a pattern, and no other / in its line ends the pattern.",
  },
  {
    pattern:
      /^Invalid regular expression: .*: (?:Unterminated group|Unmatched '\)'|Nothing to repeat|Lone quantifier brackets|Unterminated character class)$/s,
    hint: "In a pattern, ( ) [ ] { } * + and ? have a meaning: write \\ in front of a character that stands for itself, such as \\(.",
  },
];

const NOT_ASSIGNABLE = /^Invalid left-hand side in assignment|^The left-hand side of an assignment/;
const NOT_COUNTABLE = /^Invalid left-hand side expression in (?:prefix|postfix) operation/;
/** The left side of an assignment or of ++ that is a chain with ?. in it. */
const CHAIN = /^[\w$.?]{0,200}\?\.[\w$.?]{1,200}\s*(?:[-+*/%]?=|\+\+|--)/;
const SHORTHAND = /^\s*([A-Za-z_$][\w$]{0,63})\s*=/;
/** An object that was meant as the parameters of a function without its word. */
const OF_PARAMETERS = /^[^{}]{0,500}\}[^(){}]{0,200}\)\s*(?:\{|=>|:)/;

/** The part of the line that is looked at for an operator with a space in it. */
const MAX_LINE = 200;
const DASHED_IMPORT = /^import\s+([A-Za-z_$][\w$]{0,40}(?:-[\w$]{1,40}){1,6})\s/;

/**
 * Returns the hint for a mistake that the message of a parser names, or undefined.
 *
 * @param rest the text from the stop on
 * @param before the end of the text in front of the stop
 */
export function messageHint(message: string, rest: string, before: string): string | undefined {
  for (const { pattern, hint } of MESSAGES) if (pattern.test(message)) return hint;
  const exported = /^Export '(.{1,64})' is not defined in module/.exec(message)?.[1];
  if (exported !== undefined) return `Declare ${exported} in the code, or remove it from the export.`;
  if (NOT_ASSIGNABLE.test(message) || NOT_COUNTABLE.test(message)) {
    if (CHAIN.test(rest)) return "?. only reads a member. To change it, write . after a test of the value in front.";
    return NOT_ASSIGNABLE.test(message)
      ? (dividedHint(rest.slice(0, MAX_LINE).split("\n", 1)[0]!) ??
          "Only a variable or a member can stand in front of =. To compare, write ===.")
      : "++ and -- change a variable or a member, and this is none.";
  }
  if (message.startsWith("Invalid shorthand property initializer") && !OF_PARAMETERS.test(rest)) {
    const name = SHORTHAND.exec(rest)?.[1];
    if (name !== undefined) return `In an object, a colon stands between a name and its value: write ${name}: ...`;
  }
  const dashed = message.startsWith("Invalid destructuring assignment target")
    ? DASHED.exec(rest)?.[1]
    : message === "Unexpected token '-'"
      ? DASHED_IMPORT.exec(rest)?.[1]
      : undefined;
  if (dashed !== undefined) return dashlessHint(dashed);
  const isNameless =
    message.startsWith("Function statements require a function name") ||
    (message.startsWith("Expected ident") && /\bfunction\s*$/.test(before));
  if (!isNameless) return undefined;
  return /\bexport\s+(?:async\s+)?(?:function\s*)?$/.test(before)
    ? "An export without a name needs default: write export default function (context) { ... }."
    : "Give the function a name: function main() { ... }.";
}
