import type { FaultMessage } from "../wire/messages.ts";

/** A longer text is not looked at, because other runs of the guest wait meanwhile. */
const MAX_CHARACTERS = 32 * 1024;
/** V8's messages for JSON, except for those of values that are no JSON text at all, which have other hints. */
const OF_JSON = /^(?!"(?:\[object Object\]|undefined)").*(?: is not valid JSON$|\bin JSON at position \d)/s;
const PAGE =
  "The text is a page, such as HTML, and not JSON: check the URL, and test response.ok before response.json().";
const RULES =
  "The parsed text is not JSON: JSON has names and texts in double quotes, no comma before ] and }, and true, false and null in lower case.";
const OF_RESPONSE =
  "The value is a Response, and not its text: write await response.json() instead of JSON.parse(response).";
const OF_PROMISE =
  "The value is a promise, and not its text: put await before the call that makes it. await response.json() parses the answer of fetch.";
const OF_FOR_EACH = /\bPromise\.(?:all|allSettled|race|any)\(\s*[\w$.[\], ]{1,200}\.forEach\(/;

/**
 * Returns the hint for an error whose usual hint does not fit, as the text of the code shows: JSON that no fetch has read. Never throws.
 */
export function misreadHint(text: string, { code, error }: FaultMessage): string | undefined {
  try {
    if (!error || text.length > MAX_CHARACTERS) return undefined;
    if (code === "task_threw" && error.message.startsWith("undefined is not iterable") && OF_FOR_EACH.test(text))
      return "forEach returns nothing: write await Promise.all(list.map(...)).";
    if (code !== "task_threw" || error.name !== "SyntaxError" || !OF_JSON.test(error.message)) return undefined;
    if (error.message.endsWith('"[object Response]" is not valid JSON')) return OF_RESPONSE;
    if (error.message.endsWith('"[object Promise]" is not valid JSON')) return OF_PROMISE;
    if (error.message.startsWith("Unexpected token '<'")) return /\bfetch\b/.test(text) ? PAGE : undefined;
    return /\bJSON\.parse\b/.test(text) && !/\bfetch\b|\.json\(/.test(text) ? RULES : undefined;
  } catch {
    // A task has replaced a method of texts or patterns.
    return undefined;
  }
}
