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

/** Of all guests together: they give way to all others, which have 100. */
const ALL_CPU_WEIGHT = 50;
/** Of the service and of who starts its guests: they need little, and at once. */
const SERVICE_CPU_WEIGHT = 800;
/** Of one: nothing is at its side but others. */
const CPU_WEIGHT: Readonly<Record<Priority, number>> = { high: 50, normal: 25, busy: 5, low: 2 };
/** Of those together that are being started: who waits for one waits for the whole of a start, most of which is CPU. */
const STARTING_CPU_WEIGHT = 100;
/** Where the service goes. It stays when the service ends: a group with members, as who started it is one, cannot be removed. */
const LEAF = "caisson-service";

/**
 * Groups after Documentation/admin-guide/cgroup-v2.rst of Linux.
 *
 * @param own is the folder of the service's own group. Where that is the one that a service before it went to, with the
 * shell that started both, the groups are made beside it as they were then.
 * @returns null where memory or threads cannot be limited.
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
    const passOn = wanted.map((controller) => `+${controller}`).join(" ");
    await set(base, "cgroup.subtree_control", passOn);
    const all = new OwnGroup(processTag(ALL_GUESTS_GROUP), base, async (folder) => {
      if (hasCpu) await set(folder, "cpu.weight", ALL_CPU_WEIGHT);
      await set(folder, "cgroup.subtree_control", passOn);
    });
    let starting: OwnGroup | null = null;
    return {
      version: 2,
      limitsCpu: hasCpu,
      create: async (name) => create(path.join(await all.make(), name), hasCpu, limits),
      // In the root it has no group of its own, and weighs what its niceness says.
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

/** Only the root may have members and pass controllers on. Inside a cgroup namespace other groups are called `/` too. */
async function isRoot(base: string): Promise<boolean> {
  return access(path.join(base, "cgroup.type")).then(
    () => false,
    () => true,
  );
}

/**
 * A group with members cannot pass controllers on, so the service moves into a group of its own below, with what started
 * it. A group that strangers share is left alone: the next step then fails, and the weaker means are taken.
 */
async function moveIntoLeaf(base: string): Promise<string> {
  const leaf = path.join(base, LEAF);
  await mkdir(leaf, { recursive: true });
  const members = new Set((await readFile(path.join(base, "cgroup.procs"), "utf8")).split("\n"));
  // 0 stands for all members that this PID namespace does not see.
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
    // Nobody else knows of it.
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
