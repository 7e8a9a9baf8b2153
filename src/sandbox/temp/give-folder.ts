import { constants } from "node:fs";
import { chown, type FileHandle, open, readdir, stat } from "node:fs/promises";
import path from "node:path";

import type { Identity } from "../privilege.ts";

/**
 * Gives a folder and what lies in it to somebody. Who owns it already may change it meanwhile: each entry is held open
 * and given by its descriptor, so that what was judged is what is given, and no link leads root out of the folder.
 *
 * @throws {Error} when there is a link in it, as `refuseLinks` does.
 */
export async function giveFolder(folder: string, { uid, gid }: Identity): Promise<void> {
  await walk(folder, folder, (file) => chown(pathOf(file), uid, gid), (await stat(folder)).uid);
}

/**
 * For root, before it opens anything in a folder of somebody else: by a link that lies there it would write, and give
 * away, what is root's own.
 *
 * @throws {Error} naming the first symbolic link, or file with a second name, in the folder.
 */
export async function refuseLinks(folder: string): Promise<void> {
  await walk(folder, folder, () => {}, (await stat(folder)).uid);
}

/** Of open(2), the same on x64 and arm64: a name is held, whatever it names, and nothing is opened. */
const O_PATH = 0o10000000;

type Visit = (file: FileHandle) => unknown;

async function walk(file: string, shown: string, visit: Visit, owner: number): Promise<void> {
  await using handle = await open(file, O_PATH | constants.O_NOFOLLOW);
  const found = await handle.stat();
  if (found.isSymbolicLink()) throw new Error(`${shown} is a link, ${REFUSED}`);
  // One of the owner's own is what a crash can leave of a key that was being written.
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

/** Temporary files come and go. */
async function walkIfThere(...words: Parameters<typeof walk>): Promise<void> {
  try {
    await walk(...words);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}

const REFUSED = "and a service that root starts follows none in its data folder; move it away, or start it as its user";

/** By which the kernel finds the very file again (proc_pid_fd(5)). */
function pathOf({ fd }: FileHandle): string {
  return `/proc/self/fd/${fd}`;
}
