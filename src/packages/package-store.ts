import { type Database, openDatabase } from "../database.ts";
import { Problem } from "../errors.ts";
import type { Lock } from "./model.ts";
import { PACKAGE_DATABASE, type Statement } from "./package-statements.ts";
import type { AddedPermit, PermitStore } from "./permit-store.ts";

/** An artefact in the index. */
export interface StoredArtefact {
  readonly key: string;
  /** The family that it counts for; null for an administrator. */
  readonly family: string | null;
  readonly bytes: number;
  /** In hexadecimal. A file that a crash has cut is found by it. */
  readonly sha256: string;
  readonly lock: Lock;
  /** Unix milliseconds. */
  readonly builtAt: number;
  readonly usedAt: number;
}

/** An artefact as lists show it. Its lock is not read, because it may have 256 KiB. */
export interface ListedArtefact extends Pick<StoredArtefact, "key" | "bytes" | "builtAt" | "usedAt"> {
  /** The version of each package that the set names. */
  readonly versions: Readonly<Record<string, string>>;
  /** The number of all packages. */
  readonly count: number;
}

/** What the room of an artefact is decided by. */
export type KeptArtefact = Pick<StoredArtefact, "key" | "family" | "bytes" | "usedAt">;

/** A task whose current version names an artefact, as far as this node has seen. */
export interface Pin {
  readonly container: string;
  readonly name: string;
}

/** The most locks of one family: a caller may name any number of sets. */
const MAX_FAMILY_LOCKS = 200;
/** The most characters of all locks of one family, of which one has up to 256 KiB. */
const MAX_FAMILY_LOCK_CHARS = 8 * 2 ** 20;
/** How long a lock is kept that no run uses. Runs may need it while the registry does not answer. */
const UNUSED_MS = 30 * 86_400_000;
/** A use is written at most so often, because each write waits for the disk. */
export const USE_MS = 3_600_000;

/** The locks of inline code, the index of artefacts, and the packages that administrators have added. */
export class PackageStore implements PermitStore {
  readonly #database: Database<Statement>;
  readonly #statements: Database<Statement>["statements"];
  readonly #permitListeners: (() => void)[] = [];

  /** @throws {Error} when the database in this file cannot be used. The message contains the fix. */
  static open(file: string): PackageStore {
    return openDatabase(file, PACKAGE_DATABASE, (database) => new PackageStore(database));
  }

  private constructor(database: Database<Statement>) {
    this.#database = database;
    this.#statements = database.statements;
  }

