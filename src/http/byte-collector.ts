/**
 * Joins the chunks of a body in one growing buffer. A list of chunks would take too much memory: half a gigabyte for a
 * million chunks of one byte.
 */
export class ByteCollector {
  #bytes: Buffer = EMPTY;
  #length = 0;
  #chunks = 0;

  get length(): number {
    return this.#length;
  }

  /** Whether the chunks are so small that they are an attack: see `isFragmented`. */
  get isFragmented(): boolean {
    return isFragmented(this.#chunks, this.#length);
  }

  /** @returns how many more bytes of memory the collector uses now */
  add(chunk: Buffer): number {
    const before = this.#bytes.length;
    this.#chunks += 1;
    const length = this.#length + chunk.length;
    if (before === 0) this.#bytes = chunk;
    else {
      if (length > before || this.#chunks === 2) {
        // The buffer is not from Node's pool of small buffers. The first chunk belongs to Node and is not written to.
        const grown = Buffer.allocUnsafeSlow(Math.max(MIN_BYTES, 2 * length));
        this.#bytes.copy(grown, 0, 0, this.#length);
        this.#bytes = grown;
      }
      chunk.copy(this.#bytes, this.#length);
    }
    this.#length = length;
    return this.#bytes.length - before;
  }

  /** All bytes that were added. */
  get bytes(): Buffer {
    return this.#bytes.length === this.#length ? this.#bytes : this.#bytes.subarray(0, this.#length);
  }

  clear(): void {
    this.#bytes = EMPTY;
    this.#length = 0;
  }
}

/** The number of chunks that may be of any size, because an honest client may start with a few small chunks. */
const FREE_CHUNKS = 2_000;
/** The bytes that each further chunk must contain on average. Each chunk costs the service as much as a packet. */
export const MIN_BYTES_A_CHUNK: number = 64;

/** Whether the chunks of a body are so small that they are an attack on the time of the service's only thread. */
export function isFragmented(chunks: number, bytes: number): boolean {
  return chunks > FREE_CHUNKS + bytes / MIN_BYTES_A_CHUNK;
}

const EMPTY = Buffer.alloc(0);
const MIN_BYTES = 1_024;
