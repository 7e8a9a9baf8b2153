import { lstat, readdir, readFile } from "node:fs/promises";
import path from "node:path";

import { isStale } from "./liveness.ts";
import { removeTree } from "./remove-tree.ts";

/**
 * Removes what services left behind that were killed: their run folders, and guests that were just being started. Such a
 * guest waits for ever for a bubblewrap that has gone with its service; all others end with theirs.
 *
 * @param folder where run folders are made
 * @param prefix how their names begin, as `ownName` makes them
 */
export async function removeStaleFolders(folder: string, prefix: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const file = path.join(folder, name);
    if (!name.startsWith(prefix) || !(await isOwn(file)) || !(await isStale(file, prefix))) continue;
    await killUsersOf(file);
    await removeTree(file);
  }
}

/** Anybody can make a folder of such a name in a shared temporary folder. */
async function isOwn(file: string): Promise<boolean> {
  const found = await lstat(file).catch(() => null);
  return found !== null && found.isDirectory() && found.uid === process.getuid?.();
}

/**
 * The processes that use the folder. The command line of bubblewrap names it, for the program that is bound into a guest;
 * of a guest only the mounts do: it calls itself what it likes.
 */
async function killUsersOf(file: string): Promise<void> {
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    const read = (name: string): Promise<string> => readFile(`/proc/${pid}/${name}`, "utf8").catch(() => "");
    const isUser = (await Promise.all([read("cmdline"), read("mountinfo")])).some((text) => text.includes(`${file}/`));
    if (isUser) killProcess(Number(pid));
  }
}

/** Ends a process at once, or with a negative id a process group, when it is still there. */
export function killProcess(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It went by itself, or is another's.
  }
}
