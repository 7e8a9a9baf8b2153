import type { Emptied } from "./emptied.ts";

/** The end of a text that is looked at: other runs of the guest wait meanwhile. */
const MAX_CHARACTERS = 2_000;
/** A chain of promises whose last function only prints what it is given. */
const PRINTS =
  /\.then\(\s*(?:console\.(?:log|info)|(?:async\s+)?\(?\s*(?:[\w$]{1,64}|[{[][\w$,\s]{1,200}[}\]])?\s*\)?\s*=>\s*\{?\s*console\.(?:log|info)\([^()]*(?:\([^()]*\)[^()]*)*\)\s*;?\s*\}?)\s*\)\s*(?:\.(?:catch|finally)\([^;]*\))?\s*;?\s*$/;

/**
 * Returns the hint for code that is a chain of promises, and prints at its end what was probably meant as the result, or null. Never throws.
 *
 * @param line of the statement that is the chain, if the code does not return it
 */
export function printedThen(text: string, line: number | null): Emptied | null {
  try {
    // Single spaces, because the pattern takes cubic time for a long run of them.
    if (!PRINTS.test(text.slice(-MAX_CHARACTERS).replace(/\s+/g, " "))) return null;
    return { hint: "printedThen", path: line === null ? "" : `[${line}]` };
  } catch {
    // A task has replaced a method of texts or patterns.
    return null;
  }
}
