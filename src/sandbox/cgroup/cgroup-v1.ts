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

/** Of all guests together: they give way to all others, which have 1 024. */
const ALL_CPU_SHARES = 512;
/**
 * Of the service and of who starts its guests. They need little, and at once: with as much as others they wait their turn
 * on a machine that guests keep busy, each time that a run comes and that a guest answers.
 */
const SERVICE_CPU_SHARES = 8_192;
/** Of those together that come after all others: what nobody else wants, and next to nothing else. */
const LAST_CPU_SHARES = 32;
/** Of one: nothing is at its side but others. But for the normal one they count where it cannot be moved. */
const CPU_SHARES: Readonly<Record<Priority, number>> = { high: 512, normal: 256, busy: 48, low: 16 };
/** Of those together that keep using the processor: as much as each of the others. */
const BUSY_CPU_SHARES = 256;
/** Of those together that are being started: who waits for one waits for the whole of a start, most of which is CPU. */
const STARTING_CPU_SHARES = 1_024;

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
  const around = cpuAlone(bases);
  if (around === null) {
    return {
      version: 1,
      limitsCpu: cpu != null,
      create: (name) => create(bases, null, name, limits),
      prefer: async () => {},
      begin: async () => {},
      close: async () => {},
    };
  }
  const all = weighing(processTag(ALL_GUESTS_GROUP), around, ALL_CPU_SHARES);
  const last = weighing(processTag(LAST_GUESTS_GROUP), around, LAST_CPU_SHARES);
  const service = weighing(processTag(SERVICE_GROUP), around, SERVICE_CPU_SHARES);
  let starting: OwnGroup | null = null;
  let busy: OwnGroup | null = null;
  const others: Others = {
    busy: async () => (busy ??= weighing(BUSY_GROUP, await all.make(), BUSY_CPU_SHARES)).make(),
    low: () => last.make(),
  };
  return {
    version: 1,
    limitsCpu: true,
    create: async (name) => create({ ...bases, cpu: await all.make() }, others, name, limits),
    prefer: (processes) => ignoring(() => Promise.all(processes.map((each) => service.add(each)))),
    begin: (pid) => {
      return ignoring(async () => {
        starting ??= weighing(STARTING_GROUP, await all.make(), STARTING_CPU_SHARES);
        await starting.add(pid);
      });
    },
    close: async () => {
      await starting?.remove();
      await busy?.remove();
      await all.remove();
      await last.remove();
      await service.remove(around);
    },
  };
}

interface Bases {
  readonly memory: string;
  readonly pids: string;
  readonly cpu: string | null;
}

/** Null where CPU is not limited, or its hierarchy is also one of the others, in which a guest can be in one place only. */
function cpuAlone({ memory, pids, cpu }: Bases): string | null {
  return cpu === memory || cpu === pids ? null : cpu;
}

function weighing(name: string, base: string, shares: number): OwnGroup {
  return new OwnGroup(name, base, (folder) => set(folder, "cpu.shares", shares));
}

/** Each once: controllers that are mounted together share a folder. */
function foldersOf({ memory, pids, cpu }: Bases): string[] {
  return [...new Set(cpu === null ? [memory, pids] : [memory, pids, cpu])];
}

async function create(bases: Bases, others: Others | null, name: string, limits: ResourceLimits): Promise<Cgroup> {
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
    if (cpu) await limitCpu(cpu, limits);
  } catch (error) {
    // Nobody else knows of them.
    await Promise.allSettled(folders.map((folder) => rmdir(folder)));
    throw error;
  }
  const place = cpu && others ? new CpuGroup(cpu, others, limits) : null;
  return {
    add: async (pid) => {
      await Promise.all(folders.map((folder) => set(folder, "cgroup.procs", pid)));
      place?.take(pid);
    },
    setPriority: async (priority) => {
      if (place) await place.set(priority);
      else if (cpu) await set(cpu, "cpu.shares", CPU_SHARES[priority]);
    },
    ranOutOfMemory: async () => countsKills(await readFile(path.join(memory, "memory.oom_control"), "utf8")),
    remove: async () => {
      await Promise.all([...folders.map((folder) => removeEmpty(folder)), place?.remove()]);
    },
  };
}

async function limitCpu(folder: string, { cpuCores }: ResourceLimits): Promise<void> {
  await set(folder, "cpu.shares", CPU_SHARES.high);
  await set(folder, "cpu.cfs_period_us", CPU_PERIOD_US);
  await set(folder, "cpu.cfs_quota_us", cpuQuotaUs(cpuCores));
}

/** Where guests go for their CPU that come after others: makes the group around them, and gives its folder. */
type Others = Readonly<Record<"busy" | "low", () => Promise<string>>>;

const isElsewhere = (priority: Priority): priority is keyof Others => priority === "busy" || priority === "low";

/** Where the one process of a guest is, as far as CPU goes. */
class CpuGroup {
  readonly #folder: string;
  readonly #others: Others;
  readonly #limits: ResourceLimits;
  readonly #made: Map<Priority, string> = new Map();
  #pid = 0;
  #moved: Promise<void> = Promise.resolve();
  #removed = false;

  /** @param folder of its group among all guests. */
  constructor(folder: string, others: Others, limits: ResourceLimits) {
    this.#folder = folder;
    this.#others = others;
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
    if (isElsewhere(priority)) return set(await this.#make(priority), "cgroup.procs", this.#pid);
    await set(this.#folder, "cpu.shares", CPU_SHARES[priority]);
    await set(this.#folder, "cgroup.procs", this.#pid);
  }

  async #make(priority: keyof Others): Promise<string> {
    const made = this.#made.get(priority);
    if (made !== undefined) return made;
    const folder = path.join(await this.#others[priority](), path.basename(this.#folder));
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
