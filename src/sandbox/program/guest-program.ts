import type { Cgroups } from "../cgroup/cgroup.ts";
import type { GuestResources } from "../local-sandbox.ts";

/** V8's heap limit as a share of the memory limit. It is reached before the group's limit, so that V8 reports the cause. */
const HEAP_SHARE = 0.75;
/**
 * One of the two halves of V8's young generation, as a share of the memory limit. With V8's own 16 MiB and more, short-lived
 * objects fill the memory of a small guest, and a guest that gets a lot of new code grows by 80 MiB of garbage.
 */
const SEMI_SPACE_SHARE = 1 / 32;
const MAX_SEMI_SPACE_MIB = 16;

/**
 * On SIGINT, a thread of Node interrupts the code that is executing, writes its stack to the standard error, and ends the process.
 * This shows where a guest loops that does not answer. The thread sleeps until then. It adds
 * 0.8 ms of processor time to a start of 33 ms, and 0.8 MiB.
 */
const TRACE = "--trace-sigint";

/**
 * Returns Node's arguments for a guest, which are the same at all isolation levels.
 *
 * @param startsThreads whether it starts all its threads before it is sealed. The later threads are then those of tasks.
 */
export function guestArguments(program: string, limits: GuestResources, startsThreads: boolean = false): string[] {
  const memoryMiB = limits.memoryBytes / 2 ** 20;
  const semiSpaceMiB = Math.min(Math.max(Math.floor(memoryMiB * SEMI_SPACE_SHARE), 1), MAX_SEMI_SPACE_MIB);
  const heapMiB = Math.floor(memoryMiB * HEAP_SHARE);
  const heap = [`--max-old-space-size=${heapMiB}`, `--max-semi-space-size=${semiSpaceMiB}`];
  const engine = ["--no-addons", "--v8-pool-size=1", TRACE, ...heap];
  const programArgs = [limits.resultBytes, limits.logs.bytes, limits.logs.linesPerSecond, heapMiB * 2 ** 20];
  return [...engine, program, ...programArgs.map(String), ...(startsThreads ? ["threads"] : [])];
}

/** Describes how memory, threads and CPU are limited, for operators. */
export function describeResources(cgroups: Cgroups | null): string {
  if (!cgroups) return "rlimits and the watchdog (no cgroup can be written)";
  const groups = `cgroup v${cgroups.version}`;
  return cgroups.limitsCpu ? groups : `${groups}, and the watchdog for CPU (no group limits it)`;
}
