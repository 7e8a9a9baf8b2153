import { mkdir, readdir, readFile, rmdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout } from "node:timers/promises";

import { ALL_GUESTS_GROUP, GUEST_GROUP, LAST_GUESTS_GROUP, STARTING_GROUP } from "./cgroup.ts";
import { killProcess } from "./leftovers.ts";
import { isLeft, ownName } from "./own-name.ts";

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

/** A group around guests of this process, made when the first of them needs it. */
export class GroupOfGuests {
  readonly #home: string;
  readonly #folder: string;
  readonly #setUp: (folder: string) => Promise<void>;
  #made: Promise<string> | null = null;
  #joined: string | null = null;

  /**
   * @param base where it is made.
   * @param home the folder of the group that this process is in.
   */
  constructor(prefix: string, base: string, home: string, setUp: (folder: string) => Promise<void>) {
    this.#home = home;
    this.#folder = path.join(base, ownName(prefix));
    this.#setUp = setUp;
  }

  /** Puts this process into a group among the guests', which weighs as much as one of them. */
  async join(setUp: (folder: string) => Promise<void>): Promise<void> {
    const folder = path.join(await this.make(), STARTING_GROUP);
    await mkdir(folder, { recursive: true });
    await setUp(folder);
    await set(folder, "cgroup.procs", 0);
    this.#joined = folder;
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

  async remove(): Promise<void> {
    if (this.#joined !== null) await this.#leave(this.#joined).catch(() => {});
    if (this.#made) await removeEmpty(await this.#made).catch(() => {});
    this.#made = null;
  }

  /** Nobody can remove the group that it is in. */
  async #leave(joined: string): Promise<void> {
    await set(this.#home, "cgroup.procs", 0);
    await removeEmpty(joined);
    this.#joined = null;
  }

  async #make(): Promise<string> {
    // Two sandboxes of one process share it.
    await mkdir(this.#folder, { recursive: true });
    await this.#setUp(this.#folder);
    return this.#folder;
  }
}

/** Groups of a service that was killed, with what is left of its guests. */
export async function removeLeftGroups(base: string): Promise<void> {
  const prefixes = [GUEST_GROUP, ALL_GUESTS_GROUP, LAST_GUESTS_GROUP];
  const left = (await readdir(base)).filter((name) => prefixes.some((prefix) => isLeft(name, prefix)));
  // One that stays is in nobody's way.
  await Promise.allSettled(left.map((name) => removeLeftGroup(path.join(base, name))));
}

async function removeLeftGroup(folder: string): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true });
  const below = entries.filter((entry) => entry.isDirectory()).map(({ name }) => path.join(folder, name));
  await Promise.allSettled(below.map(removeLeftGroup));
  const members = (await readFile(path.join(folder, "cgroup.procs"), "utf8").catch(() => "")).split("\n").map(Number);
  // Members of which this PID namespace knows nothing have the id 0, which to kill(2) is the own process group.
  for (const pid of members.filter((member) => member > 0)) killProcess(pid);
  await removeEmpty(folder);
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
