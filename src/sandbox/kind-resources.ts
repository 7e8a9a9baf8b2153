import type { GuestKind } from "./guest-kinds.ts";
import type { GuestResources } from "./local-sandbox.ts";

const MIB = 2 ** 20;
/** The memory of a builder: 100 MiB of unpacked packages, the same again as text, and the garbage of both. */
const BUILDER_BYTES = 1_024 * MIB;
/** The memory of esbuild, which holds the syntax trees of all bundled files. */
const ESBUILD_BYTES = 1_024 * MIB;
/** esbuild bundles on several threads. A build is what a first run waits for, and few builds run at a time. */
const ESBUILD_CORES = 2;
/** Go starts a thread for each system call that blocks. esbuild uses 6 to 12. */
const ESBUILD_THREADS = 64;
/** esbuild reads and writes only the connection that it was started with. */
const ESBUILD_DESCRIPTORS = 64;

/** Returns the resources of a guest. @param limits the resources of tasks, which the operator configures. */
export function resourcesOf(kind: GuestKind, limits: GuestResources): GuestResources {
  if (kind === "task" || kind === "memory-taker") return limits;
  if (kind === "builder") return { ...limits, memoryBytes: Math.max(limits.memoryBytes, BUILDER_BYTES) };
  return {
    ...limits,
    memoryBytes: Math.max(limits.memoryBytes, ESBUILD_BYTES),
    cpuCores: Math.max(limits.cpuCores, ESBUILD_CORES),
    threads: ESBUILD_THREADS,
    descriptors: ESBUILD_DESCRIPTORS,
    // Nothing may be written, not even to a file that is open.
    tmpBytes: 0,
  };
}
