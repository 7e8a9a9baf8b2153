import { endOfCall } from "./unawaited-use.ts";
import { isAsync } from "./unawaited.ts";
import { withoutTexts } from "./without-texts.ts";

/** The calls that are looked at. */
const MAX_CALLS = 20;
/** A call of a function without a dot in front of it. */
const CALL = /(?<![\w$#]|(?<!\.\.)\.|\.\s)([A-Za-z_$][\w$]{0,63})\s*\(/g;
/** What stands in front of a call whose promise is used like a value: a spread, an operator, JSON.stringify, a list that is taken apart. */
const USED_BEFORE =
  /(?:\.\.\.|[-+*/%<]|[^=]>|\bJSON\.stringify\(|\bObject\.(?:keys|values|entries)\(|(?<![\w$.])(?:Number|parseInt|parseFloat)\(|\bMath\.\w+\(|\]\s*=\s*\[[^\]]*)\s*$/;
/** What stands behind the call: an operator. */
const USED_BEHIND = /^\s*(?:[-+*/%<]|>)/;
const MAX_BEFORE = 80;

/**
 * Returns the name of an async function, or `fetch`, whose promise the text uses like a value: in a calculation, in a spread, or in
 * JSON.stringify; otherwise null.
 */
export function usedPromise(source: string): string | null {
  const text = withoutTexts(source);
  const calls = new RegExp(CALL.source, "g");
  let left = MAX_CALLS;
  for (let found = calls.exec(text); found && left > 0; found = calls.exec(text)) {
    const name = found[1]!;
    if (/^(?:if|for|while|switch|catch|function|return|await)$/.test(name) || !isAsync(text, name)) continue;
    left -= 1;
    const before = text.slice(Math.max(0, found.index - MAX_BEFORE), found.index);
    const after = text.slice(endOfCall(text, found.index + found[0].length));
    if (/\bawait\s*$/.test(before)) continue;
    if (USED_BEFORE.test(before) || USED_BEHIND.test(after)) return name;
  }
  return null;
}

/** A statement that starts work and does not wait for it. */
const STARTED =
  /(?:^|[;{}\n])\s*(?:(?!\b(?:return|await|const|let|var|if|for|while)\b)[\w$.]+\([^;\n]*\.then\(|(?:setTimeout|setInterval|setImmediate)\(|\(async\b)/;

/** Whether a text has a callback that probably runs after its result: of a timer, or of a promise that nothing awaits. */
export function hasLateCallback(source: string): boolean {
  return STARTED.test(withoutTexts(source));
}
