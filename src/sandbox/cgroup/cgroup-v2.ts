import { access, mkdir, readFile, rmdir } from "node:fs/promises";
import path from "node:path";

import type { Priority } from "../sandbox.ts";
import { processTag } from "../temp/process-tag.ts";
import {
  OwnGroup,
  countsKills,
  CPU_PERIOD_US,
  cpuQuotaUs,
  ignoring,
  isRefusal,
  removeEmpty,
  removeLeftGroups,
  set,
  setWhereOffered,
} from "./cgroup-files.ts";
import { ALL_GUESTS_GROUP, type Cgroup, type Cgroups, type ResourceLimits, STARTING_GROUP } from "./cgroup.ts";

/** The CPU weight of all guests together. Less than other groups of the machine, which have 100 by default. */
const ALL_CPU_WEIGHT = 50;
/** The CPU weight of the service and its launcher. They need little CPU, but immediately. */
const SERVICE_CPU_WEIGHT = 800;
/** The CPU weight of one guest, compared with other guests only. */
const CPU_WEIGHT: Readonly<Record<Priority, number>> = { high: 50, normal: 25, busy: 5, low: 2 };
/** The CPU weight of all starting guests together. A run may wait for a start, and a start needs mostly CPU. */
const STARTING_CPU_WEIGHT = 100;
/**
 * The group into which the service moves. It remains when the service ends: it cannot be removed while the process that
 * started the service is a member.
 */
const LEAF = "caisson-service";

/**
 * Opens groups of version 2 (Documentation/admin-guide/cgroup-v2.rst of Linux).
 *
 * @param own the folder of the service's group. If an earlier service moved into this leaf group, with the shell that
 * started both services, the groups are again created next to the leaf.
 * @returns null if memory or threads cannot be limited.
 */
export async function openVersion2(own: string | undefined, limits: ResourceLimits): Promise<Cgroups | null> {
  if (own === undefined) return null;
  const base = path.basename(own) === LEAF ? path.dirname(own) : own;
  try {
    const offered = (await readFile(path.join(base, "cgroup.controllers"), "utf8")).trim().split(/\s+/);
    if (!offered.includes("memory") || !offered.includes("pids")) return null;
    const home = (await isRoot(base)) ? base : await moveIntoLeaf(base);
    const wanted = ["memory", "pids", "cpu"].filter((controller) => offered.includes(controller));
    await removeLeftGroups(base);
    const hasCpu = wanted.includes("cpu");
    const delegated = wanted.map((controller) => `+${controller}`).join(" ");
    await set(base, "cgroup.subtree_control", delegated);
    const all = new OwnGroup(processTag(ALL_GUESTS_GROUP), base, async (folder) => {
      if (hasCpu) await set(folder, "cpu.weight", ALL_CPU_WEIGHT);
      await set(folder, "cgroup.subtree_control", delegated);
    });
    let starting: OwnGroup | null = null;
    return {
      version: 2,
      limitsCpu: hasCpu,
      create: async (name, ofGroup = limits) => create(path.join(await all.make(), name), hasCpu, ofGroup),
      // In the root group the service has no separate group, and only its niceness counts.
      prefer: async () => {
        if (hasCpu && home !== base) await ignoring(() => set(home, "cpu.weight", SERVICE_CPU_WEIGHT));
      },
      begin: (pid) => {
        return ignoring(async () => {
          if (!hasCpu) return;
          starting ??= new OwnGroup(STARTING_GROUP, await all.make(), (folder) => {
            return set(folder, "cpu.weight", STARTING_CPU_WEIGHT);
          });
          await starting.add(pid);
        });
      },
      close: async () => {
        await starting?.remove();
        await all.remove();
      },
    };
  } catch (error) {
    if (isRefusal(error)) return null;
    throw error;
  }
}

/**
 * Returns whether a group is the root of the hierarchy. Only the root may both have members and delegate controllers. The
 * path `/` does not show it, because other groups have this path inside a cgroup namespace.
 */
async function isRoot(base: string): Promise<boolean> {
  return access(path.join(base, "cgroup.type")).then(
    () => false,
    () => true,
  );
}

/**
 * Moves the service, with the processes that started it, into a leaf group below, because a group with members cannot
 * delegate controllers. Other members are not moved: the next step then fails, and the service uses weaker mechanisms.
 */
async function moveIntoLeaf(base: string): Promise<string> {
  const leaf = path.join(base, LEAF);
  await mkdir(leaf, { recursive: true });
  const members = new Set((await readFile(path.join(base, "cgroup.procs"), "utf8")).split("\n"));
  // 0 stands for each member outside this PID namespace.
  for (let pid = String(process.pid); pid !== "0" && members.has(pid); pid = await parentOf(pid)) {
    await set(leaf, "cgroup.procs", pid);
  }
  return leaf;
}

async function parentOf(pid: string): Promise<string> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return /^PPid:\s+(\d+)$/m.exec(status)![1]!;
}

async function create(folder: string, hasCpu: boolean, limits: ResourceLimits): Promise<Cgroup> {
  await mkdir(folder);
  try {
    await set(folder, "memory.max", limits.memoryBytes);
    await setWhereOffered(folder, "memory.swap.max", 0);
    await setWhereOffered(folder, "memory.oom.group", 1);
    await set(folder, "pids.max", limits.threads);
    if (hasCpu) {
      await set(folder, "cpu.weight", CPU_WEIGHT.high);
      await set(folder, "cpu.max", `${cpuQuotaUs(limits.cpuCores)} ${CPU_PERIOD_US}`);
    }
  } catch (error) {
    // The caller has no handle of this group, so remove it here.
    await rmdir(folder).catch(() => {});
    throw error;
  }
  return {
    add: (pid) => set(folder, "cgroup.procs", pid),
    setPriority: async (priority) => {
      if (hasCpu) await set(folder, "cpu.weight", CPU_WEIGHT[priority]);
    },
    ranOutOfMemory: async () => countsKills(await readFile(path.join(folder, "memory.events"), "utf8")),
    remove: () => removeEmpty(folder),
  };
}
