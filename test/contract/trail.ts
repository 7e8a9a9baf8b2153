import { globSync } from "node:fs";
import { readdir, readFile, readlink } from "node:fs/promises";
import path from "node:path";

import { processTag } from "../../src/sandbox/temp/process-tag.ts";
import type { Home } from "./service.ts";

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
  async processes(): Promise<Trace[]> {
    const ids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
    const traces = await Promise.all(ids.filter((pid) => pid !== process.pid).map((pid) => this.#trace(pid)));
    const found = traces.filter((trace) => trace !== null);
    for (const { key } of found) this.#seen.add(`${key}-`);
    return found;
  }

  /** The folders of control groups of guests, made by any process that was ever seen: each controller has its own. */
  groups(): string[] {
    return this.#groupsNamed("caisson-guest-");
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
    const around = ["caisson-guests-", "caisson-last-", "caisson-service-"].flatMap((name) => this.#groupsNamed(name));
    const groups = [...this.groups(), ...around];
    return [...processes, ...groups, ...(await this.files())];
  }

  #groupsNamed(prefix: string): string[] {
    const named = globSync(`/sys/fs/cgroup/**/${prefix}*`);
    return named.filter((group) => {
      const [whose] = /^\d+-\d+-/.exec(path.basename(group).slice(prefix.length)) ?? [];
      return whose !== undefined && this.#seen.has(whose);
    });
  }

  async #trace(pid: number): Promise<Trace | null> {
    const read = (file: string): Promise<string> => readFile(`/proc/${pid}/${file}`, "latin1").catch(() => "");
    const [command, mounts, environment] = await Promise.all(["cmdline", "mountinfo", "environ"].map(read));
    const { data, tmp } = this.#home;
    const places = await Promise.all(["root", "cwd"].map((link) => readlink(`/proc/${pid}/${link}`).catch(() => "")));
    const told = [command, mounts, environment, ...places];
    const isOwn = [tmp, data].some((folder) => told.some((text) => text!.includes(folder)));
    const stat = await read("stat");
    // Whoever has ended and is not yet reaped has nothing any more.
    const [state, ...fields] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (!isOwn || stat === "" || state === "Z" || state === "X") return null;
    const isFirst = /^NSpid:.*\t1$/m.test(await read("status"));
    const isBubblewrap = command!.includes("--unshare-user");
    const isPlayer = /^[^\0]*\/player\0/.test(command!);
    const isConfined = places.some((place) => place.startsWith(tmp));
    const isGuest = isFirst || isConfined;
    const kind =
      isPlayer || (isFirst && isBubblewrap) ? "unborn" : isGuest ? "guest" : isBubblewrap ? "bwrap" : "service";
    return { pid, kind, key: `${pid}-${fields[18]}` };
  }
}
