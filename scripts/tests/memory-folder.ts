import { readFileSync, statfsSync } from "node:fs";

/**
 * The folder in memory for the temporary files of the tests. On a disk, a test takes up to a third more processor time, and
 * waits for each change that a service stores. A long run uses the disk.
 */
const MEMORY = "/dev/shm";
/** The bytes that must be free in it. */
const MEMORY_BYTES = 4 * 2 ** 30;
/** Returns the folder in memory, or null if it is too small or guests could not execute their programs from there. */
export function memoryFolder(): string | null {
  const mount = readFileSync("/proc/mounts", "utf8")
    .split("\n")
    .map((line) => line.split(" "))
    .find(([, place]) => place === MEMORY);
  if (mount?.[2] !== "tmpfs" || mount[3]!.split(",").includes("noexec")) return null;
  const { bavail, bsize } = statfsSync(MEMORY);
  return Math.min(bavail * bsize, process.availableMemory()) > MEMORY_BYTES ? MEMORY : null;
}