  /** @param request names the set, see `requestOf`. */
  lock(family: string, request: string, nowMs: number): Lock | null {
    const row = guarded(() => this.#statements.lock.get(family, request));
    if (!row) return null;
    if (nowMs - Number(row["used"]) > USE_MS) this.#note(() => this.#statements.useLock.run(nowMs, family, request));
    return JSON.parse(String(row["lock"])) as Lock;
  }

  putLock(family: string, request: string, lock: Lock, nowMs: number): Promise<void> | void {
    return this.#write(() =>
      this.#database.transaction(() => {
        this.#statements.putLock.run(family, request, lock.key, JSON.stringify(lock), nowMs);
        this.#statements.dropUnused.run(nowMs - UNUSED_MS);
        this.#statements.dropOldest.run(family, family, MAX_FAMILY_LOCKS, MAX_FAMILY_LOCK_CHARS);
      }),
    );
  }

  artefact(key: string): StoredArtefact | null {
    const row = guarded(() => this.#statements.artefact.get(key));
    return row ? artefactOf(row) : null;
  }

  /** Notes a use of an artefact. */
  used({ key, usedAt }: StoredArtefact, nowMs: number): void {
    if (nowMs - usedAt > USE_MS) this.usedAt(key, nowMs);
  }

  /** Notes the latest use of an artefact, which was in memory. */
  usedAt(key: string, atMs: number): void {
    this.#note(() => this.#statements.useArtefact.run(atMs, key));
  }

  putArtefact({ key, family, bytes, sha256, lock, builtAt, usedAt }: StoredArtefact): Promise<void> | void {
    const versions = Object.entries(lock.roots).map(([name, root]) => [name, root.slice(name.length + 1)]);
    const shown = JSON.stringify(Object.fromEntries(versions));
    return this.#write(() =>
      this.#database.transaction(() => {
        this.#statements.putArtefact.run(key, family, bytes, sha256, JSON.stringify(lock), builtAt, usedAt);
        this.#statements.putShown.run(key, shown, lock.packages.length);
      }),
    );
  }

  removeArtefact(key: string): Promise<void> | void {
    return this.#write(() =>
      this.#database.transaction(() => {
        this.#statements.removeArtefact.run(key);
        this.#statements.removeShown.run(key);
      }),
    );
  }

  /**
   * Returns artefacts, the last used first.
   *
   * @param family only those that it has built, or has a lock of; null for all
   */
  list(family: string | null, most: number): ListedArtefact[] {
    const { listAll, listOf } = this.#statements;
    const rows = guarded(() => (family === null ? listAll.all(most) : listOf.all(family, family, most)));
    return rows.map(({ key, bytes, built, used, versions, count }) => ({
      key: String(key),
      bytes: Number(bytes),
      builtAt: Number(built),
      usedAt: Number(used),
      versions: JSON.parse(String(versions)) as Record<string, string>,
      count: Number(count),
    }));
  }

  /** Returns the bytes of the artefacts of `list`, without its bound. */
  listedBytes(family: string | null): number {
    const { bytesOfAll, bytesOf } = this.#statements;
    return Number(guarded(() => (family === null ? bytesOfAll.get() : bytesOf.get(family, family)))!["bytes"]);
  }

  /** Yields all artefacts, the least recently used first. Artefacts of the family come before all others. */
  *leastUsed(family: string | null): Generator<KeptArtefact> {
    for (const { key, family: owner, bytes, used } of guarded(() => this.#statements.leastUsed.all(family))) {
      const holder = typeof owner === "string" ? owner : null;
      yield { key: String(key), family: holder, bytes: Number(bytes), usedAt: Number(used) };
    }
  }

  /** Returns the bytes and the number of all artefacts, and of those of a family. */
  sizes(family: string | null): Record<"all" | "own" | "count" | "ownCount", number> {
    const { all, own, count, ownCount } = guarded(() => this.#statements.sizes.get(family, family)!);
    return { all: Number(all), own: Number(own), count: Number(count), ownCount: Number(ownCount) };
  }

  /** Notes that the current version of a task names an artefact; null if it names none. */
  pin({ container, name }: Pin, key: string | null): Promise<void> | void {
    return this.#write(() => {
      if (key === null) this.#statements.unpin.run(container, name);
      else this.#statements.pin.run(container, name, key);
    });
  }

  /** Returns the latest lock of inline code of a family that has this key, or null. */
  lockWithKey(family: string, key: string): Lock | null {
    const row = guarded(() => this.#statements.lockWithKey.get(family, key));
    return row ? (JSON.parse(String(row["lock"])) as Lock) : null;
  }

  pinsOf(key: string): Pin[] {
    return guarded(() => this.#statements.pins.all(key)).map(({ container, name }) => ({
      container: String(container),
      name: String(name),
    }));
  }

  get permits(): AddedPermit[] {
    const rows = guarded(() => this.#statements.permits.all());
    return rows.map(({ entry, by, at }) => ({ entry: String(entry), by: String(by), at: Number(at) }));
  }

  addPermit({ entry, by, at }: AddedPermit): boolean | Promise<boolean> {
    return this.#changePermits(() => this.#statements.addPermit.run(entry, by, at));
  }

  removePermit(entry: string): boolean | Promise<boolean> {
    return this.#changePermits(() => this.#statements.removePermit.run(entry));
  }

  onPermits(listener: () => void): void {
    this.#permitListeners.push(listener);
  }

  close(): void {
    this.#database.close();
  }

  #changePermits(change: () => { readonly changes: number | bigint }): boolean | Promise<boolean> {
    return this.#write(() => {
      if (Number(change().changes) === 0) return false;
      for (const listener of this.#permitListeners) listener();
      return true;
    });
  }

  #write<T>(change: () => T): T | Promise<T> {
    return this.#database.whenUnlocked(() => guarded(change));
  }

  /** Notes a use, without a wait for the disk. Runs need no note, so none of them fails for a note that cannot be written. */
  #note(change: () => void): void {
    try {
      this.#database.withoutFlush(change);
    } catch {
      // A later use is noted instead.
    }
  }
}

function guarded<T>(step: () => T): T {
  try {
    return step();
  } catch (error) {
    if (error instanceof Problem) throw error;
    throw new Problem("store_unavailable", "the locks of packages cannot be read or written; try again", {
      cause: error,
    });
  }
}

function artefactOf(row: Readonly<Record<string, unknown>>): StoredArtefact {
  const { key, family, bytes, sha256, lock, built, used } = row;
  return {
    key: String(key),
    family: typeof family === "string" ? family : null,
    bytes: Number(bytes),
    sha256: String(sha256),
    lock: JSON.parse(String(lock)) as Lock,
    builtAt: Number(built),
    usedAt: Number(used),
  };
}
