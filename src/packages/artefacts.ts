import { createHash, randomUUID } from "node:crypto";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";

import { ByteCache } from "../byte-cache.ts";
import { Problem } from "../errors.ts";
import { Slices } from "../next-turn.ts";
import { formatSize } from "../units.ts";
import { givenUp } from "./fair-room.ts";
import type { Artefact, Built } from "./model.ts";
import { type KeptArtefact, type PackageStore, type Pin, USE_MS } from "./package-store.ts";

export interface ArtefactOptions {
  /** The most bytes of all artefacts. */
  readonly maxBytes: number;
  /** The most artefacts; the default is `MAX_ARTEFACTS`. */
  readonly maxCount?: number | undefined;
  /** The clock, in Unix milliseconds. */
  readonly nowMs?: (() => number) | undefined;
}

/** Whether the current version of a task names an artefact. */
export type IsPinned = (pin: Pin, key: string) => boolean | Promise<boolean>;

/** The most artefacts. Each also has a lock, and lists and the search for room read a row of each. */
const MAX_ARTEFACTS = 8_000;
/** The part of the disk, and of the number, that one family may use: a family with many sets must not evict those of all others. */
const FAMILY_SHARE = 1 / 4;
/** The end of the name of a file. */
const END = ".cjs";
/** An artefact that no run has used for this time makes room for other families, also if a task names it. */
const UNUSED_MS = 7 * 86_400_000;
/** The end of the name of a file that is not whole. */
const NEW = ".new";
/** The memory for artefacts that runs have lately used. */
const MEMORY_BYTES = 64 * 2 ** 20;

/** The artefacts: a file for each in a folder, and lately used ones in memory. */
export class Artefacts {
  readonly #folder: string;
  readonly #index: PackageStore;
  readonly #maxBytes: number;
  readonly #maxCount: number;
  readonly #nowMs: () => number;
  readonly #memory = new ByteCache<Artefact>(MEMORY_BYTES);
  readonly #reads = new Map<string, Promise<Artefact | null>>();
  /** When the index last received a use of an artefact that is in memory. */
  readonly #notedAt = new Map<string, number>();
  /** Set later, because the tasks need the packages. */
  isPinned: IsPinned = () => false;

  constructor(
    folder: string,
    index: PackageStore,
    { maxBytes, maxCount = MAX_ARTEFACTS, nowMs = Date.now }: ArtefactOptions,
  ) {
    this.#folder = folder;
    this.#index = index;
    this.#maxBytes = maxBytes;
    this.#maxCount = maxCount;
    this.#nowMs = nowMs;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const known = new Set([...index.leastUsed(null)].map(({ key }) => key + END));
    // A service that was killed may have left files which are not whole, or not in the index.
    for (const name of readdirSync(folder)) {
      if (name.endsWith(NEW) || (name.endsWith(END) && !known.has(name)))
        rmSync(path.join(folder, name), { force: true, recursive: true });
    }
  }

