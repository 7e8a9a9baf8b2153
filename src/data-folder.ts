import { accessSync, constants, mkdirSync, statSync } from "node:fs";
import path from "node:path";

/**
 * Creates the data folder for its owner only. The folder above it must exist, because a misspelled path would otherwise give the service an
 * empty data folder with new keys.
 *
 * @param name the folder as the operator named it
 * @throws {Error} if it cannot be created or written. The message contains the fix.
 */
export function makeDataFolder(folder: string, name: string = folder): void {
  const place = path.resolve(folder);
  if (!isFolder(place, name)) {
    const parent = path.dirname(place);
    if (!isFolder(parent, name)) {
      throw fault(`the data folder ${name} does not exist, and neither does ${parent}`, missingParent(parent));
    }
    makeFolder(place, name);
  }
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
  } catch (error) {
    throw fault(
      `this user may not write to ${name}`,
      "make the service's user its owner, or give another --data",
      error,
    );
  }
}

/** Returns what to do if the folder above the data folder is missing. */
export function missingParent(parent: string): string {
  const word = /^[\w@%+=:,./-]+$/.test(parent) ? parent : `'${parent.replaceAll("'", String.raw`'\''`)}'`;
  return `run mkdir -p ${word}, or give another --data`;
}

/** Whether a folder is there. @throws {Error} if it cannot be examined, or something else is there */
function isFolder(place: string, name: string): boolean {
  let found;
  try {
    found = statSync(place, { throwIfNoEntry: false });
  } catch (error) {
    throw asFault(place, name, error);
  }
  if (found && !found.isDirectory()) {
    throw fault(`${place} is not a folder`, "move it away, or give another --data");
  }
  return found !== undefined;
}

function makeFolder(place: string, name: string): void {
  try {
    mkdirSync(place, { mode: 0o700 });
  } catch (error) {
    // Another process has just created it.
    if (codeOf(error) !== "EEXIST") throw asFault(place, name, error);
  }
}

function asFault(place: string, name: string, error: unknown): Error {
  const remedy = "create it for the service's user, or give another --data";
  const isRefused = codeOf(error) === "EACCES" || codeOf(error) === "EPERM" || codeOf(error) === "EROFS";
  const why = isRefused ? `this user may not create it in ${path.dirname(place)}` : (error as Error).message;
  return fault(`the data folder ${name} does not exist, and ${why}`, remedy, error);
}

function fault(what: string, remedy: string, cause?: unknown): Error {
  return new Error(`--data: ${what}; ${remedy}`, { cause });
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}
