import { mkdir, readdir, readFile, rmdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout } from "node:timers/promises";

import { isStaleTag } from "../temp/process-tag.ts";
import { killProcess } from "../temp/stale-folders.ts";
import { ALL_GUESTS_GROUP, GUEST_GROUP, LAST_GUESTS_GROUP, SERVICE_GROUP } from "./cgroup.ts";

/** The period over which the kernel doles out a quota of CPU, its own default. */
export const CPU_PERIOD_US = 100_000;

const REMOVE_ATTEMPTS = 20;
const REMOVE_STEP_MS = 5;

export function cpuQuotaUs(cores: number): number {
  return Math.round(cores * CPU_PERIOD_US);
}

export function set(folder: string, file: string, value: number | string): Promise<void> {
  return writeFile(path.join(folder, file), String(value));
}

/** Kernels are built without swap accounting; there is then no swap to limit. */
export async function setWhereOffered(folder: string, file: string, value: number): Promise<void> {
  try {
    await set(folder, file, value);
  } catch (error) {
    if (!isRefusal(error)) throw error;
  }
}

/** Whether the kernel or the operator does not give what was asked for, and weaker means have to do. */
export function isRefusal(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException).code ?? "";
  return ["EACCES", "EPERM", "EROFS", "ENOENT", "EBUSY", "EINVAL", "EOPNOTSUPP"].includes(code);
}

/** For what is wanted and not needed. */
export async function ignoring(work: () => Promise<unknown>): Promise<void> {
  await work().catch(() => {});
}

/** A group around others, or processes, of this service, made when the first of them needs it. */
export class OwnGroup {
  readonly #folder: string;
  readonly #setUp: (folder: string) => Promise<void>;
  #made: Promise<string> | null = null;

  /** @param base where it is made. */
  constructor(name: string, base: string, setUp: (folder: string) => Promise<void>) {
    this.#folder = path.join(base, name);
    this.#setUp = setUp;
  }

  /** @returns its folder. */
  make(): Promise<string> {
    this.#made ??= this.#make().catch((error: unknown) => {
      // The next guest may try again.
      this.#made = null;
      throw error;
    });
    return this.#made;
  }

  async add(pid: number): Promise<void> {
    await set(await this.make(), "cgroup.procs", pid);
  }

  /** @param home where members go that are not to end with it; without it all have gone. */
  async remove(home?: string): Promise<void> {
    if (this.#made) await removeGroup(await this.#made, home).catch(() => {});
    this.#made = null;
  }

  async #make(): Promise<string> {
    // Two sandboxes of one process share it.
    await mkdir(this.#folder, { recursive: true });
    try {
      await this.#setUp(this.#folder);
    } catch (error) {
      // It stays where the other sandbox has something in it.
      await rmdir(this.#folder).catch(() => {});
      throw error;
    }
    return this.#folder;
  }
}

/** Groups of a service that was killed, with what is left of its guests. */
export async function removeLeftGroups(base: string): Promise<void> {
  const names = await readdir(base);
  const left = (prefix: string): string[] => {
    return names.filter((name) => isStaleTag(name, prefix)).map((name) => path.join(base, name));
  };
  // One that stays is in nobody's way.
  await Promise.allSettled([
    ...[GUEST_GROUP, ALL_GUESTS_GROUP, LAST_GUESTS_GROUP].flatMap(left).map(removeLeftGroup),
    // It may hold a service whose launcher was killed.
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

/** Without those of which this PID namespace knows nothing: they have the id 0, which to kill(2) is the own process group. */
async function membersOf(folder: string): Promise<number[]> {
  const members = (await readFile(path.join(folder, "cgroup.procs"), "utf8").catch(() => "")).split("\n").map(Number);
  return members.filter((member) => member > 0);
}

/** A process that has ended stays a member for a moment, until the kernel has taken it apart. */
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

/** Both versions count kills in a line `oom_kill N`. */
export function countsKills(events: string): boolean {
  return Number(/^oom_kill (\d+)$/m.exec(events)?.[1] ?? 0) > 0;
}
