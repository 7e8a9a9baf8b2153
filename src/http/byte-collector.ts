/** A body that is made of its chunks. One buffer that grows: a list of a million chunks of one byte takes half a gigabyte. */
export class ByteCollector {
  #bytes: Buffer = EMPTY;
  #length = 0;
  #chunks = 0;

  get length(): number {
    return this.#length;
  }

  /** Whether the chunks are so small that reading them costs far more than what they bring. */
  get isDribble(): boolean {
    return isDribble(this.#chunks, this.#length);
  }

  /** @returns how many bytes of memory it takes more. */
  add(chunk: Buffer): number {
    const before = this.#bytes.length;
    this.#chunks += 1;
    const length = this.#length + chunk.length;
    if (before === 0) this.#bytes = chunk;
    else {
      if (length > before || this.#chunks === 2) {
        // Not from the pool of small buffers, and never into the first chunk, which is Node's.
        const grown = Buffer.allocUnsafeSlow(Math.max(MIN_BYTES, 2 * length));
        this.#bytes.copy(grown, 0, 0, this.#length);
        this.#bytes = grown;
      }
      chunk.copy(this.#bytes, this.#length);
    }
    this.#length = length;
    return this.#bytes.length - before;
  }

  /** All that was added. */
  get bytes(): Buffer {
    return this.#bytes.length === this.#length ? this.#bytes : this.#bytes.subarray(0, this.#length);
  }

  clear(): void {
    this.#bytes = EMPTY;
    this.#length = 0;
  }
}

/** A sender may begin as it likes, and has to bring as many bytes with a chunk after that. Each chunk costs as much as a packet. */
const FREE_CHUNKS = 2_000;
const MIN_BYTES_A_CHUNK = 64;

/** Whether a body comes in chunks that are so small that they are an attack on the time of the one thread. */
export function isDribble(chunks: number, bytes: number): boolean {
  return chunks > FREE_CHUNKS + bytes / MIN_BYTES_A_CHUNK;
}

const EMPTY = Buffer.alloc(0);
const MIN_BYTES = 1_024;
