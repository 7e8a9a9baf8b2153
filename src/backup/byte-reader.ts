/** The input ended inside something that it had announced. */
export class EndedEarly extends Error {
  constructor() {
    super("it ends too early");
  }
}

/** Reads a stream of bytes piece by piece. It keeps at most one chunk of the stream in memory. */
export class ByteReader {
  readonly #chunks: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(chunks: AsyncIterable<Buffer>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  /** Returns exactly this many bytes, which must be few; null at the end. @throws {EndedEarly} if fewer are left. */
  async take(bytes: number): Promise<Buffer | null> {
    while (this.#rest.length < bytes) {
      if (await this.#more()) continue;
      if (this.#rest.length === 0) return null;
      throw new EndedEarly();
    }
    const taken = this.#rest.subarray(0, bytes);
    this.#rest = this.#rest.subarray(bytes);
    return taken;
  }

  /** Returns the next line without its end; null at the end. @throws {Error} if it has more than `most` bytes. */
  async line(most: number): Promise<string | null> {
    for (;;) {
      const at = this.#rest.indexOf("\n");
      if (at >= 0) {
        const line = this.#rest.toString("utf8", 0, at);
        this.#rest = this.#rest.subarray(at + 1);
        return line;
      }
      if (this.#rest.length > most) throw new Error(`a line has more than ${most} bytes`);
      if (await this.#more()) continue;
      if (this.#rest.length === 0) return null;
      throw new EndedEarly();
    }
  }

  /** Returns the next bytes in chunks. @throws {EndedEarly} if fewer are left. */
  async *stream(bytes: number): AsyncGenerator<Buffer> {
    for (let left = bytes; left > 0;) {
      if (this.#rest.length === 0 && !(await this.#more())) throw new EndedEarly();
      const chunk = this.#rest.subarray(0, left);
      this.#rest = this.#rest.subarray(chunk.length);
      left -= chunk.length;
      if (chunk.length > 0) yield chunk;
    }
  }

  async #more(): Promise<boolean> {
    const { done, value } = await this.#chunks.next();
    if (done) return false;
    this.#rest = this.#rest.length === 0 ? value : Buffer.concat([this.#rest, value]);
    return true;
  }
}
