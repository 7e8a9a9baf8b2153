import { readFile } from "node:fs/promises";
import path from "node:path";

import { type GroupFolders, groupsOf } from "../cgroup/cgroup-mounts.ts";

/** What the control group of a process allows it, as the kernel reports it back. A number is infinite where nothing is set. */
export interface GroupLimits {
  readonly memoryBytes: number;
  readonly threads: number;
  /** Processors' worth of time. */
  readonly cpuCores: number;
}

/** Version 1 writes "no limit" as a number near 2^63. */
const NO_LIMIT = 2 ** 62;

export async function readGroupLimits(pid: number | "self"): Promise<GroupLimits> {
  const groups = await groupsOf(pid);
  const read = (controller: string, file: string): Promise<string> => readValue(groups, controller, file);
  // Where both versions are mounted, a controller belongs to one of them: the other's files are not there.
  const [memory2, memory1, threads2, threads1, cpu2, quota1, period1] = await Promise.all([
    read("cgroup2", "memory.max"),
    read("memory", "memory.limit_in_bytes"),
    read("cgroup2", "pids.max"),
    read("pids", "pids.max"),
    read("cgroup2", "cpu.max"),
    read("cpu", "cpu.cfs_quota_us"),
    read("cpu", "cpu.cfs_period_us"),
  ]);
  const [quota2, period2] = cpu2.split(" ");
  return {
    memoryBytes: Math.min(limit(memory2), limit(memory1)),
    threads: Math.min(limit(threads2), limit(threads1)),
    cpuCores: Math.min(limit(quota2) / Number(period2 ?? 1), limit(quota1) / (Number(period1) || 1)),
  };
}

/** The text of a file of the process's group, or nothing where there is none. */
async function readValue(groups: GroupFolders, controller: string, file: string): Promise<string> {
  const folder = groups.get(controller);
  if (folder === undefined) return "";
  return (await readFile(path.join(folder, file), "latin1").catch(() => "")).trim();
}

function limit(text: string | undefined): number {
  const value = text === undefined || text === "" || text === "max" ? Infinity : Number(text);
  return value < 0 || value >= NO_LIMIT ? Infinity : value;
}
