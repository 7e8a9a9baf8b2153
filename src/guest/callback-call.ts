import type { Emptied } from "./emptied.ts";

/** A longer text is not looked at, because other runs of the guest wait meanwhile. */
const MAX_CHARACTERS = 32 * 1024;
/** A statement that calls a function of Node that gives its result to a callback. */
const CALL =
  /^[ \t]*(?:[^\n]{0,200};[ \t]*)?(?:return\s+)?(https?\s*\.\s*(?:get|request)|fs\s*\.\s*(?:readFile|readdir|stat|lstat|readlink|realpath|access|mkdtemp))\s*\([^]{0,2000}?(?:=>|\bfunction\b)/;
const RETURNED =
  /(?:^|[;{}\n])[ \t]*(return\s+(?:https?\s*\.\s*(?:get|request)|fs\s*\.\s*(?:readFile|readdir|stat|lstat|readlink|realpath|access|mkdtemp))\s*\([^]*)$/;

/**
 * Returns the hint for code that returned nothing, because a function of Node gives its result to a callback; otherwise null. Never throws.
 *
 * @param line the line of the last statement; null if a `return` is looked for
 */
export function callbackCall(text: string, line: number | null): Emptied | null {
  try {
    if (text.length > MAX_CHARACTERS || /\bnew\s+Promise\b|\bfs\/promises\b|\.promises\b/.test(text)) return null;
    const statement =
      line === null
        ? RETURNED.exec(text)?.[1]
        : text
            .split("\n")
            .slice(line - 1)
            .join("\n");
    const call = statement === undefined ? undefined : CALL.exec(statement)?.[1];
    if (call === undefined) return null;
    const [owner = "", method = ""] = call.split(/\s*\.\s*/);
    return { hint: "callbackCall", path: `.${owner}.${method}` };
  } catch {
    // A task has replaced a method of texts or patterns.
    return null;
  }
}
