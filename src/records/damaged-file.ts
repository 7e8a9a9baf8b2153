import { existsSync, renameSync, rmSync } from "node:fs";
import path from "node:path";

/** Result codes of SQLite for a file that cannot be read as a database (https://sqlite.org/rescode.html). */
const SQLITE_CORRUPT = 11;
const SQLITE_NOTADB = 26;

/** Whether an error of SQLite means that the file is damaged. */
export function isDamage(error: unknown): boolean {
  const { errcode } = error as { errcode?: number };
  // The lowest byte is the primary code; the others are details of it.
  return errcode !== undefined && [SQLITE_CORRUPT, SQLITE_NOTADB].includes(errcode & 0xff);
}

/**
 * Renames a damaged database, which must be closed, so that an operator can examine it and a new one can begin.
 *
 * @returns the new name of the file, without its folder.
 * @throws the system's error.
 */
export function setAside(file: string, nowMs: number): string {
  const name = `${file}.damaged-${new Date(nowMs).toISOString().replaceAll(/[:.]/g, "-")}`;
  renameSync(file, name);
  // A new database must not read the write-ahead log of the damaged one, which may be all that can be read of it.
  if (existsSync(`${file}-wal`)) renameSync(`${file}-wal`, `${name}-wal`);
  rmSync(`${file}-shm`, { force: true });
  return path.basename(name);
}
