import { constants } from "node:fs";
import { access, mkdir, readdir, readFile, rmdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout } from "node:timers/promises";

const REMOVE_ATTEMPTS = 20;
const REMOVE_STEP_MS = 5;

import { isLeft } from "./leftovers.ts";

/** What one guest may use. */
export interface ResourceLimits {
  readonly memoryBytes: number;
  readonly threads: number;
  readonly cpuCores: number;
}

/** Makes control groups below the service's own (cgroups(7)). */
export interface Cgroups {
  readonly version: 1 | 2;
  create(name: string): Promise<Cgroup>;
}

export interface Cgroup {
  add(pid: number): Promise<void>;
  /** Whether the kernel killed a member for want of memory. */
  ranOutOfMemory(): Promise<boolean>;
  /** Works once no member is left. */
  remove(): Promise<void>;
}

const CPU_PERIOD_US = 100_000;
/** Guests give way to the service, whose weight is 100 (v2) or 1 024 shares (v1). */
const CPU_WEIGHT = 25;
const CPU_SHARES = 256;

/** How the name of a guest's group begins; the id of the service's process follows. */
export const GUEST_GROUP = "caisson-guest-";

/** The control groups that this process may make, or null where the kernel or the operator gives it none. */
export async function openCgroups(limits: ResourceLimits): Promise<Cgroups | null> {
  const mounts = await readMounts();
  const own = await readGroups("self");
  return (await openV2(mounts, own, limits)) ?? (await openV1(mounts, own, limits));
}

async function openV2(mounts: Mounts, own: Groups, limits: ResourceLimits): Promise<Cgroups | null> {
  const mount = mounts.get("cgroup2");
  if (!mount || !own.has("")) return null;
  const base = path.join(mount, own.get("")!);
  try {
    const offered = (await readFile(path.join(base, "cgroup.controllers"), "utf8")).split(/\s+/);
    if (!offered.includes("memory") || !offered.includes("pids")) return null;
    if (own.get("") !== "/") await moveIntoLeaf(base);
    const wanted = ["memory", "pids", "cpu"].filter((controller) => offered.includes(controller));
    await removeLeftGroups(base);
    await set(base, "cgroup.subtree_control", wanted.map((controller) => `+${controller}`).join(" "));
    return new V2Cgroups(base, wanted.includes("cpu"), limits);
  } catch (error) {
    if (isRefusal(error)) return null;
    throw error;
  }
}

/**
 * A group with members cannot pass controllers on, so the service moves into a group of its own below, with what started
 * it. A group that strangers share is left alone: the next step then fails, and the weaker means are taken.
 */
async function moveIntoLeaf(base: string): Promise<void> {
  const leaf = path.join(base, "caisson-service");
  await mkdir(leaf, { recursive: true });
  const members = new Set((await readFile(path.join(base, "cgroup.procs"), "utf8")).split("\n"));
  for (let pid = String(process.pid); members.has(pid); pid = await parentOf(pid)) await set(leaf, "cgroup.procs", pid);
}

async function parentOf(pid: string): Promise<string> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return /^PPid:\s+(\d+)$/m.exec(status)![1]!;
}

class V2Cgroups implements Cgroups {
  readonly version = 2;
  readonly #base: string;
  readonly #hasCpu: boolean;
  readonly #limits: ResourceLimits;

  constructor(base: string, hasCpu: boolean, limits: ResourceLimits) {
    this.#base = base;
    this.#hasCpu = hasCpu;
    this.#limits = limits;
  }

