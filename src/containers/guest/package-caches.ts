import { ByteCache } from "../../byte-cache.ts";
import { Problem } from "../../errors.ts";
import { codeOf } from "./code-table.ts";
import { collectStream } from "./collect-stream.ts";
import type { Guest } from "./guest.ts";
import type { CodePackages } from "./package-table.ts";

/** The bytes of all caches: caches of some dozens of large packages. */
const MAX_BYTES = 64 * 2 ** 20;
/** A cache with all functions takes less than twice the bytes of its text. */
const MAX_PER_BYTE = 4;
/** V8 compiles a shorter artefact in a millisecond. */
const LEAST_BYTES = 65_536;
/** The artefacts whose cache could not be made, as far as they are remembered. */
const MAX_FAILED = 1_000;
const OVER = new Problem("container_restarted", "the packages are compiled");

/**
 * V8's code caches of artefacts, so that not every guest compiles the same text: that takes most of the time of the first
 * import of a large package.
 *
 * V8 trusts a cache, and a forged one could execute any machine code. So each is made by a guest that has executed no
 * submitted code, compiles the artefact without executing it, and then ends.
 */
export class PackageCaches {
  readonly #start: () => Promise<Guest>;
  readonly #caches = new ByteCache<Buffer>(MAX_BYTES);
  /** The keys of artefacts whose cache could not be made. The first one is forgotten first. */
  readonly #failed = new Set<string>();
  #isBusy = false;
  #isClosed = false;

  /** @param start starts a guest that has executed nothing */
  constructor(start: () => Promise<Guest>) {
    this.#start = start;
  }

  /** Returns the cache of packages, or null. The first guest that needs it compiles the text itself, while the cache is made for the others. */
  of(packages: CodePackages): Buffer | null {
    const { key, artefact } = packages;
    if (artefact.length < LEAST_BYTES) return null;
    const cache = this.#caches.get(key);
    if (cache) return cache;
    // One at a time. The next guest of another artefact asks again.
    if (!this.#failed.has(key) && !this.#isBusy && !this.#isClosed) void this.#make(packages);
    return null;
  }

  /** Makes no further cache. */
  close(): void {
    this.#isClosed = true;
  }

  async #make(packages: CodePackages): Promise<void> {
    const { key, artefact } = packages;
    this.#isBusy = true;
    try {
      const cache = await cacheOf(packages, await this.#start());
      // An artefact has one cache, so that the share of a family applies to none.
      if (cache.length <= MAX_PER_BYTE * artefact.length) this.#caches.add(key, cache, cache.length, key);
    } catch {
      // Guests compile the text as before. It would fail again, for example because the cache needs too much memory.
      this.#failed.add(key);
      if (this.#failed.size > MAX_FAILED) this.#failed.delete(this.#failed.values().next().value!);
    } finally {
      this.#isBusy = false;
    }
  }
}

/** Lets a guest compile packages, and ends it. */
async function cacheOf(packages: CodePackages, guest: Guest): Promise<Buffer> {
  try {
    const code = codeOf({
      source: Buffer.alloc(0),
      typescript: false,
      modules: null,
      packages,
      cachesPackages: true,
    });
    const cache = Promise.withResolvers<Buffer>();
    const listener = collectStream(cache, {
      maxBytes: MAX_PER_BYTE * packages.artefact.length,
      grant: (bytes) => guest.grant(id, bytes),
      fault: (lack) => new Error(`the guest sent ${lack} instead of a cache`),
    });
    const id = guest.run(code, () => "{}", listener, performance.now());
    return await cache.promise;
  } finally {
    guest.end(OVER);
  }
}
