import { chmodSync, closeSync, lstatSync, mkdirSync, openSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";

const SQLITE_BUSY = 5;

/** The collector closes a database that nothing refers to, and its lock with it. */
const held = new Set<DatabaseSync>();

/**
 * Makes the data folder this process's own until it ends, however it ends: two services that count in one folder would
 * each admit the whole limit.
 *
 * @param name what the operator calls the folder
 * @throws {Error} when another process has it.
 */
export function lockDataFolder(folder: string, name: string = folder, made: Made = directly): Lock {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const busy = `the data folder ${name} is in use by another service; stop that one, or give --data`;
  return lockFile(path.join(folder, "lock"), busy, 0, made);
}

/** Makes the file of a lock, as whoever it is to belong to. */
export type Made = (make: () => void) => void;

export interface Lock {
  release(): void;
}

/**
 * Has the file to itself until this process ends, however it ends. The lock is SQLite's on an empty database, which the
 * kernel drops with the process.
 *
 * @param busy what is said when another process has it.
 * @param waitMs how long it is waited for, by the whole process.
 * @throws {Error} when another process has it.
 */
export function lockFile(file: string, busy: string, waitMs = 0, made: Made = directly): Lock {
  const database = openLocked(file, busy, waitMs, made);
  held.add(database);
  return {
    release: () => {
      held.delete(database);
      database.close();
    },
  };
}

function openLocked(file: string, busy: string, waitMs: number, made: Made): DatabaseSync {
  let database: DatabaseSync | undefined;
  try {
    made(() => {
      makeFile(file);
      chmodSync(file, 0o600);
      mustBePlain(file);
    });
    // SQLite must make nothing: a link that was put in its place meanwhile would have it made elsewhere.
    database = new DatabaseSync(`${pathToFileURL(file).href}?mode=rw`, { timeout: waitMs });
    database.exec("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
    return database;
  } catch (error) {
    database?.close();
    const isBusy = (error as { errcode?: number }).errcode === SQLITE_BUSY;
    const message = isBusy
      ? busy
      : `${path.resolve(file)} cannot be locked (${(error as Error).message}); remove it when no other process uses it`;
    throw new Error(message, { cause: error });
  }
}

/** Opens none that is there: to close it would drop a lock that this very process holds (fcntl(2)). */
function makeFile(file: string): void {
  try {
    closeSync(openSync(file, "wx", 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

/** SQLite may write to what belongs to a database, and it may be root who opens this one: for none of it there is a need. */
function mustBePlain(file: string): void {
  const found = lstatSync(file);
  if (!found.isFile() || found.nlink > 1 || found.size > 0) throw new Error("it is no empty file of its own");
  for (const ending of ["-journal", "-wal"]) {
    if (lstatSync(`${file}${ending}`, { throwIfNoEntry: false }))
      throw new Error(`there is a ${path.basename(file)}${ending}`);
  }
}

function directly(make: () => void): void {
  make();
}
