import { chmodSync, closeSync, lstatSync, openSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";

import { makeDataFolder } from "./data-folder.ts";

const SQLITE_BUSY = 5;

/**
 * References to the open databases. The garbage collector would close an unreferenced database and release its lock.
 */
const openLocks = new Set<DatabaseSync>();

/**
 * Locks the data folder until this process ends in any way. Two services that count in one folder would each admit the
 * whole limit.
 *
 * @param name the folder as the operator named it
 * @throws {Error} if another process has locked it.
 */
export function lockDataFolder(folder: string, name: string = folder, createFile: CreateFile = createAsThisUser): Lock {
  makeDataFolder(folder, name);
  const busy = `the data folder ${name} is in use by another service; stop that service, or choose another folder with --data`;
  return lockFile(path.join(folder, "lock"), busy, 0, createFile);
}

/** Runs a function that creates the file of a lock, as the user that must own the file. */
export type CreateFile = (create: () => void) => void;

/** Creates the file as another user, for a process of root. */
export function createAs(uid: number, gid: number): CreateFile {
  return (create) => {
    process.setegid!(gid);
    process.seteuid!(uid);
    try {
      create();
    } finally {
      process.seteuid!(0);
      process.setegid!(0);
    }
  };
}

export interface Lock {
  release(): void;
}

/**
 * Locks a file until this process ends in any way. It is SQLite's lock on an empty database, which the kernel releases
 * with the process.
 *
 * @param busy the message of the error if another process has locked it.
 * @param waitMs the milliseconds for which the whole process waits for the lock.
 * @throws {Error} if another process has locked it.
 */
export function lockFile(file: string, busy: string, waitMs = 0, createFile: CreateFile = createAsThisUser): Lock {
  const database = openLocked(file, busy, waitMs, createFile);
  openLocks.add(database);
  return {
    release: () => {
      openLocks.delete(database);
      database.close();
    },
  };
}

function openLocked(file: string, busy: string, waitMs: number, createFile: CreateFile): DatabaseSync {
  let database: DatabaseSync | undefined;
  try {
    createFile(() => {
      createEmptyFile(file);
      chmodSync(file, 0o600);
      mustBePlain(file);
    });
    // SQLite must not create a file, because a link that was planted meanwhile would redirect it.
    database = new DatabaseSync(`${pathToFileURL(file).href}?mode=rw`, { timeout: waitMs });
    database.exec("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
    return database;
  } catch (error) {
    database?.close();
    const isBusy = (error as { errcode?: number }).errcode === SQLITE_BUSY;
    throw new Error(isBusy ? busy : `${path.resolve(file)} cannot be locked ${reasonOf(error as Error)}`, {
      cause: error,
    });
  }
}

function reasonOf({ message, code }: NodeJS.ErrnoException): string {
  return code === "EACCES" || code === "EPERM"
    ? `(${code}): it belongs to another user; start the service as that user, or give another folder`
    : `(${message}); remove the file if no other process uses it`;
}

/** Never opens an existing file, because closing it would release a lock of this same process (fcntl(2)). */
function createEmptyFile(file: string): void {
  try {
    closeSync(openSync(file, "wx", 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

/**
 * Rejects content and other files of a database, to which SQLite may write. A lock needs none, and root may open this
 * lock.
 */
function mustBePlain(file: string): void {
  const found = lstatSync(file);
  if (!found.isFile() || found.nlink > 1 || found.size > 0)
    throw new Error("it is not an empty file with a single link");
  for (const ending of ["-journal", "-wal"]) {
    if (lstatSync(`${file}${ending}`, { throwIfNoEntry: false }))
      throw new Error(`${path.basename(file)}${ending} exists`);
  }
}

function createAsThisUser(create: () => void): void {
  create();
}
