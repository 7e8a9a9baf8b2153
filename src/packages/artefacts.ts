import { createHash, randomUUID } from "node:crypto";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";

import { ByteCache } from "../byte-cache.ts";
import { Problem } from "../errors.ts";
import { formatSize } from "../units.ts";
import type { Artefact, Built } from "./model.ts";
import type { PackageStore, Pin, StoredArtefact } from "./package-store.ts";

export interface ArtefactOptions {
  /** The most bytes of all artefacts. */
  readonly maxBytes: number;
  /** The clock, in Unix milliseconds. */
  readonly nowMs?: (() => number) | undefined;
}

/** Whether the current version of a task names an artefact. */
export type IsPinned = (pin: Pin, key: string) => boolean | Promise<boolean>;

/** The part of the disk that one family may use: a family with many sets must not evict those of all others. */
const FAMILY_SHARE = 1 / 4;
/** The end of the name of a file that is not whole. */
const NEW = ".new";
/** The memory for artefacts that runs have lately used. */
const MEMORY_BYTES = 64 * 2 ** 20;

/** The artefacts: a file for each in a folder, and lately used ones in memory. */
export class Artefacts {
  readonly #folder: string;
  readonly #index: PackageStore;
  readonly #maxBytes: number;
  readonly #nowMs: () => number;
  readonly #memory = new ByteCache<Artefact>(MEMORY_BYTES);
  readonly #reads = new Map<string, Promise<Artefact | null>>();
  /** Set later, because the tasks need the packages. */
  isPinned: IsPinned = () => false;

  constructor(folder: string, index: PackageStore, { maxBytes, nowMs = Date.now }: ArtefactOptions) {
    this.#folder = folder;
    this.#index = index;
    this.#maxBytes = maxBytes;
    this.#nowMs = nowMs;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    // A service that was killed may have left such files.
    for (const name of readdirSync(folder)) if (name.endsWith(NEW)) rmSync(path.join(folder, name), { force: true });
  }

  /** Returns an artefact that is in memory. */
  inMemory(key: string): Artefact | null {
    return this.#memory.get(key) ?? null;
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

  /**
   * Stores an artefact. The least recently used ones make room, but none that the current version of a task names.
   *
   * @param family the family that it counts for; null for an administrator
   * @throws {Problem} `quota_exceeded` if there is no room
   */
  async add({ lock, artefact }: Built, family: string | null): Promise<Artefact> {
    const nowMs = this.#nowMs();
    const added = { key: lock.key, artefact };
    await this.#makeRoom(artefact.length, family);
    const sha256 = createHash("sha256").update(artefact).digest("hex");
    const file = this.#fileOf(lock.key);
    // A reader sees the whole file or none. Two families may store the same artefact at once.
    const whole = `${file}.${randomUUID()}${NEW}`;
    await writeFile(whole, artefact, { mode: 0o600 });
    await rename(whole, file);
    this.#index.putArtefact({
      key: lock.key,
      family,
      bytes: artefact.length,
      sha256,
      lock,
      builtAt: nowMs,
      usedAt: nowMs,
    });
    return this.#memory.add(lock.key, added, artefact.length, family ?? "");
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
    const share = this.#maxBytes * FAMILY_SHARE;
    const { all, own } = this.#index.sizes(family);
    let [tooMuch, ownTooMuch] = [all + bytes - this.#maxBytes, family === null ? 0 : own + bytes - share];
    if (tooMuch <= 0 && ownTooMuch <= 0) return;
    const oldestFirst = [...this.#index.artefacts()];
    // First those of the family: what it stores too much must not cost others.
    const inOrder = [
      ...oldestFirst.filter((each) => each.family === family),
      ...oldestFirst.filter((each) => each.family !== family),
    ];
    for (const each of inOrder) {
      const isOwn = each.family === family;
      if (isOwn ? tooMuch <= 0 && ownTooMuch <= 0 : tooMuch <= 0) continue;
      if (await this.#isNeeded(each)) continue;
      await this.#remove(each.key);
      tooMuch -= each.bytes;
      if (isOwn) ownTooMuch -= each.bytes;
    }
    if (ownTooMuch > 0) throw full(`the token family has at most ${formatSize(Math.floor(share))} for built packages`);
    if (tooMuch > 0) throw full(`the service has at most ${formatSize(this.#maxBytes)} for built packages`);
  }

  async #isNeeded({ key }: StoredArtefact): Promise<boolean> {
    for (const pin of this.#index.pinsOf(key)) {
      if (await this.isPinned(pin, key)) return true;
      this.#index.pin(pin, null);
    }
    return false;
  }

  async #remove(key: string): Promise<void> {
    this.#index.removeArtefact(key);
    this.#memory.removeIf((artefact) => artefact.key === key);
    await rm(this.#fileOf(key), { force: true });
  }

  #fileOf(key: string): string {
    return path.join(this.#folder, `${key}.cjs`);
  }
}

function full(detail: string): Problem {
  return new Problem("quota_exceeded", `${detail}, and tasks need all of it`, {
    hint: "Delete tasks with packages that are not needed; the operator sets the size with --packages-size.",
  });
}
