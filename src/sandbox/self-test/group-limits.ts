import { readFile } from "node:fs/promises";
import path from "node:path";

import { type GroupFolders, groupsOf } from "../cgroup/cgroup-mounts.ts";

/** The limits of a process's control group, as the kernel reports them. No limit is infinite. */
export interface GroupLimits {
  readonly memoryBytes: number;
  readonly threads: number;
  /** The quota of CPU time, in processors. */
  readonly cpuCores: number;
}

/** Values from here on mean "no limit". Version 1 writes it as a number near 2^63. */
const NO_LIMIT = 2 ** 62;

export async function readGroupLimits(pid: number | "self"): Promise<GroupLimits> {
  const groups = await groupsOf(pid);
  const read = (controller: string, file: string): Promise<string> => readValue(groups, controller, file);
  // If both versions are mounted, each controller belongs to one of them, and the other version has no files for it.
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

/** Returns the text of a file of the process's group, or an empty text if there is none. */
async function readValue(groups: GroupFolders, controller: string, file: string): Promise<string> {
  const folder = groups.get(controller);
  if (folder === undefined) return "";
  return (await readFile(path.join(folder, file), "latin1").catch(() => "")).trim();
}

function limit(text: string | undefined): number {
  const value = text === undefined || text === "" || text === "max" ? Infinity : Number(text);
  return value < 0 || value >= NO_LIMIT ? Infinity : value;
}
