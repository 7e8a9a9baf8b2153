import { globSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { readdir } from "node:fs/promises";
import path from "node:path";

import { processTag } from "../../src/sandbox/temp/process-tag.ts";
import type { Home } from "./service.ts";

/** `PF_KTHREAD` of the kernel, in the flags of a process. */
const KERNEL_THREAD = 0x20_0000;

/** What the names of control groups begin with: of guests, of all of them, of one that ends, of the service. */
const GROUPS = ["caisson-guest-", "caisson-guests-", "caisson-last-", "caisson-service-"];

/** A process that belongs to a service, by its id on the host. */
export interface Trace {
  readonly pid: number;
  /**
   * `guest` is process 1 of a sandbox, or lives in a folder for temporary files; `unborn` is one that is still bubblewrap
   * or the player of its plan; `bwrap` is what made it and waits for it; `service` is any other.
   */
  readonly kind: "service" | "bwrap" | "unborn" | "guest";
  /** The id, and when the process began: ids are used again. */
  readonly key: string;
}

/**
 * What the services of a home have on the machine outside their data: processes, control groups, temporary files.
 *
 * It is found by its names and not by parentage: an orphan is just what is looked for. The command line of bubblewrap
 * names the home, that of a guest does not, but its mounts do, whose sources lie there, or its root and where it works.
 */
export class Trail {
  readonly #home: Home;
  /** With this process: a test may start guests without a service. */
  readonly #seen: Set<string> = new Set([processTag("")]);

  constructor(home: Home) {
    this.#home = home;
  }

  /** Those that live now. They are remembered: their control groups are found when they have gone. */
  processes(): Promise<Trace[]> {
    // Not in turns of the event loop: these are hundreds of files, and each such turn costs more than the file.
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

  /** The folders of control groups of guests, made by any process that was ever seen: each controller has its own. */
  groups(): string[] {
    return this.#groupsNamed(["caisson-guest-"]);
  }

  /** In the folder for temporary files; of the data, what was not finished, and sockets. */
  async files(): Promise<string[]> {
    const data = await readdir(this.#home.data, { withFileTypes: true, recursive: true });
    const stray = data.filter((entry) => entry.isSocket() || /\.(tmp|unfinished)$/.test(entry.name));
    return [...(await readdir(this.#home.tmp)), ...stray.map(({ name }) => name)];
  }

  /** All of it, in words; empty when nothing is left. */
  async left(): Promise<string[]> {
    const processes = (await this.processes()).map(({ kind, pid }) => `${kind} ${pid}`);
    return [...processes, ...this.#groupsNamed(GROUPS), ...(await this.files())];
  }

  /** All of it, each by a name that nothing else gets: what is there before a start and after it was not removed by it. */
  async remains(): Promise<string[]> {
    const processes = (await this.processes()).map(({ key }) => key);
    return [...processes, ...this.#groupsNamed(GROUPS), ...(await this.files())];
  }

  #groupsNamed(prefixes: readonly string[]): string[] {
    return globSync("/sys/fs/cgroup/**/caisson-*").filter((group) => {
      const [, prefix, whose] = /^(caisson-[a-z]+-)(\d+-\d+-)/.exec(path.basename(group)) ?? [];
      return prefixes.includes(prefix!) && this.#seen.has(whose!);
    });
  }

  #trace(pid: number): Trace | null {
    const read = (file: string): string => orEmpty(() => readFileSync(`/proc/${pid}/${file}`, "latin1"));
    // Most processes of a machine are threads of its kernel, and each look at one costs five files.
    if (!isAlive(read("stat"))) return null;
    const [command, mounts, environment] = ["cmdline", "mountinfo", "environ"].map(read);
    const { data, tmp } = this.#home;
    const places = ["root", "cwd"].map((link) => orEmpty(() => readlinkSync(`/proc/${pid}/${link}`)));
    const told = [command, mounts, environment, ...places];
    const isOwn = [tmp, data].some((folder) => told.some((text) => text!.includes(folder)));
    if (!isOwn) return null;
    const stat = read("stat");
    if (!isAlive(stat)) return null;
    const isFirst = /^NSpid:.*\t1$/m.test(read("status"));
    const isBubblewrap = command!.includes("--unshare-user");
    const isPlayer = /^[^\0]*\/player\0/.test(command!);
    const isConfined = places.some((place) => place.startsWith(tmp));
    const isGuest = isFirst || isConfined;
    const kind =
      isPlayer || (isFirst && isBubblewrap) ? "unborn" : isGuest ? "guest" : isBubblewrap ? "bwrap" : "service";
    return { pid, kind, key: `${pid}-${fieldsOf(stat)[19]}` };
  }
}

/** A process may end between two looks at it. */
function orEmpty(look: () => string): string {
  try {
    return look();
  } catch {
    return "";
  }
}

/** Whether a process is one of user space and has anything: one that has ended and is not yet reaped has nothing. */
function isAlive(stat: string): boolean {
  const [state, , , , , , flags] = fieldsOf(stat);
  return stat !== "" && state !== "Z" && state !== "X" && (Number(flags) & KERNEL_THREAD) === 0;
}

/** The fields of `/proc/PID/stat` from the state on: the name before it may hold anything. */
function fieldsOf(stat: string): string[] {
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}
