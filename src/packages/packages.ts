import { isDeepStrictEqual } from "node:util";

import type { Artefacts } from "./artefacts.ts";
import type { BuildQueue } from "./build-queue.ts";
import { keyOfLock, type Lock, type PackageSet } from "./model.ts";
import type { ListedArtefact, PackageStore, Pin, StoredArtefact } from "./package-store.ts";
import type { PermitStore } from "./permit-store.ts";
import { Permits } from "./permits.ts";
import type { PackagePolicy } from "./policy.ts";
import { RecentLocks, requestOf } from "./recent-locks.ts";
import { type Asker, type Prepared, SharedBuilds } from "./shared-builds.ts";
import { waitForBuild, type Waiting } from "./wait-for-build.ts";

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
/** Finds or builds what code imports. */
export class Packages {
  readonly artefacts: Artefacts;
  readonly permits: Permits;
  readonly #store: PackageStore;
  readonly #queue: BuildQueue;
  readonly #nowMs: () => number;
  readonly #recent = new RecentLocks();
  readonly #builds: SharedBuilds;
  readonly #pinned = new Map<string, string>();

  constructor(store: PackageStore, artefacts: Artefacts, queue: BuildQueue, options: PackagesOptions) {
    this.#store = store;
    this.artefacts = artefacts;
    this.#queue = queue;
    this.#nowMs = options.nowMs ?? Date.now;
    this.#builds = new SharedBuilds(queue, artefacts, options.minAgeMs, this.#nowMs);
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
   * Returns the packages of code if they are in memory, otherwise null.
   *
   * @param from as of `resolve`
   */
  ready(set: PackageSet, { family }: Pick<Asker, "family">, from: Lock | null): Prepared | null {
    if (from && isOfSet(from, set)) return this.#inMemory(from);
    const lock = this.#recent.get(set, family, from);
    return lock && this.#isFresh(lock) ? this.#inMemory(lock) : null;
  }

  /**
   * Returns the packages of inline code. A family keeps the lock of a set for 24 h. Then the next run begins a build with the newest
   * versions, and the old lock stays in use until the build has succeeded.
   *
   * @param from keep the versions of this lock
   * @param task the task whose current version has the lock `from`, or null
   * @throws {Problem} `packages_building`, and as `Builder.build`
   */
  async resolve(
    set: PackageSet,
    by: Asker,
    waiting: Waiting,
    from: Lock | null = null,
    task: Pin | null = null,
  ): Promise<Prepared> {
    const ready = this.ready(set, by, from);
    if (ready) return ready;
    if (from && isOfSet(from, set)) return await this.#prepare(from, by, waiting, task);
    return await this.#resolve(set, by, waiting, from);
  }

  /** Returns a lock with its artefact. Throws as `resolve`. */
  async prepare(lock: Lock, by: Asker, waiting: Waiting): Promise<Prepared> {
    return await this.resolve(lock, by, waiting, lock);
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
  async pin(task: Pin, lock: Lock | null): Promise<void> {
    const name = `${task.container}/${task.name}`;
    const key = lock === null ? undefined : this.#keysOf(lock).find((each) => this.#store.artefact(each) !== null);
    if (this.#pinned.get(name) === key) return;
    if (key === undefined) this.#pinned.delete(name);
    else this.#pinned.set(name, key);
    await this.#store.pin(task, key ?? null);
  }

  /** Whether a lock names an artefact. */
  names(lock: Lock | null, key: string): boolean {
    return lock !== null && this.#keysOf(lock).includes(key);
  }

  /** Ends builds of revoked tokens, as `BuildQueue.end`. */
  endBuilds(hasEnded: (caller: object) => boolean): void {
    this.#queue.end(hasEnded);
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
    if (from && update.length === 0 && isOfSet(from, set)) return await this.resolve(set, by, waiting, from);
    // A caller who has tried inline code gets the same versions for a task.
    if (from === null && update.length === 0) return await this.resolve(set, by, waiting);
    return await waitForBuild(this.#builds.build(set, from, update, by), waiting);
  }

  async #resolve(set: PackageSet, by: Asker, waiting: Waiting, from: Lock | null): Promise<Prepared> {
    const lock = this.#store.lock(by.family, requestOf(set, from), this.#nowMs());
    if (lock === null) return await waitForBuild(this.#buildInline(set, by, from), waiting);
    this.#recent.add(set, by.family, from, lock);
    if (this.#isFresh(lock)) return this.#inMemory(lock) ?? (await this.#prepare(lock, by, waiting));
    const newer = this.#buildInline(set, by, from);
    // Its failure is remembered and logged; the old lock stays in use.
    newer.catch(() => {});
    const old = await this.#stored(lock);
    return old ?? (await waitForBuild(newer, waiting));
  }

  /**
   * Finds or builds the artefact of a lock. An artefact that is gone is built again, with the same versions.
   *
   * @param task the task whose current version has the lock, or null
   * @throws {Problem} `packages_building`, and as `Builder.build`
   */
  async #prepare(lock: Lock, by: Asker, waiting: Waiting, task: Pin | null = null): Promise<Prepared> {
    const { ranges, entries } = lock;
    const artefact =
      (await this.#stored(lock))?.artefact ??
      (await waitForBuild(this.#builds.build({ ranges, entries }, lock, [], by), waiting)).artefact;
    // The task may come from another node, or from before an update of the service, which gives the artefact another key.
    if (task) await this.pin(task, lock);
    return { lock, artefact };
  }

  async #stored(lock: Lock): Promise<Prepared | null> {
    for (const key of this.#keysOf(lock)) {
      const artefact = await this.artefacts.get(key);
      if (artefact) return { lock, artefact };
    }
    return null;
  }

  #inMemory(lock: Lock): Prepared | null {
    for (const key of this.#keysOf(lock)) {
      const artefact = this.artefacts.inMemory(key);
      if (artefact) return { lock, artefact };
    }
    return null;
  }

  /** Returns the keys of an artefact of a lock: its own, and that of the builder of today, after an update of the service. */
  #keysOf(lock: Lock): string[] {
    const { version } = this.#queue;
    return lock.builder === version ? [lock.key] : [lock.key, keyOfLock({ ...lock, builder: version })];
  }

  #isFresh({ at }: Lock): boolean {
    return this.#nowMs() - at < LOCK_MS;
  }

  async #buildInline(set: PackageSet, by: Asker, from: Lock | null): Promise<Prepared> {
    const prepared = await this.#builds.build(set, from, [], by);
    await this.#store.putLock(by.family, requestOf(set, from), prepared.lock, this.#nowMs());
    this.#recent.add(set, by.family, from, prepared.lock);
    return prepared;
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

/** Whether a lock has what a set names. An entry that its package does not have is in no lock. */
function isOfSet(lock: Lock, set: PackageSet): boolean {
  return set === lock || (isDeepStrictEqual(lock.ranges, set.ranges) && isDeepStrictEqual(lock.entries, set.entries));
}
