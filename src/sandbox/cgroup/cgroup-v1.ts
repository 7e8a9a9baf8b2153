import { constants } from "node:fs";
import { access, mkdir, readFile, rmdir } from "node:fs/promises";
import path from "node:path";

import type { Priority } from "../sandbox.ts";
import { processTag } from "../temp/process-tag.ts";
import {
  OwnGroup,
  countsKills,
  CPU_PERIOD_US,
  cpuQuotaUs,
  removeEmpty,
  ignoring,
  removeLeftGroups,
  set,
  setWhereOffered,
} from "./cgroup-files.ts";
import type { GroupFolders } from "./cgroup-mounts.ts";
import {
  ALL_GUESTS_GROUP,
  BUSY_GROUP,
  type Cgroup,
  type Cgroups,
  LAST_GUESTS_GROUP,
  type ResourceLimits,
  SERVICE_GROUP,
  STARTING_GROUP,
} from "./cgroup.ts";

/** The CPU shares of all guests together. Less than other groups of the machine, which have 1 024 by default. */
const ALL_CPU_SHARES = 512;
/**
 * The CPU shares of the service and its launcher. They need little CPU, but immediately: with the default shares they would
 * wait for busy guests each time that a run arrives or a guest answers.
 */
const SERVICE_CPU_SHARES = 8_192;
/** The CPU shares of all guests with the lowest priority together: unused CPU, and almost nothing else. */
const LAST_CPU_SHARES = 32;
/**
 * The CPU shares of one guest, compared with other guests only. `busy` and `low` apply only if the guest cannot be moved to
 * the groups for these priorities.
 */
const CPU_SHARES: Readonly<Record<Priority, number>> = { high: 512, normal: 256, busy: 48, low: 16 };
/** The CPU shares of all busy guests together: as much as one normal guest. */
const BUSY_CPU_SHARES = 256;
/** The CPU shares of all starting guests together. A run may wait for a start, and a start needs mostly CPU. */
const STARTING_CPU_SHARES = 1_024;

/**
 * Opens groups of version 1 (Documentation/admin-guide/cgroup-v1/ of Linux). Each controller has a separate hierarchy, or
 * several controllers share one.
 *
 * @returns null if memory or threads cannot be limited.
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
  const cpuBase = separateCpu(bases);
  if (cpuBase === null) {
    return {
      version: 1,
      limitsCpu: cpu != null,
      create: (name, own = limits) => create(bases, null, name, own),
      prefer: async () => {},
      begin: async () => {},
      close: async () => {},
    };
  }
  const all = groupWithShares(processTag(ALL_GUESTS_GROUP), cpuBase, ALL_CPU_SHARES);
  const last = groupWithShares(processTag(LAST_GUESTS_GROUP), cpuBase, LAST_CPU_SHARES);
  const service = groupWithShares(processTag(SERVICE_GROUP), cpuBase, SERVICE_CPU_SHARES);
  let starting: OwnGroup | null = null;
  let busy: OwnGroup | null = null;
  const slowGroups: SlowGroups = {
    busy: async () => (busy ??= groupWithShares(BUSY_GROUP, await all.make(), BUSY_CPU_SHARES)).make(),
    low: () => last.make(),
  };
  return {
    version: 1,
    limitsCpu: true,
    create: async (name, own = limits) => create({ ...bases, cpu: await all.make() }, slowGroups, name, own),
    prefer: (processes) => ignoring(() => Promise.all(processes.map((each) => service.add(each)))),
    begin: (pid) => {
      return ignoring(async () => {
        starting ??= groupWithShares(STARTING_GROUP, await all.make(), STARTING_CPU_SHARES);
        await starting.add(pid);
      });
    },
    close: async () => {
      await starting?.remove();
      await busy?.remove();
      await all.remove();
      await last.remove();
      await service.remove(cpuBase);
    },
  };
}

interface Bases {
  readonly memory: string;
  readonly pids: string;
  readonly cpu: string | null;
}

/**
 * Returns the folder of the CPU controller if it has a separate hierarchy. If it shares a hierarchy with another controller,
 * a guest cannot be moved for CPU alone.
 */
function separateCpu({ memory, pids, cpu }: Bases): string | null {
  return cpu === memory || cpu === pids ? null : cpu;
}

function groupWithShares(name: string, base: string, shares: number): OwnGroup {
  return new OwnGroup(name, base, (folder) => set(folder, "cpu.shares", shares));
}

/** Returns each folder once. Controllers that are mounted together share a folder. */
function foldersOf({ memory, pids, cpu }: Bases): string[] {
  return [...new Set(cpu === null ? [memory, pids] : [memory, pids, cpu])];
}

