import { mkdir, readdir, readFile, rmdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout } from "node:timers/promises";

import { isStaleTag } from "../temp/process-tag.ts";
import { killProcess } from "../temp/stale-folders.ts";
import { ALL_GUESTS_GROUP, GUEST_GROUP, LAST_GUESTS_GROUP, SERVICE_GROUP } from "./cgroup.ts";

/** The period of a CPU quota, in microseconds. It is the kernel's default. */
export const CPU_PERIOD_US = 100_000;

/** The maximum number of attempts to remove a group, in which an ended process is still a member. */
const REMOVE_ATTEMPTS = 20;
/** The delay before the next attempt, in milliseconds for each attempt so far: one second in total. */
const REMOVE_STEP_MS = 5;

export function cpuQuotaUs(cores: number): number {
  return Math.round(cores * CPU_PERIOD_US);
}

export function set(folder: string, file: string, value: number | string): Promise<void> {
  return writeFile(path.join(folder, file), String(value));
}

/** Sets a value if the kernel has the file. For example, a kernel without swap accounting has no file for swap. */
export async function setWhereOffered(folder: string, file: string, value: number): Promise<void> {
  try {
    await set(folder, file, value);
  } catch (error) {
    if (!isRefusal(error)) throw error;
  }
}

/** Returns whether an error means that the kernel or the operator does not allow the operation. */
export function isRefusal(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException).code ?? "";
  return ["EACCES", "EPERM", "EROFS", "ENOENT", "EBUSY", "EINVAL", "EOPNOTSUPP"].includes(code);
}

/** Does optional work and ignores its errors. */
export async function ignoring(work: () => Promise<unknown>): Promise<void> {
  await work().catch(() => {});
}

/** A group of this service that contains other groups or processes. It is created when it is first needed. */
export class OwnGroup {
  readonly #folder: string;
  readonly #setUp: (folder: string) => Promise<void>;
  #made: Promise<string> | null = null;

  /** @param base the folder of the parent group. */
  constructor(name: string, base: string, setUp: (folder: string) => Promise<void>) {
    this.#folder = path.join(base, name);
    this.#setUp = setUp;
  }

  /** Creates the group if it does not exist. @returns its folder. */
  make(): Promise<string> {
    this.#made ??= this.#make().catch((error: unknown) => {
      // The next guest tries again.
      this.#made = null;
      throw error;
    });
    return this.#made;
  }

  async add(pid: number): Promise<void> {
    await set(await this.make(), "cgroup.procs", pid);
  }

  /** @param home the group to which remaining members are moved; without it, all members must have ended. */
  async remove(home?: string): Promise<void> {
    if (this.#made) await removeGroup(await this.#made, home).catch(() => {});
    this.#made = null;
  }

  async #make(): Promise<string> {
    // `recursive`, because two sandboxes of one process share the group.
    await mkdir(this.#folder, { recursive: true });
    try {
      await this.#setUp(this.#folder);
    } catch (error) {
      // This fails, and the group stays, if another sandbox uses it.
      await rmdir(this.#folder).catch(() => {});
      throw error;
    }
    return this.#folder;
  }
}

/** Removes the groups of killed services, and kills their remaining guests. */
export async function removeLeftGroups(base: string): Promise<void> {
  const names = await readdir(base);
  const left = (prefix: string): string[] => {
    return names.filter((name) => isStaleTag(name, prefix)).map((name) => path.join(base, name));
  };
  // A group that cannot be removed does no harm.
  await Promise.allSettled([
    ...[GUEST_GROUP, ALL_GUESTS_GROUP, LAST_GUESTS_GROUP].flatMap(left).map(removeLeftGroup),
    // A group of a service may have a member: a service whose launcher was killed.
    ...left(SERVICE_GROUP).map((folder) => removeGroup(folder, base)),
  ]);
}

async function removeGroup(folder: string, home?: string): Promise<void> {
  if (home !== undefined) {
    for (const pid of await membersOf(folder)) await set(home, "cgroup.procs", pid).catch(() => {});
  }
  await removeEmpty(folder);
}

async function removeLeftGroup(folder: string): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true });
  const below = entries.filter((entry) => entry.isDirectory()).map(({ name }) => path.join(folder, name));
  await Promise.allSettled(below.map(removeLeftGroup));
  for (const pid of await membersOf(folder)) killProcess(pid);
  await removeEmpty(folder);
}

/**
 * Returns the members of a group. Excludes processes outside this PID namespace: they have the id 0, by which kill(2) would
 * kill this process group.
 */
async function membersOf(folder: string): Promise<number[]> {
  const members = (await readFile(path.join(folder, "cgroup.procs"), "utf8").catch(() => "")).split("\n").map(Number);
  return members.filter((member) => member > 0);
}

/** Removes a group. Tries again for some time, because an ended process stays a member until the kernel has removed it. */
export async function removeEmpty(folder: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await rmdir(folder);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EBUSY" || attempt === REMOVE_ATTEMPTS) throw error;
      await setTimeout(attempt * REMOVE_STEP_MS);
    }
  }
}

/** Returns whether the kernel killed a member. Both versions count kills in a line `oom_kill N`. */
export function countsKills(events: string): boolean {
  return Number(/^oom_kill (\d+)$/m.exec(events)?.[1] ?? 0) > 0;
}
