import { closeSync, lstatSync, openSync, readdirSync, readFileSync, readlinkSync, readSync } from "node:fs";
import { readdir } from "node:fs/promises";
import path from "node:path";

import { pathOnMount } from "../../src/sandbox/temp/path-on-mount.ts";
import { processTag } from "../../src/sandbox/temp/process-tag.ts";
import type { Home } from "./service.ts";

/** The flag `PF_KTHREAD` of the kernel, in the flags of a process. */
const KERNEL_THREAD = 0x20_0000;

/** The prefixes of control groups: of one guest, of all guests, of a guest that ends, of the service. */
const GROUPS = ["caisson-guest-", "caisson-guests-", "caisson-last-", "caisson-service-"];

const CGROUPS = "/sys/fs/cgroup";
const OWN_MOUNTS = readlinkSync("/proc/self/ns/mnt");
const BUFFER = Buffer.alloc(2 ** 16);
/** A process that started earlier is of no home that this process has made. */
const OWN_START = startOf(readFileSync("/proc/self/stat", "latin1"));

/** A process that belongs to a service, by its id on the host. */
export interface Trace {
  readonly pid: number;
  /**
   * `guest` is process 1 of a sandbox, or works in a folder for temporary files. `unborn` is not yet a guest: it is
   * still bubblewrap, or the stub that executes the plan. `bwrap` has started a guest and waits for it. `service` is
   * any other process.
   */
  readonly kind: "service" | "bwrap" | "unborn" | "guest";
  /** The id and the start time of the process, because ids are used again. */
  readonly key: string;
}

/**
 * What the services of a home have on the machine outside their data: processes, control groups, temporary files. A
 * process is recognised by its names and not by its parents, because the test looks for orphans. The command line of
 * bubblewrap contains the home. That of a guest does not, but the sources of its mounts, its root or its working
 * folder do.
 */
export class Trail {
  readonly #home: Home;
  /** The folders of the home, and their names as the sources of mounts. */
  readonly #folders: readonly string[];
  /** Includes this process, because a test may start guests without a service. */
  readonly #seen: Set<string> = new Set([processTag("")]);

  constructor(home: Home) {
    this.#home = home;
    const mounts = readFileSync("/proc/self/mountinfo", "utf8");
    const folders = [home.tmp, home.data];
    this.#folders = [...new Set([...folders, ...folders.map((folder) => pathOnMount(folder, mounts))])];
  }