async function create(
  bases: Bases,
  slowGroups: SlowGroups | null,
  name: string,
  limits: ResourceLimits,
): Promise<Cgroup> {
  const memory = path.join(bases.memory, name);
  const pids = path.join(bases.pids, name);
  const cpu = bases.cpu && path.join(bases.cpu, name);
  const folders = foldersOf({ memory, pids, cpu });
  try {
    await Promise.all(folders.map((folder) => mkdir(folder)));
    await set(memory, "memory.limit_in_bytes", limits.memoryBytes);
    // The limit of memory and swap together: the same number allows no swap. The kernel refuses a number below the limit of
    // memory, so that limit is set first.
    await setWhereOffered(memory, "memory.memsw.limit_in_bytes", limits.memoryBytes);
    // On a kernel that does not count swap, this makes it swap the group only as a last resort.
    await setWhereOffered(memory, "memory.swappiness", 0);
    await set(pids, "pids.max", limits.threads);
    if (cpu) await limitCpu(cpu, limits);
  } catch (error) {
    // The caller has no handle of these groups, so remove them here.
    await Promise.allSettled(folders.map((folder) => rmdir(folder)));
    throw error;
  }
  const cpuGroup = cpu && slowGroups ? new CpuGroup(cpu, slowGroups, limits) : null;
  return {
    add: async (pid) => {
      await Promise.all(folders.map((folder) => set(folder, "cgroup.procs", pid)));
      cpuGroup?.take(pid);
    },
    setPriority: async (priority) => {
      if (cpuGroup) await cpuGroup.set(priority);
      else if (cpu) await set(cpu, "cpu.shares", CPU_SHARES[priority]);
    },
    ranOutOfMemory: async () => countsKills(await readFile(path.join(memory, "memory.oom_control"), "utf8")),
    remove: async () => {
      await Promise.all([...folders.map((folder) => removeEmpty(folder)), cpuGroup?.remove()]);
    },
  };
}

async function limitCpu(folder: string, { cpuCores }: ResourceLimits): Promise<void> {
  await set(folder, "cpu.shares", CPU_SHARES.high);
  await set(folder, "cpu.cfs_period_us", CPU_PERIOD_US);
  await set(folder, "cpu.cfs_quota_us", cpuQuotaUs(cpuCores));
}

/** The parent groups for guests with low priorities. Each function creates the group and returns its folder. */
type SlowGroups = Readonly<Record<"busy" | "low", () => Promise<string>>>;

const isSlow = (priority: Priority): priority is keyof SlowGroups => priority === "busy" || priority === "low";

/** The CPU group of a guest's process. */
class CpuGroup {
  readonly #folder: string;
  readonly #slowGroups: SlowGroups;
  readonly #limits: ResourceLimits;
  readonly #made: Map<Priority, string> = new Map();
  #pid = 0;
  #moved: Promise<void> = Promise.resolve();
  #removed = false;

  /** @param folder the folder of the guest's group below the group for all guests. */
  constructor(folder: string, slowGroups: SlowGroups, limits: ResourceLimits) {
    this.#folder = folder;
    this.#slowGroups = slowGroups;
    this.#limits = limits;
  }

  take(pid: number): void {
    this.#pid = pid;
  }

  set(priority: Priority): Promise<void> {
    this.#moved = this.#moved.catch(() => {}).then(() => this.#move(priority));
    return this.#moved;
  }

  async remove(): Promise<void> {
    this.#removed = true;
    await this.#moved.catch(() => {});
    await Promise.all([...this.#made.values()].map((folder) => removeEmpty(folder)));
  }

  async #move(priority: Priority): Promise<void> {
    if (this.#removed || this.#pid === 0) return;
    if (isSlow(priority)) return set(await this.#make(priority), "cgroup.procs", this.#pid);
    await set(this.#folder, "cpu.shares", CPU_SHARES[priority]);
    await set(this.#folder, "cgroup.procs", this.#pid);
  }

  async #make(priority: keyof SlowGroups): Promise<string> {
    const made = this.#made.get(priority);
    if (made !== undefined) return made;
    const folder = path.join(await this.#slowGroups[priority](), path.basename(this.#folder));
    await mkdir(folder);
    try {
      await limitCpu(folder, this.#limits);
    } catch (error) {
      await rmdir(folder);
      throw error;
    }
    this.#made.set(priority, folder);
    return folder;
  }
}

async function isWritable(folder: string): Promise<boolean> {
  return access(folder, constants.W_OK).then(
    () => true,
    () => false,
  );
}
