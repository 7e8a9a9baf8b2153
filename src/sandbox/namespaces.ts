import { execFile, spawn, type ChildProcess } from "node:child_process";
import { closeSync, openSync, writeFileSync } from "node:fs";
import { realpath } from "node:fs/promises";
import type { Socket } from "node:net";
import path from "node:path";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";

import { openCgroups, type Cgroup, type Cgroups, GUEST_GROUP, type ResourceLimits } from "./cgroup.ts";
import { processStatus } from "./proc.ts";
import type { RunFolder } from "./run-folder.ts";
import type { GuestExit, GuestProcess, GuestStatus, Sandbox } from "./sandbox.ts";
import { seccompFilter, type Architecture } from "./seccomp.ts";
import { guestUids } from "./uids.ts";

export interface NamespacesOptions extends ResourceLimits {
  readonly tmpBytes: number;
  /** Of a buffered result. */
  readonly resultBytes: number;
}

/** Descriptors of the guest and of bwrap, by their place in `stdio`. */
const STDERR = 2;
const FRAMES = 3;
const INFO = 4;
const FILTER = 5;

/** V8 needs room beside its heap: the code range, stacks, the young generation. Measured: 600 MiB of data segment. */
const DATA_HEADROOM_BYTES = 640 * 2 ** 20;
const MAX_DESCRIPTORS = 128;
/** By then bubblewrap has set up the namespace, or never will. */
const SETUP_MS = 5_000;
const STDERR_BYTES = 16_384;
const V8_OUT_OF_MEMORY = /out of memory|heap limit/i;

/**
 * The rung made of bubblewrap: user, mount, PID, network, IPC, UTS and cgroup namespaces, an empty root, no capability,
 * the seccomp filter, and a control group where one can be made.
 *
 * @throws {Error} saying what is missing and how to get it.
 */
export async function openNamespaces(folder: RunFolder, options: NamespacesOptions): Promise<Sandbox> {
  const bwrap = await findBubblewrap();
  const filterFile = path.join(folder.path, "filter.bpf");
  writeFileSync(filterFile, seccompFilter(process.arch as Architecture));
  const cgroups = await openCgroups(options);
  const command = [...rlimits(options, cgroups !== null), bwrap, ...(await bwrapArguments(folder, options))];
  const nextUid = guestUids();
  let started = 0;
  return {
    rung: "namespaces",
    resources: cgroups ? `cgroup v${cgroups.version}` : "rlimits and the watchdog (no cgroup can be written)",
    holdsResources: cgroups !== null,
    launch: () => {
      const filter = openSync(filterFile, "r");
      try {
        const child = spawn(command[0]!, command.slice(1), {
          stdio: ["ignore", "ignore", "pipe", "pipe", "pipe", filter],
          cwd: "/",
          env: {},
          ...nextUid(),
        });
        // Out of descriptors or processes, the child has nothing that could be listened to.
        if (child.pid === undefined) {
          child.once("error", () => {});
          throw new Error("no process could be started");
        }
        return new NamespacedGuest(child, cgroups, `${GUEST_GROUP}${process.pid}-${++started}`);
      } finally {
        closeSync(filter);
      }
    },
    close: async () => {},
  };
}

class NamespacedGuest implements GuestProcess {
  readonly socket: Socket;
  readonly exited: Promise<GuestExit>;
  readonly #child: ChildProcess;
  readonly #cgroups: Cgroups | null;
  readonly #name: string;
  /** The pid of process 1 of the namespace, as the host counts. */
  readonly #pid: Promise<number>;
  #knownPid: number | null = null;
  /** Its pid may be another's by now. */
  #gone = false;
  #cgroup: Cgroup | null = null;
  #complaint = "";

