import type { Emptied } from "./emptied.ts";
import { isAsync } from "./unawaited.ts";
import { withoutTexts } from "./without-texts.ts";

/** The uses that are looked at. */
const MAX_USES = 20;
/** A call of map with an async function, or with the name of a function. */
const MAP = /\.\s*map\(\s*(?:async\s*(?:function\b|\(|[A-Za-z_$])|([A-Za-z_$][\w$]{0,63})\s*\))/g;
/** What follows the call, if it is a method that needs the values. `filter(Boolean)` also keeps promises on purpose. */
const NEEDS_VALUES = /^\s*\.\s*(filter|find|some|every|join|sort|toSorted)\((?!\s*Boolean\s*\))/;
/** A condition that is the call of a function. */
const CONDITION =
  /(?:(?<![\w$.])(?:if|while)\s*\(\s*!?|(?:\breturn\s|=>|[^=!<>]=)\s*!?(?=[\w$]+\([^()]{0,200}\)\s*\?(?![.?])))\s*([A-Za-z_$][\w$]{0,63})\s*\([^()]{0,200}\)\s*(?:\)|&&|\|\||\?)/g;

/**
 * Returns the hint for a text that uses the promise of an async function like its value, so that its result looks like that of other code:
 * as a condition, or as an item of a list that map has made; otherwise null.
 */
export function unawaitedUse(source: string): Emptied | null {
  // Most texts end here, without the cost of taking them apart.
  if (useIn(source) === null) return null;
  return useIn(withoutTexts(source));
}

function useIn(text: string): Emptied | null {
  const conditions = new RegExp(CONDITION.source, "g");
  let left = MAX_USES;
  for (let found = conditions.exec(text); found && left > 0; found = conditions.exec(text)) {
    left -= 1;
    const name = found[1]!;
    if (name !== "fetch" && isAsync(text, name)) return { hint: "truthyPromise", path: `.${name}` };
  }
  const maps = new RegExp(MAP.source, "g");
  for (let found = maps.exec(text); found && left > 0; found = maps.exec(text)) {
    left -= 1;
    const end = endOfCall(text, text.indexOf("(", found.index) + 1);
    const method = NEEDS_VALUES.exec(text.slice(end, end + 80))?.[1];
    if (method !== undefined && (found[1] === undefined || isAsync(text, found[1])))
      return { hint: "mappedAsync", path: `.${method}` };
  }
  return null;
}

/** Returns the offset behind the parenthesis that closes a call. */
export function endOfCall(text: string, start: number): number {
  let open = 1;
  for (let at = start; at < text.length; at += 1) {
    if (text[at] === "(") open += 1;
    else if (text[at] === ")") open -= 1;
    if (open === 0) return at + 1;
  }
  return text.length;
}