  /** Returns an artefact that is in memory. */
  inMemory(key: string): Artefact | null {
    const found = this.#memory.get(key);
    if (!found) return null;
    const nowMs = this.#nowMs();
    if (nowMs - (this.#notedAt.get(key) ?? 0) > USE_MS) {
      this.#notedAt.set(key, nowMs);
      this.#index.usedAt(key, nowMs);
    }
    return found;
  }

  /** Returns an artefact, or null if there is none. A file that does not have the bytes of its build is removed. */
  get(key: string): Promise<Artefact | null> {
    let reading = this.#reads.get(key);
    if (!reading) {
      reading = this.#read(key).finally(() => this.#reads.delete(key));
      this.#reads.set(key, reading);
    }
    return reading;
  }

  /** Adds a built artefact. Without room on the disk it is in memory only: the run that has waited for the build can use it. */
  async add(built: Built, family: string | null): Promise<Artefact> {
    const { lock, artefact } = built;
    try {
      await this.store(built, family);
    } catch (error) {
      if (!(error instanceof Problem) || error.code !== "quota_exceeded") throw error;
    }
    return this.#memory.add(lock.key, { key: lock.key, artefact }, artefact.length, family ?? "");
  }

  /**
   * Stores an artefact on the disk. The least recently used ones make room, but none that the current version of a task names.
   *
   * @param family the family that it counts for; null for an administrator
   * @throws {Problem} `quota_exceeded` if there is no room, `store_unavailable` if the disk cannot be written
   */
  async store({ lock, artefact }: Built, family: string | null): Promise<void> {
    const nowMs = this.#nowMs();
    // The lock takes room too, and may be larger than the artefact.
    const bytes = artefact.length + JSON.stringify(lock).length;
    await this.#makeRoom(bytes, family);
    const sha256 = createHash("sha256").update(artefact).digest("hex");
    const file = this.#fileOf(lock.key);
    // A reader sees the whole file or none. Two families may store the same artefact at once.
    const whole = `${file}.${randomUUID()}${NEW}`;
    try {
      await writeFile(whole, artefact, { mode: 0o600 });
      await rename(whole, file);
    } catch (error) {
      // A part of it would take the last room of a full disk.
      await rm(whole, { force: true });
      const hint = "The operator finds the cause, such as a full disk, in the log. A run with this error has counted.";
      throw new Problem("store_unavailable", "the built packages cannot be written to the disk", {
        hint,
        cause: error,
      });
    }
    await this.#index.putArtefact({
      key: lock.key,
      family,
      bytes,
      sha256,
      lock,
      builtAt: nowMs,
      usedAt: nowMs,
    });
  }

  /** Removes an artefact. Runs that need it build it again. @returns false if there is none */
  async remove(key: string): Promise<boolean> {
    if (!this.#index.artefact(key)) return false;
    await this.#remove(key);
    return true;
  }

  async #read(key: string): Promise<Artefact | null> {
    const stored = this.#index.artefact(key);
    if (!stored) return null;
    this.#index.used(stored, this.#nowMs());
    const known = this.#memory.get(key);
    if (known) return known;
    const bytes = await readFile(this.#fileOf(key)).catch(() => null);
    if (bytes === null || createHash("sha256").update(bytes).digest("hex") !== stored.sha256) {
      await this.#remove(key);
      return null;
    }
    return this.#memory.add(key, { key, artefact: bytes }, bytes.length, stored.family ?? "");
  }

  async #makeRoom(bytes: number, family: string | null): Promise<void> {
    const { all, own, count, ownCount } = this.#index.sizes(family);
    const whole = excess(all + bytes, this.#maxBytes, count + 1, this.#maxCount);
    const share =
      family === null
        ? NONE
        : excess(own + bytes, this.#maxBytes * FAMILY_SHARE, ownCount + 1, this.#maxCount * FAMILY_SHARE);
    if (!isTooMuch(whole) && !isTooMuch(share)) return;
    const slices = new Slices(family ?? "");
    // First those of the family: what it stores too much must not cost others.
    for (const each of this.#index.leastUsed(family)) {
      const isOwn = each.family === family;
      if (!isTooMuch(whole) && !(isOwn && isTooMuch(share))) break;
      if (slices.hasEnded) await slices.next();
      if (await this.#isNeeded(each)) continue;
      await this.#remove(each.key);
      for (const bound of isOwn ? [whole, share] : [whole]) {
        bound.bytes -= each.bytes;
        bound.count -= 1;
      }
    }
    const part = this.#maxBytes * FAMILY_SHARE;
    if (isTooMuch(share)) throw full(`the token family has at most ${formatSize(Math.floor(part))} for built packages`);
    // Tasks need all of it. They build again what they lose, with the same versions.
    const room = { bytes: this.#maxBytes, count: this.#maxCount };
    const given = isTooMuch(whole)
      ? givenUp(this.#index.leastUsed(null), family, { bytes, count: 1 }, whole, room, this.#nowMs() - UNUSED_MS)
      : [];
    for (const key of given) await this.#remove(key);
    if (isTooMuch(whole) && given.length === 0)
      throw full(`the service has at most ${formatSize(this.#maxBytes)} for built packages`);
  }

  async #isNeeded({ key }: KeptArtefact): Promise<boolean> {
    for (const pin of this.#index.pinsOf(key)) {
      if (await this.isPinned(pin, key)) return true;
      await this.#index.pin(pin, null);
    }
    return false;
  }

  async #remove(key: string): Promise<void> {
    await this.#index.removeArtefact(key);
    this.#notedAt.delete(key);
    this.#memory.removeIf((artefact) => artefact.key === key);
    await rm(this.#fileOf(key), { force: true });
  }

  #fileOf(key: string): string {
    return path.join(this.#folder, key + END);
  }
}

/** By how much a bound is passed. */
interface Excess {
  bytes: number;
  count: number;
}

const NONE: Excess = { bytes: 0, count: 0 };

function excess(bytes: number, maxBytes: number, count: number, maxCount: number): Excess {
  return { bytes: bytes - maxBytes, count: count - maxCount };
}

function isTooMuch({ bytes, count }: Excess): boolean {
  return bytes > 0 || count > 0;
}

function full(detail: string): Problem {
  return new Problem("quota_exceeded", `${detail}, and tasks need all of it`, {
    hint:
      "Delete tasks with packages that are not needed, or wait until tasks of others have not run for a week; the operator sets the " +
      "size with --packages-size. Code without a task runs without room.",
  });
}
