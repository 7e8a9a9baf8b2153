import { readFileSync } from "node:fs";
import { lstat, readdir, readFile } from "node:fs/promises";
import path from "node:path";

import { removeTree } from "./remove-tree.ts";

/**
 * Removes what services left behind that were killed: their run folders, and guests that were just being started. Such a
 * guest waits for ever for a bubblewrap that has gone with its service; all others end with theirs.
 *
 * @param folder where run folders are made
 * @param prefix how their names begin, as `ownName` makes them
 */
export async function removeLeftovers(folder: string, prefix: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const file = path.join(folder, name);
    if (!isLeft(name, prefix) || !(await isOwn(file))) continue;
    await killUsersOf(file);
    await removeTree(file);
  }
}

/**
 * A beginning for the names of what this process makes and would leave behind: its id, and when it began, because ids are
 * used again. In a container that is started again, every service has the same one.
 */
export function ownName(prefix: string): string {
  return `${prefix}${process.pid}-${beginOf(process.pid)}-`;
}

/** Whether the name tells of a process that is no more. */
export function isLeft(name: string, prefix: string): boolean {
  const told = name.startsWith(prefix) ? /^(\d+)-(\d+)-/.exec(name.slice(prefix.length)) : null;
  if (!told) return false;
  const pid = Number(told[1]);
  return !isAlive(pid) || ![told[2], UNKNOWN].includes(beginOf(pid));
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

/** Where there is no proc(5), or it hides strangers. */
const UNKNOWN = "0";

/** In clock ticks since the system started. */
function beginOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19]!;
  } catch {
    return UNKNOWN;
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
