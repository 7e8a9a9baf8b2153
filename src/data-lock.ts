import { chmodSync, mkdirSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";

const SQLITE_BUSY = 5;

/**
 * Makes the data folder this process's own until it ends, however it ends: two services that count in one folder would
 * each admit the whole limit.
 *
 * @param name what the operator calls the folder
 * @throws {Error} when another process has it.
 */
export function lockDataFolder(folder: string, name: string = folder): Lock {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const busy = `the data folder ${name} is in use by another service; stop that one, or give --data`;
  return lockFile(path.join(folder, "lock"), busy);
}

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
export function lockFile(file: string, busy: string, waitMs = 0): Lock {
  const database = new DatabaseSync(file, { timeout: waitMs });
  try {
    chmodSync(file, 0o600);
    database.exec("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
  } catch (error) {
    database.close();
    const isBusy = (error as { errcode?: number }).errcode === SQLITE_BUSY;
    const message = isBusy
      ? busy
      : `${path.resolve(file)} cannot be locked (${(error as Error).message}); remove it when no other process uses it`;
    throw new Error(message, { cause: error });
  }
  return { release: () => database.close() };
}
