import { lstat, readdir, readFile, rm } from "node:fs/promises";
import path from "node:path";

/**
 * Removes what services left behind that were killed: their run folders, and guests that were just being started. Such a
 * guest waits for ever for a bubblewrap that has gone with its service; all others end with theirs.
 *
 * @param folder where run folders are made
 * @param prefix how their names begin; the id of the service's process follows
 */
export async function removeLeftovers(folder: string, prefix: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const file = path.join(folder, name);
    if (!isLeft(name, prefix) || !(await isOwn(file))) continue;
    await killUsersOf(file);
    await rm(file, { recursive: true, force: true });
  }
}

/** Whether the name tells of a process that is no more. */
export function isLeft(name: string, prefix: string): boolean {
  const pid = name.startsWith(prefix) ? Number.parseInt(name.slice(prefix.length), 10) : Number.NaN;
  return Number.isInteger(pid) && !isAlive(pid);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: somebody else's, and alive.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** Anybody can make a folder of such a name in a shared temporary folder. */
async function isOwn(file: string): Promise<boolean> {
  const found = await lstat(file).catch(() => null);
  return found !== null && found.isDirectory() && found.uid === process.getuid?.();
}

/** The processes whose command line names the folder: a guest's names the program that is bound into it. */
async function killUsersOf(file: string): Promise<void> {
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    const command = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
    if (!command.includes(`${file}/`)) continue;
    try {
      process.kill(Number(pid), "SIGKILL");
    } catch {
      // It went by itself, or is another's.
    }
  }
}
