/** What is sent in the place of code by mistake, and told by how it begins. */
export type NotCode = "fence" | "page" | "xml";

/** So much of a text is looked at: pages begin with comments, and those are not short. */
const LOOKED_AT = 4_096;

/** What a text is instead of code; null where it may be code. In linear time, also of a text that was made to take longer. */
export function notCode(text: string): NotCode | null {
  const beginning = text.slice(0, LOOKED_AT);
  if (beginning.trimStart().startsWith("```")) return "fence";
  // Sticky, one token after the other. White space holds the byte-order mark.
  const token = /\s+|<\?xml\b[^]*?\?>|<!--[^]*?-->/y;
  let start = 0;
  while (token.test(beginning)) start = token.lastIndex;
  const rest = beginning.slice(start);
  if (/^<(?:!doctype|html|head|body|title|meta)\b/i.test(rest)) return "page";
  return /^\s*<\?xml\b/.test(beginning) ? "xml" : null;
}
