/** The room for the first bytes. It doubles when it is full. */
const FIRST_BYTES = 1_024;

/** The beginning of the body of a request, for the record of a task with `record: "input"`. */
export class KeptInput {
  // One buffer: a body may arrive in chunks of one byte, and each buffer takes a hundred bytes more than its content.
  #kept = Buffer.alloc(0);
  #length = 0;
  readonly #mostBytes: number;

  /** @param mostBytes the bytes that are kept */
  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  /** The memory that it takes. */
  get bytes(): number {
    return this.#kept.length;
  }

  add(chunk: Buffer): void {
    const bytes = Math.min(chunk.length, this.#mostBytes - this.#length);
    if (bytes === 0) return;
    const length = this.#length + bytes;
    if (length > this.#kept.length) {
      const room = Math.max(length, 2 * this.#kept.length, FIRST_BYTES);
      const grown = Buffer.alloc(Math.min(room, this.#mostBytes));
      this.#kept.copy(grown, 0, 0, this.#length);
      this.#kept = grown;
    }
    chunk.copy(this.#kept, this.#length, 0, bytes);
    this.#length = length;
  }

  /** The text of the bytes that have arrived, or null if they are not text in UTF-8. */
  get text(): string | null {
    try {
      // `stream`: the last character may be cut off.
      const decoder = new TextDecoder("utf-8", { fatal: true });
      return decoder.decode(this.#kept.subarray(0, this.#length), { stream: true });
    } catch {
      return null;
    }
  }
}
