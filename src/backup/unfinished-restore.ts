import { existsSync } from "node:fs";
import path from "node:path";

/** The folder in which a restore collects all files, before it moves them to their places. */
export const RESTORED = "restore.unfinished";

/**
 * Checks that no restore was interrupted in the folder, which then has a part of the files.
 *
 * @param name the folder as the operator named it
 * @throws {Error} otherwise.
 */
export function refuseUnfinishedRestore(folder: string, name: string): void {
  if (!existsSync(path.join(folder, RESTORED))) return;
  throw new Error(`the data folder ${name} has a restore that did not finish; delete what is in it, and restore again`);
}
