import { constants } from "node:fs";
import { chown, type FileHandle, open, readdir, stat } from "node:fs/promises";
import path from "node:path";

import type { Identity } from "../privilege.ts";

/**
 * Changes the owner of a folder and its content. The current owner may change the folder at the same time. Therefore each
 * entry is kept open, and checked and changed by its descriptor, so that no link leads root out of the folder.
 *
 * @throws {Error} if there is a link in it, as `refuseLinks` does.
 */
export async function giveFolder(folder: string, { uid, gid }: Identity): Promise<void> {
  await walk(folder, folder, (file) => chown(pathOf(file), uid, gid), (await stat(folder)).uid);
}

/**
 * Checks a folder of another user before root opens files in it. Through a link in it, root would write to files of root,
 * and give them away.
 *
 * @throws {Error} that names the first symbolic link, or file with a second name, in the folder.
 */
export async function refuseLinks(folder: string): Promise<void> {
  await walk(folder, folder, () => {}, (await stat(folder)).uid);
}

/** A flag of open(2), the same on x64 and arm64. The descriptor refers to the file of any type, without opening it. */
const O_PATH = 0o10000000;

type Visit = (file: FileHandle) => unknown;

async function walk(file: string, shown: string, visit: Visit, owner: number): Promise<void> {
  await using handle = await open(file, O_PATH | constants.O_NOFOLLOW);
  const found = await handle.stat();
  if (found.isSymbolicLink()) throw new Error(`${shown} is a link, ${REFUSED}`);
  // A second name for a file of the owner is allowed: a crash during the write of a key can leave it.
  if (!found.isDirectory() && found.nlink > 1 && found.uid !== owner) {
    throw new Error(`${shown} has a second name, ${REFUSED}`);
  }
  if (found.isDirectory()) {
    for (const name of await readdir(pathOf(handle))) {
      await walkIfThere(path.join(pathOf(handle), name), path.join(shown, name), visit, owner);
    }
  }
  await visit(handle);
}

/** Ignores a file that has been removed, such as a temporary file. */
async function walkIfThere(...args: Parameters<typeof walk>): Promise<void> {
  try {
    await walk(...args);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}

const REFUSED =
  "and a service started by root follows no links in its data folder; move it away, or start the service as its user";

/** Returns a path by which the kernel finds exactly this file (proc_pid_fd(5)). */
function pathOf({ fd }: FileHandle): string {
  return `/proc/self/fd/${fd}`;
}
