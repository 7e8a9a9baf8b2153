import { ByteCache } from "../byte-cache.ts";
import type { Lock, PackageSet } from "./model.ts";

/** The memory for locks. */
const MEMORY_BYTES = 16 * 2 ** 20;
/** The estimated memory of a lock for each of its packages. Its names come in addition: 200 sub-paths have up to 100 KB. */
const PACKAGE_BYTES = 1_024;

/** The locks that inline code has lately used, by family and set. */
export class RecentLocks {
  readonly #locks = new ByteCache<Lock>(MEMORY_BYTES);
  /** The lock that a set got last, and its family. The same text has the same set, so a warm run makes no name of it. */
  readonly #latest = new WeakMap<PackageSet, { readonly family: string; readonly lock: Lock }>();

  /** @param from the lock whose versions stay, or null */
  get(set: PackageSet, family: string, from: Lock | null): Lock | null {
    const latest = from === null ? this.#latest.get(set) : undefined;
    if (latest && latest.family === family) return latest.lock;
    const lock = this.#locks.get(`${family} ${requestOf(set, from)}`) ?? null;
    if (lock && from === null) this.#latest.set(set, { family, lock });
    return lock;
  }

  /** @param from as of `get` */
  add(set: PackageSet, family: string, from: Lock | null, lock: Lock): void {
    const name = `${family} ${requestOf(set, from)}`;
    const before = this.#locks.get(name);
    if (before) this.#locks.removeIf((known) => known === before);
    this.#latest.delete(set);
    // The names are in the name of the entry, and in the lock.
    this.#locks.add(name, lock, (lock.packages.length + 1) * PACKAGE_BYTES + 2 * name.length, family);
  }
}

const requests = new WeakMap<PackageSet, string>();

/** Returns the name of a set among the locks of a family. @param from as of `RecentLocks.get` */
export function requestOf(set: PackageSet, from: Lock | null): string {
  const { ranges, entries } = set;
  if (from !== null) return JSON.stringify([ranges, entries, from.key]);
  let request = requests.get(set);
  if (request === undefined) {
    request = JSON.stringify([ranges, entries]);
    requests.set(set, request);
  }
  return request;
}
