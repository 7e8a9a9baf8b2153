import { isAsync } from "./unawaited.ts";
import { withoutTexts } from "./without-texts.ts";

/** A longer text is not looked at, because other runs of the guest wait meanwhile. */
const MAX_CHARACTERS = 32 * 1024;
/** The calls that are looked at. */
const MAX_CALLS = 20;
const METHODS = "filter|some|every|find|findIndex|findLast|findLastIndex|sort|toSorted";
/** A call with an async function, or with the name of a function. */
const CALL = new RegExp(
  String.raw`\.\s*(${METHODS})\(\s*(?:async\s*(?:function\b|\(|[A-Za-z_$])|([A-Za-z_$][\w$]{0,63})\s*[,)])`,
  "g",
);
/** Streams of Node await their callbacks, and a method of the code itself may do so. */
const AWAITS = new RegExp(
  String.raw`[Ss]tream|Readable|Duplex|\basync\s*\*?\s*(?:${METHODS})\s*\(|\b(?:${METHODS})\s*(?:[:=]|\([^()]*\)\s*\{)`,
);

/**
 * Returns the method of lists to which a text gives an async function, although the method does not wait for it; otherwise null.
 * Never throws.
 */
export function asyncCallback(source: string): string | null {
  try {
    if (source.length > MAX_CHARACTERS || !source.includes("async")) return null;
    // Most texts end here, without the cost of taking them apart.
    if (methodIn(source) === null || AWAITS.test(source)) return null;
    return methodIn(withoutTexts(source));
  } catch {
    // A task has replaced a method of texts or patterns.
    return null;
  }
}

function methodIn(text: string): string | null {
  CALL.lastIndex = 0;
  for (let left = MAX_CALLS; left > 0; left -= 1) {
    const found = CALL.exec(text);
    if (!found) return null;
    const [, method, name] = found;
    if (name === undefined || isAsync(text, name)) return method!;
  }
  return null;
}
