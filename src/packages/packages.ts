import { isDeepStrictEqual } from "node:util";

import { ByteCache } from "../byte-cache.ts";
import type { Artefacts } from "./artefacts.ts";
import type { BuildQueue } from "./build-queue.ts";
import { requireOrdered } from "./check-built.ts";
import { FailedBuilds } from "./failed-builds.ts";
import { type Artefact, keyOfLock, type Lock, type PackageSet } from "./model.ts";
import type { ListedArtefact, PackageStore, Pin, StoredArtefact } from "./package-store.ts";
import type { PermitStore } from "./permit-store.ts";
import { Permits } from "./permits.ts";
import type { PackagePolicy } from "./policy.ts";
import { waitForBuild, type Waiting } from "./wait-for-build.ts";

/** The token that packages are built for. */
export interface Asker {
  readonly family: string;
  /** Null for an administrator. */
  readonly quotaFamily: string | null;
  readonly jti: string;
}

/** A lock with its artefact. */
export interface Prepared {
  readonly lock: Lock;
  readonly artefact: Artefact;
}

export interface PackagesOptions {
  /** What the operator permits by settings. */
  readonly policy: PackagePolicy;
  readonly minAgeMs: number;
  /** What administrators permit in addition. */
  readonly permitStore: PermitStore;
  /** The clock, in Unix milliseconds. */
  readonly nowMs?: () => number;
}

/** How long inline code keeps the versions that it got. */
const LOCK_MS = 86_400_000;
/** The most sets of a list. */
const MAX_LISTED = 200;
/** The memory for locks. */
const LOCK_BYTES = 16 * 2 ** 20;
/** The estimated memory of a lock for each of its packages. Its names come in addition: 200 sub-paths have up to 100 KB. */
const PACKAGE_BYTES = 1_024;

/** Finds or builds what code imports. */
export class Packages {
  readonly artefacts: Artefacts;
  readonly permits: Permits;
  readonly #store: PackageStore;
  readonly #queue: BuildQueue;
  readonly #options: PackagesOptions;
  readonly #nowMs: () => number;
  readonly #locks = new ByteCache<Lock>(LOCK_BYTES);
  readonly #builds = new Map<string, Promise<Prepared>>();
  readonly #failures: FailedBuilds;
  readonly #pinned = new Map<string, string>();

  constructor(store: PackageStore, artefacts: Artefacts, queue: BuildQueue, options: PackagesOptions) {
    this.#store = store;
    this.artefacts = artefacts;
    this.#queue = queue;
    this.#options = options;
    this.#nowMs = options.nowMs ?? Date.now;
    this.#failures = new FailedBuilds(this.#nowMs);
    this.permits = new Permits(options.permitStore, options.policy, this.#nowMs);
  }

  /** Returns the packages of inline code if they are in memory or on the disk, without a build; otherwise null. */
  async known(set: PackageSet, { family }: Pick<Asker, "family">): Promise<Prepared | null> {
    const lock = this.#store.lock(family, requestOf(set, null), this.#nowMs());
    return lock && (await this.#stored(lock));
  }

  /** Returns the sets that are built, the last used first. @param family only those of this family; null for all */
  stored(family: string | null): { readonly packages: readonly object[]; readonly bytes: number } {
    const listed = this.#store.list(family, MAX_LISTED);
    return { packages: listed.map(shown), bytes: this.#store.listedBytes(family) };
  }

  /** Returns the builds of this node that run or wait. @param family as of `stored` */
  building(family: string | null): readonly object[] {
    return this.#queue.builds(family).map(({ order, orderedAt, startedAt }) => ({
      packages: order.set.ranges,
      state: startedAt === null ? "waiting" : "building",
      requestedBy: order.requestedBy,
      orderedAt: new Date(orderedAt).toISOString(),
      startedAt: startedAt === null ? null : new Date(startedAt).toISOString(),
    }));
  }

  /** Returns a set that is built, with the lock of the family, or null. @param family as of `stored` */
  storedOf(key: string, family: string | null): Pick<StoredArtefact, "lock" | "bytes"> | null {
    const found = this.#store.artefact(key);
    if (!found || family === null || found.family === family) return found;
    // The lock of the artefact names the token of another family, and the time of its request.
    const lock = this.#store.lockWithKey(family, key);
    return lock && { lock, bytes: found.bytes };
  }

