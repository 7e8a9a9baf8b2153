/**
 * Collects the beginning of a body in one buffer. A list of the chunks would take many times the memory of their bytes,
 * because a guest can send single bytes, and a chunk can be a small view of a large buffer.
 */
export class ResultBytes {
  readonly #mostBytes: number;
  readonly #grow: (bytes: number) => void;
  #bytes: Buffer = EMPTY;
  #length = 0;

  /**
   * @param mostBytes the bytes that are kept
   * @param grow receives the memory that is used in addition, before it is used
   */
  constructor(mostBytes: number, grow: (bytes: number) => void) {
    this.#mostBytes = mostBytes;
    this.#grow = grow;
  }

  /** The bytes that are kept. */
  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  /** @returns whether the whole chunk is kept */
  add(chunk: Buffer): boolean {
    const kept = chunk.subarray(0, this.#mostBytes - this.#length);
    if (kept.length > 0) {
      this.#grow(kept.length);
      // Most bodies have one chunk, which is not copied.
      if (this.#length === 0) this.#bytes = kept;
      else {
        if (this.#bytes.length < this.#mostBytes) this.#open();
        kept.copy(this.#bytes, this.#length);
      }
      this.#length += kept.length;
    }
    return kept.length === chunk.length;
  }

  /** The buffer has its full size at once: the kernel gives it memory when it is written to, and nothing is copied again. */
  #open(): void {
    const bytes = Buffer.allocUnsafeSlow(this.#mostBytes);
    this.#bytes.copy(bytes);
    this.#bytes = bytes;
  }
}

const EMPTY = Buffer.alloc(0);
