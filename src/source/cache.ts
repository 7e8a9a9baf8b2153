import type { Reuse } from "./cache-policy.ts";
import type { Reply } from "./exchange.ts";

/** An answer that may be given to others. */
export interface Kept extends Pick<Reuse, "status" | "headers"> {
  readonly reply: Reply;
  /** Of its host, checked when they were dialled. */
  readonly addresses: readonly string[];
  /** Until when it is given out unasked, in milliseconds of the clock that its keeper goes by. */
  readonly freshUntilMs: number;
}

export interface CacheBounds {
  /** Of all that is kept: whoever may run can have any number of URLs fetched. */
  readonly maxBytes: number;
  /** For the same reason: small answers cost more than their bytes. */
  readonly maxEntries: number;
}

/** The answers of URLs, in bounded memory. Those that nobody has asked for the longest go first. */
export class Cache {
  readonly #bounds: CacheBounds;
  readonly #kept: Map<string, { readonly kept: Kept; readonly bytes: number }> = new Map();
  #bytes = 0;

  constructor(bounds: CacheBounds) {
    this.#bounds = bounds;
  }

  get(url: string): Kept | undefined {
    const found = this.#kept.get(url);
    if (!found) return undefined;
    this.#kept.delete(url);
    this.#kept.set(url, found);
    return found.kept;
  }

  /** Keeps it in place of what was kept of the URL. */
  keep(url: string, kept: Kept): void {
    this.forget(url);
    const bytes = costOf(url, kept);
    if (bytes > this.#bounds.maxBytes || this.#bounds.maxEntries === 0) return;
    this.#kept.set(url, { kept: { ...kept, reply: alone(kept.reply) }, bytes });
    this.#bytes += bytes;
    while (this.#bytes > this.#bounds.maxBytes || this.#kept.size > this.#bounds.maxEntries) {
      this.forget(this.#kept.keys().next().value!);
    }
  }

  forget(url: string): void {
    this.#bytes -= this.#kept.get(url)?.bytes ?? 0;
    this.#kept.delete(url);
  }
}

/** Of an entry without any text, about. */
const ENTRY_BYTES = 1_024;
const BYTES_A_CHARACTER = 2;

function costOf(url: string, { reply, headers, addresses }: Kept): number {
  const texts = [url, reply.location, reply.contentType, ...Object.entries(headers).flat(), ...addresses];
  const characters = texts.reduce<number>((sum, each) => sum + (each?.length ?? 0), 0);
  return ENTRY_BYTES + characters * BYTES_A_CHARACTER + reply.body.length;
}

/** Small buffers lie together in a pool, and one that is kept would hold them all. */
function alone(reply: Reply): Reply {
  const { body } = reply;
  return body.length === body.buffer.byteLength ? reply : { ...reply, body: Buffer.from(new Uint8Array(body).buffer) };
}