  /**
   * Returns the packages of inline code: at once if its lock and its artefact are in memory. A family keeps the lock of a set for 24 h.
   * Then the next run begins a build with the newest versions, and the old lock stays in use until the build has succeeded.
   *
   * @param from keep the versions of this lock
   * @param task the task whose current version has the lock `from`, or null
   * @throws {Problem} `packages_building`, and as `Builder.build`
   */
  resolve(
    set: PackageSet,
    by: Asker,
    waiting: Waiting,
    from: Lock | null = null,
    task: Pin | null = null,
  ): Prepared | Promise<Prepared> {
    if (from && isOfSet(from, set)) return this.prepare(from, by, waiting, task);
    const request = requestOf(set, from);
    const lock = this.#locks.get(`${by.family} ${request}`);
    const artefact = lock && this.#inMemory(lock);
    if (lock && artefact && this.#isFresh(lock)) return { lock, artefact };
    return this.#resolve(set, request, by, waiting, from);
  }

  /**
   * Returns the artefact of a lock: at once if it is in memory. An artefact that is gone is built again, with the same versions.
   *
   * @param task the task whose current version has the lock, or null
   * @throws {Problem} `packages_building`, and as `Builder.build`
   */
  prepare(lock: Lock, by: Asker, waiting: Waiting, task: Pin | null = null): Prepared | Promise<Prepared> {
    const artefact = this.#inMemory(lock);
    return artefact ? { lock, artefact } : this.#prepare(lock, by, waiting, task);
  }

  /**
   * Makes the lock of a task, with its artefact, which must have room on the disk: the task runs without the registry.
   *
   * @param from the lock before, whose versions stay
   * @param update the packages whose versions do not stay
   * @throws {Problem} `packages_building`, `quota_exceeded`, and as `Builder.build`
   */
  async lockOf(
    set: PackageSet,
    from: Lock | null,
    update: readonly string[],
    by: Asker,
    waiting: Waiting,
  ): Promise<Lock> {
    const { lock, artefact } = await this.#preparedFor(set, from, update, by, waiting);
    if (!this.#keysOf(lock).some((key) => this.#store.artefact(key))) {
      const stored = { ...lock, key: artefact.key };
      await this.artefacts.store({ lock: stored, artefact: artefact.artefact }, by.quotaFamily);
    }
    return lock;
  }

  /** Notes the lock of the current version of a task, or that it has none: no other artefact may make its artefact leave. */
  pin(task: Pin, lock: Lock | null): void {
    const name = `${task.container}/${task.name}`;
    const key = lock === null ? undefined : this.#keysOf(lock).find((each) => this.#store.artefact(each) !== null);
    if (this.#pinned.get(name) === key) return;
    if (key === undefined) this.#pinned.delete(name);
    else this.#pinned.set(name, key);
    this.#store.pin(task, key ?? null);
  }

  /** Whether a lock names an artefact. */
  names(lock: Lock | null, key: string): boolean {
    return lock !== null && this.#keysOf(lock).includes(key);
  }

  async close(): Promise<void> {
    await this.#queue.close();
    this.#store.close();
  }

  async #preparedFor(
    set: PackageSet,
    from: Lock | null,
    update: readonly string[],
    by: Asker,
    waiting: Waiting,
  ): Promise<Prepared> {
    if (from && update.length === 0 && isOfSet(from, set)) return await this.prepare(from, by, waiting);
    // A caller who has tried inline code gets the same versions for a task.
    if (from === null && update.length === 0) return await this.resolve(set, by, waiting);
    return await waitForBuild(this.#build(set, from, update, by), waiting);
  }

  async #resolve(set: PackageSet, request: string, by: Asker, waiting: Waiting, from: Lock | null): Promise<Prepared> {
    const lock = this.#store.lock(by.family, request, this.#nowMs());
    if (lock === null) return await waitForBuild(this.#buildInline(set, request, by, from), waiting);
    this.#remember(by.family, request, lock);
    if (this.#isFresh(lock)) return await this.prepare(lock, by, waiting);
    const newer = this.#buildInline(set, request, by, from);
    // Its failure is remembered and logged; the old lock stays in use.
    newer.catch(() => {});
    const old = await this.#stored(lock);
    return old ?? (await waitForBuild(newer, waiting));
  }

  async #prepare(lock: Lock, by: Asker, waiting: Waiting, task: Pin | null = null): Promise<Prepared> {
    const { ranges, entries } = lock;
    const artefact =
      (await this.#stored(lock))?.artefact ??
      (await waitForBuild(this.#build({ ranges, entries }, lock, [], by), waiting)).artefact;
    // The task may come from another node, or from before an update of the service, which gives the artefact another key.
    if (task) this.pin(task, lock);
    return { lock, artefact };
  }

  async #stored(lock: Lock): Promise<Prepared | null> {
    for (const key of this.#keysOf(lock)) {
      const artefact = await this.artefacts.get(key);
      if (artefact) return { lock, artefact };
    }
    return null;
  }

  #inMemory(lock: Lock): Artefact | null {
    const [key, current] = this.#keysOf(lock);
    return this.artefacts.inMemory(key!) ?? (current === undefined ? null : this.artefacts.inMemory(current));
  }

  /** Returns the keys of an artefact of a lock: its own, and that of the builder of today, after an update of the service. */
  #keysOf(lock: Lock): string[] {
    const { version } = this.#queue;
    return lock.builder === version ? [lock.key] : [lock.key, keyOfLock({ ...lock, builder: version })];
  }

  #isFresh({ at }: Lock): boolean {
    return this.#nowMs() - at < LOCK_MS;
  }

  #remember(family: string, request: string, lock: Lock): void {
    const name = `${family} ${request}`;
    const before = this.#locks.get(name);
    if (before) this.#locks.removeIf((known) => known === before);
    // The names are in the name of the entry, and in the lock.
    this.#locks.add(name, lock, (lock.packages.length + 1) * PACKAGE_BYTES + 2 * name.length, family);
  }

