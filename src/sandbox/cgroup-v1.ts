import { constants } from "node:fs";
import { access, mkdir, readFile, rmdir } from "node:fs/promises";
import path from "node:path";

import {
  AllGuestsGroup,
  countsKills,
  CPU_PERIOD_US,
  cpuQuotaUs,
  removeEmpty,
  removeLeftGroups,
  set,
  setWhereOffered,
} from "./cgroup-files.ts";
import type { GroupFolders } from "./cgroup-mounts.ts";
import type { Cgroup, Cgroups, ResourceLimits } from "./cgroup.ts";
import type { Priority } from "./sandbox.ts";

/** Of all guests together: they give way to the service and to all others, which have 1 024. */
const ALL_CPU_SHARES = 512;
/** Of one: nothing is at its side but others. */
const CPU_SHARES: Readonly<Record<Priority, number>> = { normal: 256, low: 16 };

/**
 * Groups after Documentation/admin-guide/cgroup-v1/ of Linux: one hierarchy a controller, several in one where they are
 * mounted together.
 *
 * @returns null where memory or threads cannot be limited.
 */
export async function openVersion1(groups: GroupFolders, limits: ResourceLimits): Promise<Cgroups | null> {
  const [memory, pids, cpu] = await Promise.all(
    ["memory", "pids", "cpu"].map(async (controller) => {
      const folder = groups.get(controller);
      return folder !== undefined && (await isWritable(folder)) ? folder : null;
    }),
  );
  if (!memory || !pids) return null;
  const bases: Bases = { memory, pids, cpu: cpu ?? null };
  for (const base of foldersOf(bases)) await removeLeftGroups(base);
  const all = around(bases);
  return {
    version: 1,
    create: async (name) => create(all === null ? bases : { ...bases, cpu: await all.make() }, name, limits),
    join: async () => {
      await all?.join((folder) => set(folder, "cpu.shares", CPU_SHARES.normal)).catch(() => {});
    },
    close: async () => all?.remove(),
  };
}

interface Bases {
  readonly memory: string;
  readonly pids: string;
  readonly cpu: string | null;
}

/** Null where CPU is not limited, or its hierarchy is also one of the others, in which a guest can be in one place only. */
function around({ memory, pids, cpu }: Bases): AllGuestsGroup | null {
  if (cpu === null || cpu === memory || cpu === pids) return null;
  return new AllGuestsGroup(cpu, cpu, (folder) => set(folder, "cpu.shares", ALL_CPU_SHARES));
}

/** Each once: controllers that are mounted together share a folder. */
function foldersOf({ memory, pids, cpu }: Bases): string[] {
  return [...new Set(cpu === null ? [memory, pids] : [memory, pids, cpu])];
}

async function create(bases: Bases, name: string, limits: ResourceLimits): Promise<Cgroup> {
  const memory = path.join(bases.memory, name);
  const pids = path.join(bases.pids, name);
  const cpu = bases.cpu && path.join(bases.cpu, name);
  const folders = foldersOf({ memory, pids, cpu });
  try {
    await Promise.all(folders.map((folder) => mkdir(folder)));
    await set(memory, "memory.limit_in_bytes", limits.memoryBytes);
    // Memory and swap together: the same number leaves no swap. It cannot be less than the one before, so it comes second.
    await setWhereOffered(memory, "memory.memsw.limit_in_bytes", limits.memoryBytes);
    // Where swap is not counted, the kernel can still be told to leave the group alone until nothing else helps.
    await setWhereOffered(memory, "memory.swappiness", 0);
    await set(pids, "pids.max", limits.threads);
    if (cpu) {
      await set(cpu, "cpu.shares", CPU_SHARES.normal);
      await set(cpu, "cpu.cfs_period_us", CPU_PERIOD_US);
      await set(cpu, "cpu.cfs_quota_us", cpuQuotaUs(limits.cpuCores));
    }
  } catch (error) {
    // Nobody else knows of them.
    await Promise.allSettled(folders.map((folder) => rmdir(folder)));
    throw error;
  }
  return {
    add: async (pid) => {
      await Promise.all(folders.map((folder) => set(folder, "cgroup.procs", pid)));
    },
    setPriority: async (priority) => {
      if (cpu) await set(cpu, "cpu.shares", CPU_SHARES[priority]);
    },
    ranOutOfMemory: async () => countsKills(await readFile(path.join(memory, "memory.oom_control"), "utf8")),
    remove: async () => {
      await Promise.all(folders.map((folder) => removeEmpty(folder)));
    },
  };
}

async function isWritable(folder: string): Promise<boolean> {
  return access(folder, constants.W_OK).then(
    () => true,
    () => false,
  );
}
