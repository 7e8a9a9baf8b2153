import { readdirSync, statSync } from "node:fs";

import type { Identity } from "../privilege.ts";
import { BLOCK_BYTES } from "./disk.ts";
import { hasRemovedMapping, readMappings } from "./mappings.ts";
import { type HeldFiles, type OpenFile, readAs } from "./read-as.ts";

/** The parameters of a check of a guest's disk use. */
export interface GuestDisk {
  readonly pid: number;
  /** The user of the guest, or null if the guest runs as the user of this process. */
  readonly identity: Identity | null;
  /** The file of the program that executes plans. */
  readonly stub: string;
  /** The folder that the guest may write to. */
  readonly folder: string;
}

export interface RemovedUse {
  readonly bytes: number;
  /** Whether the count needed a stub process. */
  readonly usedStub: boolean;
}

/**
 * Counts the bytes of files that a guest has removed from its folder and still has open or mapped. No folder lists them.
 *
 * An open file counts with its size. A mapped file counts as infinite, because the kernel does not report its size, and
 * Node itself never maps a removed file.
 *
 * The kernel shows both to the guest's own user, and to a process with CAP_SYS_PTRACE (proc_pid_fd(5)), which a container's
 * root does not have. A root without it starts a stub that becomes the guest's user, reads both and reports them.
 */
export async function removedUse({ pid, identity, stub, folder }: GuestDisk): Promise<RemovedUse> {
  const own = readHeldFiles(pid);
  if (own || !identity) return { bytes: own ? sum(own, folder) : 0, usedStub: false };
  return { bytes: sum(await readAs(identity, stub, pid, fileNames(pid)), folder), usedStub: true };
}

/** @returns null if this process may not read the descriptors or the mappings, which need separate rights. */
function readHeldFiles(pid: number): HeldFiles | null {
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

function sum({ files, mappings }: HeldFiles, folder: string): number {
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