  /** Returns the processes that live now, and remembers them to find their control groups after they have ended. */
  processes(): Promise<Trace[]> {
    // Synchronous: these are hundreds of files, and a turn of the event loop costs more than a read.
    const ids = readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
    const found = ids
      .filter((pid) => pid !== process.pid)
      .map((pid) => this.#trace(pid))
      .filter((trace) => trace !== null);
    for (const { key } of found) this.#seen.add(`${key}-`);
    return Promise.resolve(found);
  }

  /** Returns the control groups of guests of all processes that were ever seen. Each controller has its own folder. */
  groups(): string[] {
    return this.#groupsNamed(["caisson-guest-"]);
  }

  /** Returns the temporary files, and the unfinished files and the sockets in the data. */
  async files(): Promise<string[]> {
    const data = await readdir(this.#home.data, { withFileTypes: true, recursive: true });
    const stray = data.filter((entry) => entry.isSocket() || /\.(tmp|unfinished)$/.test(entry.name));
    const names = stray.map(({ name, parentPath }) => uniqueName(path.join(parentPath, name), name));
    return [...(await readdir(this.#home.tmp)), ...names];
  }

  /** Describes everything that is left; empty if nothing is left. */
  async left(): Promise<string[]> {
    const processes = (await this.processes()).map(({ kind, pid }) => `${kind} ${pid}`);
    return [...processes, ...this.#groupsNamed(GROUPS), ...(await this.files())];
  }

  /**
   * Returns a unique name for everything that is left. A name that exists before and after a start was not removed
   * by that start.
   */
  async remains(): Promise<string[]> {
    const processes = (await this.processes()).map(({ key }) => key);
    return [...processes, ...this.#groupsNamed(GROUPS), ...(await this.files())];
  }

  #groupsNamed(prefixes: readonly string[]): string[] {
    return groupsBelow(CGROUPS).filter((group) => {
      const [, prefix, owner] = /^(caisson-[a-z]+-)(\d+-\d+-)/.exec(path.basename(group)) ?? [];
      return prefixes.includes(prefix!) && this.#seen.has(owner!);
    });
  }

  #trace(pid: number): Trace | null {
    const read = (file: string): string => orEmpty(() => readText(`/proc/${pid}/${file}`));
    const link = (name: string): string => orEmpty(() => readlinkSync(`/proc/${pid}/${name}`));
    // Most processes of a machine are threads of its kernel or older than this test, and each check costs six files.
    const first = read("stat");
    if (!isAlive(first) || startOf(first) < OWN_START) return null;
    const [command, environment] = [read("cmdline"), read("environ")];
    const links = [link("root"), link("cwd")];
    // A process without a separate namespace has the mounts of this process.
    const mounts = link("ns/mnt") === OWN_MOUNTS ? "" : read("mountinfo");
    const sources = [command, environment, ...links, mounts];
    const isOwn = this.#folders.some((folder) => sources.some((text) => text.includes(folder)));
    if (!isOwn) return null;
    const stat = read("stat");
    if (!isAlive(stat)) return null;
    const isFirst = /^NSpid:.*\t1$/m.test(read("status"));
    const isBubblewrap = command.includes("--unshare-user");
    const isStub = /^[^\0]*\/stub\0/.test(command);
    const isConfined = links.some((place) => place.startsWith(this.#home.tmp));
    const isGuest = isFirst || isConfined;
    const kind =
      isStub || (isFirst && isBubblewrap) ? "unborn" : isGuest ? "guest" : isBubblewrap ? "bwrap" : "service";
    return { pid, kind, key: `${pid}-${startOf(stat)}` };
  }
}

/** Returns the control groups of all services. The search of Node for a pattern takes ten times as long. */
function groupsBelow(folder: string): string[] {
  const below = orEmpty(() => readdirSync(folder, { withFileTypes: true })) || [];
  return below
    .filter((entry) => entry.isDirectory())
    .flatMap(({ name }) => {
      const group = path.join(folder, name);
      return [...(name.startsWith("caisson-") ? [group] : []), ...groupsBelow(group)];
    });
}

/** Reads a file of the kernel: these have no size, and Node would look for it. */
function readText(file: string): string {
  const handle = openSync(file, "r");
  try {
    let text = "";
    for (let bytes = readSync(handle, BUFFER); bytes > 0; bytes = readSync(handle, BUFFER)) {
      text += BUFFER.toString("latin1", 0, bytes);
    }
    return text;
  } finally {
    closeSync(handle);
  }
}

/** Returns the result of a read, or an empty text if the process has ended meanwhile. */
function orEmpty<Result>(read: () => Result): Result | "" {
  try {
    return read();
  } catch {
    return "";
  }
}

/** Whether a process is a live process of user space. A process that has ended and is not reaped has no resources. */
function isAlive(stat: string): boolean {
  const [state, , , , , , flags] = fieldsOf(stat);
  return stat !== "" && state !== "Z" && state !== "X" && (Number(flags) & KERNEL_THREAD) === 0;
}

/** Returns the start of a process in clock ticks since the start of the machine. */
function startOf(stat: string): number {
  return Number(fieldsOf(stat)[19]);
}

/** Returns the fields of `/proc/PID/stat` from the state on. The name before it may contain any character. */
function fieldsOf(stat: string): string[] {
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

/** A service replaces the socket of the one before, so the time of its creation belongs to its name. */
function uniqueName(file: string, name: string): string {
  const { birthtimeMs } = lstatSync(file, { throwIfNoEntry: false }) ?? { birthtimeMs: 0 };
  return `${name} of ${birthtimeMs}`;
}
