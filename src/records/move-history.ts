import { cpSync, existsSync, readdirSync, renameSync, rmSync } from "node:fs";
import path from "node:path";

/** The records of runs and the audit, with the other files of SQLite. */
const HISTORY = /^(?:runs|audit\.sqlite(?:-wal|-shm)?)$/;

/**
 * Moves the history of a data folder to the folder in which the service's user can open it, if that folder has none: after a
 * restore, or if the data folder was moved. No process may have a file of it open, and no link may be in the data folder.
 *
 * @returns whether anything was moved.
 */
export function moveHistory(data: string, history: string): boolean {
  if (existsSync(path.join(history, "runs")) || existsSync(path.join(history, "audit.sqlite"))) return false;
  const names = readdirSync(data).filter((name) => HISTORY.test(name));
  for (const name of names) move(path.join(data, name), path.join(history, name));
  return names.length > 0;
}

function move(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EXDEV") throw error;
    // The folders are on different disks.
    cpSync(from, to, { recursive: true });
    rmSync(from, { recursive: true });
  }
}
