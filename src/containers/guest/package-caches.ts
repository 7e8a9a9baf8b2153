import { ByteCache } from "../../byte-cache.ts";
import { Problem } from "../../errors.ts";
import { FairQueue } from "../../fair-queue.ts";
import type { RunContext } from "../../wire/messages.ts";
import type { CacheOrder } from "../../wire/package-message.ts";
import { codeOf } from "./code-table.ts";
import { collectStream } from "./collect-stream.ts";
import type { Guest } from "./guest.ts";
import type { CodePackages } from "./package-table.ts";

/** The bytes of all caches: caches of some hundreds of packages. A token family may use a quarter, and then evicts its own first. */
const MAX_BYTES = 64 * 2 ** 20;
/** A cache with all functions takes less than twice the bytes of its text. */
const MAX_PER_BYTE = 4;
/** The most bytes of the artefacts whose caches are being made or wait for their turn. */
const MAX_ASKED_BYTES = 64 * 2 ** 20;
/** V8 compiles a shorter artefact in a millisecond. */
const LEAST_BYTES = 65_536;
/** The artefacts whose cache could not be made, as far as they are remembered. */
const MAX_FAILED = 1_000;
/** The time until a cache that could not be made is tried again: perhaps the machine was too busy. */
const RETRY_MS = 60_000;
/** The most functions that a cache names, and the longest JSON of their ends. */
const MAX_FUNCTIONS = 20_000;
const MAX_LIST_BYTES = 9 * MAX_FUNCTIONS;
/** The longest time for the evaluation of packages. Without its result, the cache has all functions. */
const EVALUATION_MS = 5_000;
const OVER = new Problem("container_restarted", "the packages are compiled");
const CONTEXT: RunContext = { runId: "cache", container: "cache", method: "POST", url: "http://cache/", headers: {} };

/** Makes the cache of packages. @throws {Error} if that fails */
type MakeCache = (packages: CodePackages) => Promise<Buffer>;

/**
 * V8's code caches of artefacts, so that not every guest compiles the same text: that takes most of the time of the first
 * import of a large package.
 *
 * V8 trusts a cache, and a forged one could execute any machine code. So each is made by a guest that has executed no
 * submitted code, compiles the artefact without executing it, and then ends. A cache with all functions is three times as large as one
 * with those that an import calls, and V8 reads all of it. Another guest evaluates the packages before, and reports only where these
 * functions end: forged numbers make V8 compile other functions.
 */
export class PackageCaches {
  readonly #make: MakeCache;
  readonly #caches = new ByteCache<Buffer>(MAX_BYTES);
  readonly #nowMs: () => number;
  /** When the cache of an artefact could not be made, by its key. The first one is forgotten first. */
  readonly #failedMs = new Map<string, number>();
  /** One cache at a time, in turns: a family with many packages would otherwise always be the next to ask. */
  readonly #turns = new FairQueue(1);
  /** The families with a cache that is being made or waits for its turn. Each has one at a time. */
  readonly #asking = new Set<string>();
  #askedBytes = 0;
  #isClosed = false;

  /**
   * @param start starts a guest that has executed nothing
   * @param nowMs the clock, in milliseconds
   * @param make makes a cache
   */
  constructor(
    start: () => Promise<Guest>,
    nowMs: () => number = () => performance.now(),
    make: MakeCache = (packages) => makeCache(start, packages),
  ) {
    this.#make = make;
    this.#nowMs = nowMs;
  }

  /**
   * Returns the cache of packages, or null. The first guest that needs it compiles the text itself, while the cache is made for
   * the others.
   *
   * @param family the token family of the run; a cache counts against the family that needed it first
   */
  of(packages: CodePackages, family: string): Buffer | null {
    const { key, artefact } = packages;
    if (artefact.length < LEAST_BYTES) return null;
    const cache = this.#caches.get(key);
    if (cache) return cache;
    // The next guest of an artefact that cannot wait asks again.
    const mayWait = !this.#asking.has(family) && this.#askedBytes + artefact.length <= MAX_ASKED_BYTES;
    if (mayWait && !this.#hasFailed(key) && !this.#isClosed) void this.#ask(packages, family);
    return null;
  }

  /** Makes no further cache. */
  close(): void {
    this.#isClosed = true;
  }

  #hasFailed(key: string): boolean {
    const failedMs = this.#failedMs.get(key);
    return failedMs !== undefined && this.#nowMs() - failedMs < RETRY_MS;
  }

  async #ask(packages: CodePackages, family: string): Promise<void> {
    const { length } = packages.artefact;
    this.#asking.add(family);
    this.#askedBytes += length;
    await this.#turns.run(family, () => this.#add(packages, family));
    this.#asking.delete(family);
    this.#askedBytes -= length;
  }

  async #add(packages: CodePackages, family: string): Promise<void> {
    const { key } = packages;
    // Another family may have asked for the same artefact.
    if (this.#isClosed || this.#caches.get(key) || this.#hasFailed(key)) return;
    try {
      const cache = await this.#make(packages);
      this.#caches.add(key, cache, cache.length, family);
    } catch {
      // Guests compile the text as before. Mostly it would fail again, for example because the cache needs too much memory.
      this.#failedMs.delete(key);
      this.#failedMs.set(key, this.#nowMs());
      if (this.#failedMs.size > MAX_FAILED) this.#failedMs.delete(this.#failedMs.keys().next().value!);
    }
  }
}

async function makeCache(start: () => Promise<Guest>, packages: CodePackages): Promise<Buffer> {
  // Packages that throw, exit or never end have a cache too.
  const called = await calledOf(start, packages).catch(() => null);
  return await streamed(packages, await start(), called, MAX_PER_BYTE * packages.artefact.length);
}

/** Returns the ends of the functions that imports of the packages call, as a guest reports them; null if it reports anything else. */
async function calledOf(start: () => Promise<Guest>, packages: CodePackages): Promise<number[] | null> {
  const bytes = await streamed(packages, await start(), "called", MAX_LIST_BYTES);
  const ends: unknown = JSON.parse(bytes.toString("latin1"));
  const isList = Array.isArray(ends) && ends.length <= MAX_FUNCTIONS && ends.every(isOffset);
  return isList ? ends : null;
}

function isOffset(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) > 0 && (value as number) < 2 ** 31;
}

/** Returns what a guest streams for an order, and ends the guest. */
async function streamed(packages: CodePackages, guest: Guest, order: CacheOrder, maxBytes: number): Promise<Buffer> {
  try {
    const code = codeOf({
      source: Buffer.alloc(0),
      typescript: false,
      modules: null,
      packages,
      cachesPackages: true,
    });
    const answer = Promise.withResolvers<Buffer>();
    const listener = collectStream(answer, {
      maxBytes,
      grant: (bytes) => guest.inFlight.grant(id, bytes),
      fault: (lack) => new Error(`the guest sent ${lack} instead of a stream`),
    });
    const context = JSON.stringify({ ...CONTEXT, body: order });
    const options = order === "called" ? { timeoutMs: EVALUATION_MS } : {};
    const id = guest.run(code, () => context, listener, performance.now(), options);
    return await answer.promise;
  } finally {
    guest.end(OVER);
  }
}