  async #buildInline(set: PackageSet, request: string, by: Asker, from: Lock | null): Promise<Prepared> {
    const prepared = await this.#build(set, from, [], by);
    this.#store.putLock(by.family, request, prepared.lock, this.#nowMs());
    this.#remember(by.family, request, prepared.lock);
    return prepared;
  }

  /** Begins a build, or joins the same build of the family. */
  async #build(set: PackageSet, from: Lock | null, update: readonly string[], by: Asker): Promise<Prepared> {
    const name = JSON.stringify([by.family, set.ranges, set.entries, from?.key ?? null, update]);
    this.#failures.throwIfFailed(name);
    let build = this.#builds.get(name);
    if (!build) {
      build = this.#make(set, from, update, by)
        .catch((error: unknown) => {
          this.#failures.note(name, error);
          throw error;
        })
        .finally(() => this.#builds.delete(name));
      this.#builds.set(name, build);
    }
    return await build;
  }

  async #make(set: PackageSet, from: Lock | null, update: readonly string[], by: Asker): Promise<Prepared> {
    const { minAgeMs } = this.#options;
    const order = { set, from, update, minAgeMs, holder: by.family, requestedBy: by.jti };
    const built = await this.#queue.build(order);
    requireOrdered(built, order);
    const lock: Lock = { ...built.lock, requestedBy: by.jti, at: this.#nowMs() };
    const known = await this.artefacts.get(lock.key);
    // The artefact of a key is decided by the key, so the first one stays.
    const artefact = known ?? (await this.artefacts.add({ lock, artefact: built.artefact }, by.quotaFamily));
    return { lock, artefact };
  }
}

function shown({ key, versions, count, bytes, builtAt, usedAt }: ListedArtefact): object {
  return {
    lock: key,
    versions,
    count,
    bytes,
    builtAt: new Date(builtAt).toISOString(),
    usedAt: new Date(usedAt).toISOString(),
  };
}

const requests = new WeakMap<PackageSet, string>();

/** Returns the name of a set among the locks of a family. */
function requestOf(set: PackageSet, from: Lock | null): string {
  const { ranges, entries } = set;
  if (from !== null) return JSON.stringify([ranges, entries, from.key]);
  let request = requests.get(set);
  if (request === undefined) {
    request = JSON.stringify([ranges, entries]);
    requests.set(set, request);
  }
  return request;
}

/** Whether a lock has what a set names. An entry that its package does not have is in no lock. */
function isOfSet(lock: Lock, set: PackageSet): boolean {
  return set === lock || (isDeepStrictEqual(lock.ranges, set.ranges) && isDeepStrictEqual(lock.entries, set.entries));
}