  constructor(child: ChildProcess, cgroups: Cgroups | null, name: string) {
    this.#child = child;
    this.#cgroups = cgroups;
    child.once("close", () => (this.#gone = true));
    this.#name = name;
    this.socket = child.stdio[FRAMES] as Socket;
    // What goes wrong with the socket shows as the end of the process.
    this.socket.on("error", () => {});
    this.#pid = this.#readPid();
    this.#pid.catch(() => {});
    (child.stdio[STDERR] as Socket).setEncoding("latin1").on("data", (chunk: string) => {
      if (this.#complaint.length < STDERR_BYTES) this.#complaint += chunk.slice(0, STDERR_BYTES);
    });
    this.exited = this.#waitForExit();
  }

  async seal(): Promise<void> {
    const pid = await this.#pid;
    if (!this.#cgroups) return;
    this.#cgroup = await this.#cgroups.create(this.#name);
    await this.#cgroup.add(pid);
  }

  async inspect(): Promise<GuestStatus | null> {
    return this.#knownPid === null || this.#gone ? null : processStatus(this.#knownPid);
  }

  kill(): void {
    if (this.#gone) return;
    // Process 1 of a PID namespace takes all others with it, and bwrap goes when it has gone. Never bwrap itself: killed
    // before it has set up the namespace, it leaves behind a child that waits for it for ever.
    void this.#pid.then(killProcess, () => this.#child.kill("SIGKILL"));
    if (this.#knownPid === null) setTimeout(() => this.#child.kill("SIGKILL"), SETUP_MS).unref();
  }

  async #readPid(): Promise<number> {
    const info: unknown = JSON.parse(await text(this.#child.stdio[INFO] as Socket));
    this.#knownPid = (info as { "child-pid": number })["child-pid"];
    return this.#knownPid;
  }

  async #waitForExit(): Promise<GuestExit> {
    const how = await new Promise<string>((resolve) => {
      this.#child.once("error", (error) => resolve(error.message));
      // `close` and not `exit`: by then stderr has been read to its end.
      this.#child.once("close", (code, signal) => resolve(signal ? `signal ${signal}` : `exit code ${code}`));
    });
    const killedForMemory = await this.#removeCgroup();
    const outOfMemory = killedForMemory || V8_OUT_OF_MEMORY.test(this.#complaint);
    const complaint = this.#complaint.trim().split("\n")[0];
    return { how: complaint ? `${how}: ${complaint}` : how, outOfMemory };
  }

  async #removeCgroup(): Promise<boolean> {
    if (!this.#cgroup) return false;
    try {
      return await this.#cgroup.ranOutOfMemory();
    } catch {
      // A group that cannot be read changes nothing for the run that is being answered.
      return false;
    } finally {
      await this.#cgroup.remove().catch(() => {});
    }
  }
}

function killProcess(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It was gone already.
  }
}

async function findBubblewrap(): Promise<string> {
  for (const folder of (process.env["PATH"] ?? "").split(path.delimiter)) {
    const found = await realpath(path.join(folder, "bwrap")).catch(() => null);
    if (found) return found;
  }
  throw new Error("bubblewrap is not installed; on Debian and Ubuntu: sudo apt-get install -y bubblewrap");
}

/** Set by the shell, before bwrap: no core files, few descriptors, no file beyond the size of /tmp. */
function rlimits(options: NamespacesOptions, memoryIsHeld: boolean): string[] {
  const limits: Record<string, number> = { c: 0, n: MAX_DESCRIPTORS, f: Math.ceil(options.tmpBytes / 512) };
  // Only where no control group holds memory: under it a worker thread does not start, for want of a code range.
  if (!memoryIsHeld) limits["d"] = Math.ceil((options.memoryBytes + DATA_HEADROOM_BYTES) / 1_024);
  const steps = Object.entries(limits).map(([letter, value]) => `ulimit -${letter} ${value}`);
  return ["/bin/sh", "-c", `${steps.join(" && ")} && exec "$0" "$@"`];
}

async function bwrapArguments(folder: RunFolder, options: NamespacesOptions): Promise<string[]> {
  const binds = [folder.node, "/bin/node"];
  for (const library of await sharedLibraries(folder.node)) binds.push(await realpath(library), library);
  binds.push(path.join(folder.program, "guest"), "/guest/guest", path.join(folder.program, "wire"), "/guest/wire");
  // V8's heap ends before the control group does, so that its own words say what happened.
  const heapMiB = Math.floor((options.memoryBytes * 0.75) / 2 ** 20);
  return [
    ...["--unshare-user", "--disable-userns", "--uid", "1000", "--gid", "1000", "--unshare-all"],
    ...["--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv", "--hostname", "task", "--as-pid-1"],
    ...pairs(binds).flatMap(([from, to]) => ["--ro-bind", from, to]),
    ...[
      "--perms",
      "1777",
      "--size",
      String(options.tmpBytes),
      "--tmpfs",
      "/tmp",
      "--remount-ro",
      "/",
      "--chdir",
      "/tmp",
    ],
    ...["--info-fd", String(INFO), "--seccomp", String(FILTER), "--"],
    ...[
      "/bin/node",
      "--no-addons",
      "--v8-pool-size=1",
      `--max-old-space-size=${heapMiB}`,
      "/guest/guest/main.js",
      String(options.resultBytes),
    ],
  ];
}

/** What the dynamic loader needs, as ldd(1) prints it: `name => path (address)` or `path (address)`. */
async function sharedLibraries(program: string): Promise<string[]> {
  const { stdout } = await promisify(execFile)("ldd", [program]);
  return [...stdout.matchAll(/(?:=> )?(\/\S+) \(0x/g)].map((match) => match[1]!);
}

function pairs(list: readonly string[]): [string, string][] {
  return Array.from({ length: list.length / 2 }, (_, index) => [list[2 * index]!, list[2 * index + 1]!]);
}
