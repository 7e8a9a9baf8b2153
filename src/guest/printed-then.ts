import type { Emptied } from "./emptied.ts";

/** The end of a text that is looked at: other runs of the guest wait meanwhile. */
const MAX_CHARACTERS = 2_000;
/** A chain of promises whose last function only prints what it is given. */
const PRINTS =
  /\.then\(\s*(?:console\.(?:log|info)|(?:async\s+)?\(?\s*(?:[\w$]{1,64}|[{[][\w$,\s]{1,200}[}\]])\s*\)?\s*=>\s*\{?\s*console\.(?:log|info)\(([^()]*(?:\([^()]*\)[^()]*)*)\)\s*;?\s*\}?)\s*\)\s*(?:\.(?:catch|finally)\([^;]*\))?\s*;?\s*$/;
const FIXED_TEXT = /^\s*(["'`])[^"'`$]*\1\s*$/;

/** Returns the hint for code that is a chain of promises, and prints at its end what was probably meant as the result, or null. Never throws. */
export function printedThen(text: string): Emptied | null {
  try {
    const found = PRINTS.exec(text.slice(-MAX_CHARACTERS));
    return found && !FIXED_TEXT.test(found[1] ?? "") ? { hint: "printedThen", path: "" } : null;
  } catch {
    // A task has replaced a method of texts or patterns.
    return null;
  }
}
