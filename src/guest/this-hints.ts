import type { FaultMessage } from "../wire/messages.ts";
import { scanTokens, type Token } from "./scan-tokens.ts";
import { offsetOf } from "./syntax.ts";

/** A longer text is not looked at, because other runs of the guest wait meanwhile. */
const MAX_CHARACTERS = 32 * 1024;
const READS = /^Cannot (?:read|set) properties of undefined |^this\.[\w$.]{1,64} is not a function$/;
const OF_THIS = /(?<![\w$.])this\s*\.(?:[\w$]{1,64}\s*\.)?$/;
/** Code with more open brackets around a place is not looked at. */
const MAX_DEPTH = 100;
const BLOCK = /^(?:if|for|while|switch|catch|with)$/;
/** What stands before a brace that begins an object or a block, and no body of a function with the type of its result. */
const BEFORE = /^(?:[=(,:[?{};]|=>|\?\?|&&|\|\||return|default|else|try|do|finally|yield)$/;
/** The tokens in front of an arrow, in which its parameters and its name are looked for. */
const MAX_HEAD = 100;

/**
 * Returns the hint for a member of `this` in code that has no `this`: an arrow function in an object, or a method that was called without its
 * object; otherwise undefined. Never throws.
 *
 * @param located the fault with its position in the text
 */
export function thisHint(text: string, { code, error, at }: FaultMessage): string | undefined {
  try {
    if (code !== "task_threw" || error?.name !== "TypeError" || !READS.test(error.message)) return undefined;
    if (!at || !/^task\.[jt]s$/.test(at.file) || text.length > MAX_CHARACTERS) return undefined;
    const before = text.slice(0, offsetOf(text, at));
    const reads = OF_THIS.exec(before.slice(-200))?.[0];
    if (reads === undefined) return undefined;
    const { tokens, open, isWhole } = scanTokens(before.slice(0, before.length - reads.length));
    if (!isWhole) return undefined;
    const place = functionAround(tokens, open);
    if (place?.kind === "arrow")
      return `An arrow function has no this: write ${place.name}(...) { ... } instead of ${place.name}: (...) => ...`;
    // Without an object, this is undefined only in code that is strict; otherwise it has no member of the object.
    if (place?.kind !== "method" || reads.split(".").length > 2 || !error.message.startsWith("Cannot"))
      return undefined;
    return `The method ${place.name} was called without its object, so it has no this: call it as object.${place.name}(...), and hand it on as (...args) => object.${place.name}(...args).`;
  } catch {
    // A task has replaced a method of texts or patterns.
    return undefined;
  }
}

interface Place {
  readonly kind: "arrow" | "method";
  readonly name: string;
}

/** Returns the member of an object that is an arrow function without a function around it, or the method, at the end of a text; or null. */
function functionAround(tokens: readonly Token[], open: readonly Token[]): Place | null {
  if (open.length > MAX_DEPTH) return null;
  let arrow: string | null = null;
  let end = tokens.length;
  for (let depth = open.length; depth >= 0; depth -= 1) {
    const bracket = depth === 0 ? -1 : tokens.lastIndexOf(open[depth - 1]!);
    arrow ??= arrowMember(tokens, bracket, end, depth);
    if (depth === 0) break;
    const opener = tokens[bracket - 1];
    if (tokens[bracket]!.text === "{" && opener?.text === ")") {
      const start = matching(tokens, bracket - 1);
      const name = tokens[start - 1];
      if (name?.kind !== "word") return null;
      // Another function has another this, and so has what is in a class.
      if (!BLOCK.test(name.text)) {
        const isMethod = /^(?:[{},;]|async)$/.test(tokens[start - 2]?.text ?? "") && name.text !== "constructor";
        return arrow === null && isMethod ? { kind: "method", name: name.text } : null;
      }
    } else if (tokens[bracket]!.text === "{" && (isClass(tokens, bracket) || !BEFORE.test(opener?.text ?? "{")))
      return null;
    end = bracket;
  }
  return arrow === null ? null : { kind: "arrow", name: arrow };
}

/** Returns the name of the member whose value is an arrow function, if the end of a part of the tokens is in that function. */
function arrowMember(tokens: readonly Token[], from: number, end: number, depth: number): string | null {
  // The body of an arrow function is an expression, or begins with the brace at the end of the part.
  for (let index = end - 1; index > from && index > end - MAX_HEAD; index -= 1) {
    const { text, depth: at } = tokens[index]!;
    if (at !== depth) continue;
    if (/^[,;]$/.test(text)) return null;
    if (text !== "=>") continue;
    const closing = closingBefore(tokens, index);
    const start = tokens[closing]!.text === ")" ? matching(tokens, closing) : closing;
    const before = tokens[start - 1]?.text === "async" ? start - 2 : start - 1;
    const name = tokens[before - 1];
    const isMember = tokens[before]?.text === ":" && /^[{,]$/.test(tokens[before - 2]?.text ?? "");
    return isMember && name?.kind === "word" ? name.text : null;
  }
  return null;
}

/** Returns the index of the end of the parameters in front of an arrow, which the type of the result may follow. */
function closingBefore(tokens: readonly Token[], arrow: number): number {
  for (let index = arrow - 2; index > 0 && index > arrow - MAX_TYPE; index -= 1) {
    if (!/^(?:[\w$]+|[.<>|&[\],])$/.test(tokens[index + 1]!.text)) break;
    if (tokens[index]!.text === ":" && tokens[index - 1]!.text === ")") return index - 1;
  }
  return arrow - 1;
}

/** The tokens of the type of a result that are looked at. */
const MAX_TYPE = 12;

/** Returns the index of the bracket that a closing one closes. */
function matching(tokens: readonly Token[], closing: number): number {
  const { depth } = tokens[closing]!;
  let index = closing - 1;
  while (index > 0 && tokens[index]!.depth !== depth) index -= 1;
  return index;
}

/** Whether a brace begins the body of a class. */
function isClass(tokens: readonly Token[], brace: number): boolean {
  for (let index = brace - 1; index >= 0 && index > brace - MAX_HEAD; index -= 1) {
    if (tokens[index]!.text === "class") return true;
    if (tokens[index]!.kind === "mark" && tokens[index]!.text !== "." && !/^[<>,()]$/.test(tokens[index]!.text))
      return false;
  }
  return false;
}
