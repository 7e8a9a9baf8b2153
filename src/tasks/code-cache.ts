/** Of all codes together. */
const MAX_BYTES = 32 * 2 ** 20;

/** The code of tasks that run, so that it is not read at each run. By digest: what is the same is kept once. */
export class CodeCache {
  readonly #codes = new Map<string, Buffer>();
  #bytes = 0;

  get(digest: string): Buffer | undefined {
    return this.#codes.get(digest);
  }

  /** Keeps a code, and lets those go that came first where they are too many. @returns it. */
  add(digest: string, code: Buffer): Buffer {
    if (this.#codes.has(digest)) return code;
    this.#codes.set(digest, code);
    this.#bytes += code.length;
    for (const [oldest, { length }] of this.#codes) {
      if (this.#bytes <= MAX_BYTES || oldest === digest) break;
      this.#codes.delete(oldest);
      this.#bytes -= length;
    }
    return code;
  }
}
