/** The longest name of a file in a position. The service accepts no longer one. */
const MAX_CHARACTERS = 200;
/** The folders that are shown of an absolute path. The folders above them describe only the machine of the author. */
const MAX_ABSOLUTE_PARTS = 3;
/** Characters that move or hide text in a terminal or a page, or that would end a frame of a stack. */
const UNSAFE = /[\p{Cc}\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/gu;

/** Returns a name of a file without control characters, within bounds. */
export function safeName(name: string): string {
  return printable(name.slice(-MAX_CHARACTERS), "?");
}

/** Returns a text of the same length with a replacement for each character that is not safe to print. */
export function printable(text: string, replacement: string): string {
  return text.toWellFormed().replace(UNSAFE, replacement);
}

/** Returns the name of a source in a map as a short relative path: bundlers write relative paths, absolute paths and URLs. */
export function shortName(source: string): string {
  const path = source
    .slice(-4 * MAX_CHARACTERS)
    .replace(/^[a-z][\w+.-]*:\/\/[^/]*\//i, "./")
    .replace(/\?.*$/s, "");
  const all = path.split(/[/\\]/);
  const parts: string[] = [];
  for (let index = 0; index < all.length; index += 1) {
    const part = all[index]!;
    if (part !== "" && part !== "." && part !== "..") parts[parts.length] = part;
  }
  const isAbsolute = /^(?:[/\\]|[a-z]:[/\\]|file:)/i.test(source);
  const name = safeName((isAbsolute ? parts.slice(-MAX_ABSOLUTE_PARTS) : parts).join("/"));
  return name === "" ? "unknown" : name;
}
