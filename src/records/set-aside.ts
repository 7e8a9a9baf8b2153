import { existsSync, renameSync, rmSync } from "node:fs";
import path from "node:path";

/** The endings of the files that SQLite keeps next to a database. */
export const COMPANIONS: readonly string[] = ["-wal", "-shm", "-journal"];
/** The most damaged files of one name that are kept. A disk that damages each new file must not fill up with them. */
const MOST_SET_ASIDE = 3;

/**
 * Renames a damaged database, which must be closed, so that an operator can examine it and a new one can begin. Its
 * companions go with it: a new database must not read the write-ahead log of the damaged one. Once as many are kept as may
 * be, the last of them is replaced.
 *
 * @returns the new name of the file, without its folder.
 * @throws the system's error.
 */
export function setAside(file: string): string {
  let number = 1;
  while (number < MOST_SET_ASIDE && existsSync(`${file}.unreadable-${number}`)) number++;
  const name = `${file}.unreadable-${number}`;
  for (const ending of ["", ...COMPANIONS]) {
    // Something else than a file may have the name.
    rmSync(name + ending, { force: true, recursive: true });
    if (existsSync(file + ending)) renameSync(file + ending, name + ending);
  }
  return path.basename(name);
}
