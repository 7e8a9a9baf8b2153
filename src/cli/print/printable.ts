/**
 * Characters that act on a terminal: control characters, line ends, marks that change the direction of text, and characters
 * without a width. A lone surrogate has no UTF-8.
 */
const ACTING = /[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}\u200b\u2060\ufeff]|\p{Cs}/gu;
/** The same characters within JSON, where the characters below U+0020 are escaped already, except for those between members. */
const ACTING_IN_JSON = /[\u007f-\u009f\p{Bidi_Control}\p{Zl}\p{Zp}]/gu;

/** Returns a text in one line, with escapes for all characters that act on a terminal. Tasks and callers choose texts. */
export function printable(text: string): string {
  return text.replace(ACTING, (found) => (found === "\t" ? found : escapeOf(found)));
}

/** Returns the lines of a text, each of them printable. */
export function printableLines(text: string): string[] {
  return text.split(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/).map(printable);
}

/** Returns a value as JSON without characters that act on a terminal. Programs read the same value. */
export function printableJson(value: unknown, indent = 2): string {
  return (JSON.stringify(value, null, indent) ?? "null").replace(ACTING_IN_JSON, escapeOf);
}

function escapeOf(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
