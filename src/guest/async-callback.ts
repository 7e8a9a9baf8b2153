import type { Emptied } from "./emptied.ts";
import { mayLackAwait } from "./may-lack-await.ts";
import { hintOfUse } from "./promise-use-hints.ts";
import { promiseUse } from "./promise-uses.ts";
import { unawaitedUse } from "./unawaited-use.ts";
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

/** What may end an interval, or wait for it. */
const ENDS_INTERVAL =
  /\bexports?\b|clearInterval|clearTimeout|Promise|[Ss]tream|waitUntil|\bsignal\b|\bunref\b|\bimport\b|\brequire\b|res\.|\bfunction\*|\bfor await\b/;

/** A status that is set at the context, as in Koa. */
const STATUS =
  /(?<![\w$.])context\.status(?:Code)?\s*=(?![=>])|^\s{0,100}(?:export\s{1,4}default\s{1,4}|module\.exports\s{0,4}=\s{0,4})?(?:async\s{1,4})?(?:function\s{0,4}\w{0,64})?\s{0,4}\(?(ctx|c)\b[^]*(?<![\w$.])\1\.status(?:Code)?\s*=(?![=>])/;
/** Code with another context, such as the one of a server in a package. */
const HAS_SERVER = /\.(?:use|get|post|put|all|on|handle)\(|\b(?:const|let|var|function|class)\s+(?:context|ctx|c)\b/;

/**
 * Returns the hint for a text whose result looks like that of other code, although the text does not wait for an async function: a method of
 * lists is given one, or a condition is its promise. Also for an interval that nothing ends. Otherwise null. Never throws.
 */
export function asyncCallback(source: string): Emptied | null {
  try {
    if (source.length > MAX_CHARACTERS) return null;
    if (source.includes("setInterval(") && !ENDS_INTERVAL.test(source)) return { hint: "interval", path: "" };
    if (source.includes(".status") && STATUS.test(source) && !HAS_SERVER.test(source))
      return { hint: "assigned", path: "" };
    const known = source.includes("async") ? (unawaitedUse(source) ?? givenTo(source)) : null;
    const use = known === null && mayLackAwait(source) ? promiseUse(source) : null;
    return use ? hintOfUse(use) : known;
  } catch {
    // A task has replaced a method of texts or patterns.
    return null;
  }
}

/** An async function that is given to a method of lists. */
function givenTo(source: string): Emptied | null {
  // Most texts end here, without the cost of taking them apart.
  if (methodIn(source) === null || AWAITS.test(source)) return null;
  const method = methodIn(withoutTexts(source));
  return method === null ? null : { hint: "asyncCallback", path: `.${method}` };
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
