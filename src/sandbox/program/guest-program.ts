import type { Cgroups } from "../cgroup/cgroup.ts";
import type { GuestResources } from "../local-sandbox.ts";

/** V8's heap limit as a share of the memory limit. It is reached before the group's limit, so that V8 reports the cause. */
const HEAP_SHARE = 0.75;

/** Returns Node's arguments for a guest, which are the same at all isolation levels. */
export function guestArguments(program: string, limits: GuestResources): string[] {
  const heapMiB = Math.floor((limits.memoryBytes * HEAP_SHARE) / 2 ** 20);
  const engine = ["--no-addons", "--v8-pool-size=1", `--max-old-space-size=${heapMiB}`];
  const programArgs = [limits.resultBytes, limits.logs.bytes, limits.logs.linesPerSecond];
  return [...engine, program, ...programArgs.map(String)];
}

/** Describes how memory, threads and CPU are limited, for operators. */
export function describeResources(cgroups: Cgroups | null): string {
  if (!cgroups) return "rlimits and the watchdog (no cgroup can be written)";
  const groups = `cgroup v${cgroups.version}`;
  return cgroups.limitsCpu ? groups : `${groups}, and the watchdog for CPU (no group limits it)`;
}
