/** The bytes of a body that a record keeps. */
const MAX_KEPT_BYTES = 64 * 2 ** 10;

/** The beginning of the body of a request, for the record of a task that says `record: "input"`. */
export class KeptInput {
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  #text: string | null = null;

  get bytes(): number {
    return this.#bytes;
  }

  add(chunk: Buffer): void {
    const left = MAX_KEPT_BYTES - this.#bytes;
    if (left <= 0 || chunk.length === 0) return;
    // A copy, because a chunk may be a part of a much longer buffer.
    const kept = Buffer.from(chunk.subarray(0, left));
    this.#chunks.push(kept);
    this.#bytes += kept.length;
    this.#text = null;
  }

  /** The text of the bytes that have arrived, or null if they are not text in UTF-8. */
  get text(): string | null {
    return (this.#text ??= this.#decode());
  }

  #decode(): string | null {
    try {
      // `stream`: the last character may be cut off.
      return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(this.#chunks), { stream: true });
    } catch {
      return null;
    }
  }
}
