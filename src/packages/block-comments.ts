/** The most characters of a line before a comment that are looked at. */
const MAX_INDENT = 256;

/**
 * Finds the block comments of a text. Only a comment at the start of its line counts: elsewhere `/*` may stand in a string, such as a
 * pattern of paths, and everything behind it would seem to be a comment.
 */
export class BlockComments {
  readonly #text: string;
  #start = 0;
  #end = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Whether a position is in a comment. Ask for ascending positions: the text is read once, whatever it contains. */
  has(at: number): boolean {
    while (this.#end <= at) {
      const start = this.#text.indexOf("/*", this.#end);
      this.#start = start < 0 ? this.#text.length : start;
      if (this.#start > at) {
        this.#end = this.#start;
        return false;
      }
      const end = this.#beginsLine(start) ? this.#text.indexOf("*/", start + 2) : start;
      this.#end = end < 0 ? this.#text.length : end + 2;
      if (end === start) this.#start = this.#end;
    }
    return this.#start <= at;
  }

  #beginsLine(start: number): boolean {
    const before = this.#text.slice(Math.max(0, start - MAX_INDENT), start);
    return before.slice(before.lastIndexOf("\n") + 1).trim() === "";
  }
}
