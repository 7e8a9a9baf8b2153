import { readdirSync, statSync } from "node:fs";

import type { Identity } from "../privilege.ts";
import { BLOCK_BYTES } from "./disk.ts";
import { hasRemovedMapping, readMappings } from "./mappings.ts";
import { type OpenFile, readAs, type Seen } from "./read-as.ts";

/** Where a guest may hold files, and as whom that can be seen. */
export interface HeldBy {
  readonly pid: number;
  /** The user of the guest, if it is not that of this process. */
  readonly identity: Identity | null;
  /** The file of the program that executes plans. */
  readonly stub: string;
  /** The folder that the guest may write to. */
  readonly folder: string;
}

export interface RemovedUse {
  readonly bytes: number;
  /** Whether a process had to be started for it. */
  readonly usedStub: boolean;
}

/**
 * Counts what a guest has removed from its folder and still holds, in bytes: no folder shows it.
 *
 * Files that it holds open count with their size. A file that is mapped and removed counts as more than any limit: the
 * kernel does not report its size, and Node itself never does that.
 *
 * The kernel shows both to the guest's own user, and to a process with CAP_SYS_PTRACE (proc_pid_fd(5)), which a container's
 * root does not have. Such a root has a stub become the guest's user, look, and report.
 */
export async function removedUse({ pid, identity, stub, folder }: HeldBy): Promise<RemovedUse> {
  const own = look(pid);
  if (own || !identity) return { bytes: own ? sum(own, folder) : 0, usedStub: false };
  return { bytes: sum(await readAs(identity, stub, pid, fileNames(pid)), folder), usedStub: true };
}

/** @returns null if this process may not look: descriptors and mappings are a right each. */
function look(pid: number): Seen | null {
  const mappings = readMappings(pid);
  if (!mappings) return null;
  const files: OpenFile[] = [];
  for (const name of fileNames(pid)) {
    const file = openFile(`/proc/${pid}/fd/${name}`);
    if (file === "refused") return null;
    if (file !== "none") files.push(file);
  }
  return { files, mappings };
}

function sum({ files, mappings }: Seen, folder: string): number {
  if (mappings.text === null || hasRemovedMapping(mappings.text, folder)) return Infinity;
  const sizes = new Map(files.filter(({ isRemoved }) => isRemoved).map(({ key, bytes }) => [key, bytes]));
  return [...sizes.values()].reduce((all, bytes) => all + bytes, 0);
}

function fileNames(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`);
  } catch {
    return [];
  }
}

function openFile(link: string): OpenFile | "refused" | "none" {
  try {
    const found = statSync(link);
    const { dev, ino, nlink, blocks } = found;
    return found.isFile() ? { key: `${dev}:${ino}`, isRemoved: nlink === 0, bytes: blocks * BLOCK_BYTES } : "none";
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EACCES" ? "refused" : "none";
  }
}
