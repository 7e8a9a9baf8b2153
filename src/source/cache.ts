import type { Reuse } from "./cache-policy.ts";
import type { Reply } from "./exchange.ts";

/** A reply that other callers may receive. */
export interface CachedReply extends Pick<Reuse, "status" | "headers"> {
  readonly reply: Reply;
  /** The addresses of its host, which the policy checked before the connection. */
  readonly addresses: readonly string[];
  /** The time until which it needs no validation, in milliseconds of the clock that `Replies` receives. */
  readonly freshUntilMs: number;
}

export interface CacheBounds {
  /** The maximum number of bytes of all entries. A caller can request any number of URLs. */
  readonly maxBytes: number;
  /** The maximum number of entries, because a small reply costs more memory than its bytes. */
  readonly maxEntries: number;
}

interface Entry {
  readonly cached: CachedReply;
  readonly bytes: number;
  readonly family: string;
}

/** What the entries of one family take. */
interface FamilyUse {
  bytes: number;
  entries: number;
}

/**
 * The replies of URLs, in bounded memory. If it is full, the family that uses most of it loses its least recently used reply, so
 * that a family with many URLs evicts none of the others.
 */
export class Cache {
  readonly #bounds: CacheBounds;
  /** By URL; the least recently used is first. */
  readonly #entries: Map<string, Entry> = new Map();
  readonly #families: Map<string, FamilyUse> = new Map();
  #bytes = 0;

  constructor(bounds: CacheBounds) {
    this.#bounds = bounds;
  }

  get(url: string): CachedReply | undefined {
    const found = this.#entries.get(url);
    if (!found) return undefined;
    this.#entries.delete(url);
    this.#entries.set(url, found);
    return found.cached;
  }

  /**
   * Stores the reply. It replaces an earlier reply of the URL.
   *
   * @param family the token family of the caller that has fetched it
   */
  store(url: string, cached: CachedReply, family: string = ""): void {
    this.forget(url);
    const bytes = costOf(url, cached);
    if (bytes > this.#bounds.maxBytes || this.#bounds.maxEntries === 0) return;
    this.#entries.set(url, { cached: { ...cached, reply: withOwnBuffer(cached.reply) }, bytes, family });
    this.#bytes += bytes;
    const use = this.#families.get(family) ?? { bytes: 0, entries: 0 };
    this.#families.set(family, use);
    use.bytes += bytes;
    use.entries += 1;
    while (this.#bytes > this.#bounds.maxBytes || this.#entries.size > this.#bounds.maxEntries) this.#evict();
  }

  forget(url: string): void {
    const entry = this.#entries.get(url);
    if (!entry) return;
    const { bytes, family } = entry;
    this.#entries.delete(url);
    this.#bytes -= bytes;
    const use = this.#families.get(family)!;
    use.bytes -= bytes;
    use.entries -= 1;
    if (use.entries === 0) this.#families.delete(family);
  }

  #evict(): void {
    const { maxBytes, maxEntries } = this.#bounds;
    const shareOf = ({ bytes, entries }: FamilyUse): number => Math.max(bytes / maxBytes, entries / maxEntries);
    const [largest] = [...this.#families].reduce((a, b) => (shareOf(b[1]) > shareOf(a[1]) ? b : a));
    for (const [url, { family }] of this.#entries) if (family === largest) return this.forget(url);
  }
}

/** The approximate size of an entry without its texts. */
const ENTRY_BYTES = 1_024;
const BYTES_A_CHARACTER = 2;

function costOf(url: string, { reply, headers, addresses }: CachedReply): number {
  const texts = [url, reply.location, reply.contentType, ...Object.entries(headers).flat(), ...addresses];
  const characters = texts.reduce<number>((sum, each) => sum + (each?.length ?? 0), 0);
  return ENTRY_BYTES + characters * BYTES_A_CHARACTER + reply.body.length;
}

/** Copies a small buffer out of Node's shared pool, because a view of the pool would retain all of it. */
function withOwnBuffer(reply: Reply): Reply {
  const { body } = reply;
  return body.length === body.buffer.byteLength ? reply : { ...reply, body: Buffer.from(new Uint8Array(body).buffer) };
}