  async create(name: string): Promise<Cgroup> {
    const folder = path.join(this.#base, name);
    await mkdir(folder);
    await set(folder, "memory.max", this.#limits.memoryBytes);
    await setWhereOffered(folder, "memory.swap.max", 0);
    await setWhereOffered(folder, "memory.oom.group", 1);
    await set(folder, "pids.max", this.#limits.threads);
    if (this.#hasCpu) {
      await set(folder, "cpu.weight", CPU_WEIGHT);
      await set(folder, "cpu.max", `${Math.round(this.#limits.cpuCores * CPU_PERIOD_US)} ${CPU_PERIOD_US}`);
    }
    return {
      add: (pid) => set(folder, "cgroup.procs", pid),
      ranOutOfMemory: async () => killed(await readFile(path.join(folder, "memory.events"), "utf8")),
      remove: () => removeEmpty(folder),
    };
  }
}

async function openV1(mounts: Mounts, own: Groups, limits: ResourceLimits): Promise<Cgroups | null> {
  const base = (controller: string): string | null =>
    mounts.has(controller) && own.has(controller) ? path.join(mounts.get(controller)!, own.get(controller)!) : null;
  const memory = base("memory");
  const pids = base("pids");
  if (!memory || !pids || !(await isWritable(memory)) || !(await isWritable(pids))) return null;
  const cpu = base("cpu");
  const bases = cpu && (await isWritable(cpu)) ? [memory, pids, cpu] : [memory, pids];
  for (const each of bases) await removeLeftGroups(each);
  return new V1Cgroups(memory, pids, bases[2] ?? null, limits);
}

class V1Cgroups implements Cgroups {
  readonly version = 1;
  readonly #memory: string;
  readonly #pids: string;
  readonly #cpu: string | null;
  readonly #limits: ResourceLimits;

  constructor(memory: string, pids: string, cpu: string | null, limits: ResourceLimits) {
    this.#memory = memory;
    this.#pids = pids;
    this.#cpu = cpu;
    this.#limits = limits;
  }

  async create(name: string): Promise<Cgroup> {
    const memory = path.join(this.#memory, name);
    const pids = path.join(this.#pids, name);
    const cpu = this.#cpu && path.join(this.#cpu, name);
    const folders = cpu ? [memory, pids, cpu] : [memory, pids];
    await Promise.all(folders.map((folder) => mkdir(folder)));
    await set(memory, "memory.limit_in_bytes", this.#limits.memoryBytes);
    // Memory and swap together: the same number leaves no swap.
    await setWhereOffered(memory, "memory.memsw.limit_in_bytes", this.#limits.memoryBytes);
    await set(pids, "pids.max", this.#limits.threads);
    if (cpu) {
      await set(cpu, "cpu.shares", CPU_SHARES);
      await set(cpu, "cpu.cfs_period_us", CPU_PERIOD_US);
      await set(cpu, "cpu.cfs_quota_us", Math.round(this.#limits.cpuCores * CPU_PERIOD_US));
    }
    return {
      add: async (pid) => {
        await Promise.all(folders.map((folder) => set(folder, "cgroup.procs", pid)));
      },
      ranOutOfMemory: async () => killed(await readFile(path.join(memory, "memory.oom_control"), "utf8")),
      remove: async () => {
        await Promise.all(folders.map((folder) => removeEmpty(folder)));
      },
    };
  }
}

/** Groups of a service that was killed: empty, or about to be. */
async function removeLeftGroups(base: string): Promise<void> {
  for (const name of await readdir(base)) {
    if (isLeft(name, GUEST_GROUP)) await rmdir(path.join(base, name)).catch(() => {});
  }
}

/** A process that has ended stays a member for a moment, until the kernel has taken it apart. */
async function removeEmpty(folder: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await rmdir(folder);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EBUSY" || attempt === REMOVE_ATTEMPTS) throw error;
      await setTimeout(attempt * REMOVE_STEP_MS);
    }
  }
}

/** Both versions count kills in a line `oom_kill N`. */
function killed(events: string): boolean {
  return Number(/^oom_kill (\d+)$/m.exec(events)?.[1] ?? 0) > 0;
}

/** Where each controller of version 1, and version 2 under the name `cgroup2`, is mounted. */
export type Mounts = ReadonlyMap<string, string>;

export async function readMounts(): Promise<Mounts> {
  const mounts = new Map<string, string>();
  for (const line of (await readFile("/proc/self/mounts", "utf8")).split("\n")) {
    const [, folder, type, options] = line.split(" ");
    if (type === "cgroup2") mounts.set("cgroup2", folder!);
    if (type === "cgroup") for (const option of options!.split(",")) mounts.set(option, folder!);
  }
  return mounts;
}

/** The groups of a process by controller; version 2 has the empty name. */
export type Groups = ReadonlyMap<string, string>;

export async function readGroups(pid: number | "self"): Promise<Groups> {
  const groups = new Map<string, string>();
  for (const line of (await readFile(`/proc/${pid}/cgroup`, "utf8")).split("\n").filter(Boolean)) {
    const [, controllers, group] = /^\d+:([^:]*):(.*)$/.exec(line)!;
    for (const controller of controllers!.split(",")) groups.set(controller, group!);
  }
  return groups;
}

function set(folder: string, file: string, value: number | string): Promise<void> {
  return writeFile(path.join(folder, file), String(value));
}

/** Kernels are built without swap accounting; there is then no swap to limit. */
async function setWhereOffered(folder: string, file: string, value: number): Promise<void> {
  try {
    await set(folder, file, value);
  } catch (error) {
    if (!isRefusal(error)) throw error;
  }
}

async function isWritable(folder: string): Promise<boolean> {
  return access(folder, constants.W_OK).then(
    () => true,
    () => false,
  );
}

function isRefusal(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException).code ?? "";
  return ["EACCES", "EPERM", "EROFS", "ENOENT", "EBUSY", "EINVAL", "EOPNOTSUPP"].includes(code);
}
