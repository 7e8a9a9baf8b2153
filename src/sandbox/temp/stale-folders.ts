import { lstat, readdir, readFile, realpath } from "node:fs/promises";
import path from "node:path";

import { isStale } from "./liveness.ts";
import { pathOnMount } from "./path-on-mount.ts";
import { removeTree } from "./remove-tree.ts";

/**
 * Removes what killed services left behind: their run folders, and guests that were starting. A starting guest waits for
 * ever for its bubblewrap, which ended with the service. All other guests ended with the service.
 *
 * @param folder the folder that contains run folders.
 * @param prefix the prefix of their names, without the tag that `processTag` adds.
 */
export async function removeStaleFolders(folder: string, prefix: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const file = path.join(folder, name);
    if (!name.startsWith(prefix) || !(await isOwn(file)) || !(await isStale(file, prefix))) continue;
    await killUsersOf(file);
    await removeTree(file);
  }
}

/** Returns whether this user owns a folder. Every user can create a folder with this prefix in a shared temporary folder. */
async function isOwn(file: string): Promise<boolean> {
  const found = await lstat(file).catch(() => null);
  return found !== null && found.isDirectory() && found.uid === process.getuid?.();
}

/**
 * Kills the processes that use a folder. The command line of bubblewrap names the folder, because it binds the guest program.
 * For a guest only the list of mounts is used, because a guest can forge its command line.
 */
async function killUsersOf(file: string): Promise<void> {
  const source = pathOnMount(await realpath(file), await readFile("/proc/self/mountinfo", "utf8"));
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    const read = (name: string): Promise<string> => readFile(`/proc/${pid}/${name}`, "utf8").catch(() => "");
    const [command, mounts] = await Promise.all([read("cmdline"), read("mountinfo")]);
    if (command.includes(`${file}/`) || mounts.includes(`${source}/`)) killProcess(Number(pid));
  }
}

/** Kills a process, or a process group if the id is negative. Does nothing if it has ended. */
export function killProcess(pid: number, signal: "SIGKILL" | "SIGINT" = "SIGKILL"): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process has ended, or belongs to another user.
  }
}
