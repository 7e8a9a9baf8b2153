/** A kind of text that is sent instead of code by mistake. */
export type NotCode = "fence" | "page" | "xml";

/** The number of characters to check. It allows for the long comments at the start of some pages. */
const CHECKED_CHARACTERS = 4_096;

/** Recognizes by its start a text that is not code; returns null if it may be code. Takes linear time for every text. */
export function notCode(text: string): NotCode | null {
  const beginning = text.slice(0, CHECKED_CHARACTERS);
  if (beginning.trimStart().startsWith("```")) return "fence";
  // A sticky pattern matches one token after the other, in linear time. `\s` includes the byte-order mark.
  const token = /\s+|<\?xml\b[^]*?\?>|<!--[^]*?-->/y;
  let start = 0;
  while (token.test(beginning)) start = token.lastIndex;
  const rest = beginning.slice(start);
  if (/^<(?:!doctype|html|head|body|title|meta)\b/i.test(rest)) return "page";
  return /^\s*<\?xml\b/.test(beginning) ? "xml" : null;
}
