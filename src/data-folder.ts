import { accessSync, constants, mkdirSync, statSync } from "node:fs";
import path from "node:path";

/**
 * Creates the data folder for its owner only, with the folders above it. It creates one folder after the other, because the
 * recursive `mkdir` of Node never ends below `/proc`.
 *
 * @param name the folder as the operator named it
 * @throws {Error} if it cannot be created or written. The message contains the fix.
 */
export function makeDataFolder(folder: string, name: string = folder): void {
  const missing: string[] = [];
  let at = path.resolve(folder);
  while (!isFolder(at, name)) {
    missing.unshift(at);
    at = path.dirname(at);
  }
  for (const each of missing) makeFolder(each, name);
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
