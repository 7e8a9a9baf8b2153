import type { Cgroups } from "../cgroup/cgroup.ts";
import type { GuestResources } from "../local-sandbox.ts";

/** V8's heap ends before the control group does, so that its own words say what happened. */
const HEAP_SHARE = 0.75;

/** What Node is started with in a guest, whichever level made it. */
export function guestArguments(program: string, limits: GuestResources): string[] {
  const heapMiB = Math.floor((limits.memoryBytes * HEAP_SHARE) / 2 ** 20);
  const engine = ["--no-addons", "--v8-pool-size=1", `--max-old-space-size=${heapMiB}`];
  const own = [limits.resultBytes, limits.logs.bytes, limits.logs.linesPerSecond];
  return [...engine, program, ...own.map(String)];
}

/** How memory, threads and CPU are held, for people. */
export function resourcesInWords(cgroups: Cgroups | null): string {
  if (!cgroups) return "rlimits and the watchdog (no cgroup can be written)";
  const groups = `cgroup v${cgroups.version}`;
  return cgroups.limitsCpu ? groups : `${groups}, and the watchdog for CPU (no group limits it)`;
}
