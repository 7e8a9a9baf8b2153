import { chmodSync, mkdirSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";

const SQLITE_BUSY = 5;

/**
 * Makes the data folder this process's own until it ends, however it ends: two services that count in one folder would
 * each admit the whole limit. The lock is SQLite's on an empty database, which the kernel drops with the process.
 *
 * @param name what the operator calls the folder
 * @throws {Error} when another process has it.
 */
export function lockDataFolder(folder: string, name: string = folder): { release(): void } {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const file = path.join(folder, "lock");
  const database = new DatabaseSync(file);
  try {
    chmodSync(file, 0o600);
    database.exec("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
  } catch (error) {
    database.close();
    const busy = (error as { errcode?: number }).errcode === SQLITE_BUSY;
    const message = busy
      ? `the data folder ${name} is in use by another service; stop that one, or give --data`
      : `${file} cannot be locked (${(error as Error).message}); remove it when no service uses that folder`;
    throw new Error(message, { cause: error });
  }
  return { release: () => database.close() };
}
