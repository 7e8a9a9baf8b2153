const NEWLINE = 0x0a;
/** The most bytes of a line: one is parsed in one step. Headers and message of a run have 64 KiB each, escaped up to sixfold. */
const MAX_LINE_BYTES = 2 ** 20;

/** Splits bytes into lines. Each line ends with a line feed. */
export class LineSplitter {
  readonly #most: number;
  #parts: Buffer[] = [];
  #bytes = 0;

  /** @param most the most bytes of a line */
  constructor(most: number = MAX_LINE_BYTES) {
    this.#most = most;
  }

  /** Returns the lines that the bytes complete. @throws {Error} if a line is too long, or not UTF-8 */
  *add(chunk: Buffer): Generator<string> {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      this.#keep(chunk.subarray(from, at));
      const line = Buffer.concat(this.#parts);
      [this.#parts, this.#bytes] = [[], 0];
      from = at + 1;
      yield new TextDecoder("utf-8", { fatal: true }).decode(line);
    }
    this.#keep(chunk.subarray(from));
  }

  /** @throws {Error} if the last line has no end */
  end(): void {
    if (this.#bytes > 0) throw new Error("the last line has no end");
  }

  #keep(part: Buffer): void {
    if (part.length === 0) return;
    this.#bytes += part.length;
    if (this.#bytes > this.#most) throw new Error("a line is too long");
    this.#parts.push(part);
  }
}
