import { spawn, type ChildProcess, type SpawnOptions } from "node:child_process";
import { writeFile } from "node:fs/promises";
import type { Socket } from "node:net";
import { setTimeout } from "node:timers/promises";

import { type Cgroup, type Cgroups, heldBy, type ResourceLimits } from "./cgroup/cgroup.ts";
import type { StartedGuest } from "./local-sandbox.ts";
import { GuestNiceness } from "./niceness.ts";
import { printedStack } from "./printed-stack.ts";
import { processStatus, processUse, tmpfsBytesOf } from "./proc.ts";
import type { GuestExit, GuestStatus, GuestUse, Priority } from "./sandbox.ts";
import { killProcess } from "./temp/stale-folders.ts";

/** Descriptors of a guest: indexes of `stdio`. */
const STDERR = 2;
const FRAMES = 3;

/** The maximum length of a guest's standard error that is kept, in UTF-16 units. A guest can write without end. */
const STDERR_BYTES = 16_384;
/** The delay, in milliseconds, after which a failed change of priority is tried again. */
const MOVE_RETRY_MS = 1_000;
const V8_OUT_OF_MEMORY = /out of memory|heap limit/i;

export interface GuestCommand {
  readonly program: string;
  readonly args: readonly string[];
  /** The entries of `stdio` after the frames. */
  readonly extraStdio: readonly ("pipe" | number)[];
  /** The host user of the process; empty for the user of this process. */
  readonly identity: { readonly uid?: number; readonly gid?: number };
  readonly environment: Readonly<Record<string, string>>;
  readonly cwd: string;
}

/** @throws {Error} if no process can be started. */
export function spawnGuest(command: GuestCommand, frames: "pipe" | Socket): ChildProcess {
  const options: SpawnOptions = {
    // Pipes and not the null device: guests could communicate by the times of its inode, which all guests share.
    stdio: ["pipe", "pipe", "pipe", frames, ...command.extraStdio],
    cwd: command.cwd,
    env: command.environment,
    // A separate process group. Ctrl-C in the service's terminal must not end guests while the service lets their runs
    // finish. The group also allows this process to kill a guest whose pid is not yet known.
    detached: true,
    ...command.identity,
  };
  const child = spawn(command.program, command.args, options);
  if (child.pid !== undefined) return withoutInput(child);
  // If the system is out of descriptors or processes, the child has no streams.
  child.once("error", () => {});
  throw new Error("no process could be started");
}

/** Ends the standard input, and discards the standard output. */
function withoutInput(child: ChildProcess): ChildProcess {
  child.stdin!.on("error", () => {}).destroy();
  child.stdout!.on("error", () => {}).resume();
  return child;
}

/** What differs between the isolation levels and the kinds of guests. */
export interface GuestOptions {
  /** Returns the meaning of an exit code of a guest that was never sealed, or null. */
  readonly explain?: (code: number) => string | null;
  /** The limits of its group, if they are not those of tasks. */
  readonly limits?: ResourceLimits;
  /** Whether its /tmp is a tmpfs that no other process uses. */
  readonly hasTmpfs?: boolean;
  /** The file of the stub, or null if the guest has the user of this process. */
  readonly stub?: string | null;
}

/** A guest that is a child process of this process, at any isolation level. */
export class GuestChild implements StartedGuest {
  readonly socket: Socket | null;
  readonly exited: Promise<GuestExit>;
  readonly #child: ChildProcess;
  readonly #explain: (code: number) => string | null;
  readonly #hasTmpfs: boolean;
  #sealed = false;
  readonly #createCgroup: (() => Promise<Cgroup>) | null;
  /** The guest's pid in the host's PID namespace. Under bubblewrap it differs from the pid of the child. */
  readonly #pid: Promise<number>;
  /** Settles when the guest has been put into the group of starting guests. */
  readonly #begun: Promise<void>;
  #knownPid: number | null = null;
  /** Whether the guest has ended. Its pid may then belong to another process. */
  #gone = false;
  /** The guest's control group. A promise, because the guest may end while the group is being created. */
  #cgroup: Promise<Cgroup> | null = null;
  #wantedPriority: Priority = "high";
  #priority: Priority = "high";
  #isMoving = false;
  /** Its share if no control group limits its CPU, otherwise null. */
  readonly #niceness: GuestNiceness | null;
  #stderr = "";

  /** @param name the name of its control group */
  constructor(
    child: ChildProcess,
    pid: Promise<number>,
    cgroups: Cgroups | null,
    name: string,
    { explain = () => null, limits, hasTmpfs = false, stub = null }: GuestOptions = {},
  ) {
    this.#child = child;
    this.#hasTmpfs = hasTmpfs;
    this.#explain = explain;
    this.#createCgroup = cgroups && (() => cgroups.create(name, limits));
    this.#niceness = heldBy(cgroups).cpu ? null : new GuestNiceness(stub);
    child.once("close", () => (this.#gone = true));
    child.once("exit", () => this.#niceness?.end());
    child.once("exit", (_, signal) => {
      if (signal !== null) this.#endOrphan();
    });
    this.socket = child.stdio[FRAMES] as Socket | null;
    // Errors of the socket are ignored, because the end of the process reports them.
    this.socket?.on("error", () => {});
    this.#pid = pid.then((guestPid) => (this.#knownPid = guestPid));
    this.#begun = this.#pid.then(
      (guestPid) => {
        if (!this.#gone) this.#niceness?.begin(guestPid);
        // Under bubblewrap the child is another process. Its end also removes the namespaces, which can take 100 ms.
        if (guestPid !== child.pid && !this.#gone) void cgroups?.begin(child.pid!);
        return cgroups?.begin(guestPid);
      },
      () => {},
    );
    (child.stdio[STDERR] as Socket).setEncoding("utf8").on("data", (chunk: string) => {
      if (this.#stderr.length < STDERR_BYTES) this.#stderr += chunk.slice(0, STDERR_BYTES);
    });
    this.exited = this.#waitForExit();
  }

  async seal(): Promise<void> {
    const pid = await this.#pid;
    this.#sealed = true;
    await preferForOomKill(pid);
    // Otherwise the guest might be moved to the group of starting guests after it is moved to its own group.
    await this.#begun;
    if (this.#gone) throw new Error("the guest ended before it could be put under its limits");
    this.#niceness?.seal();
    if (!this.#createCgroup) return;
    // If the guest ends now, `#removeCgroup` waits until the group exists. Otherwise the group would remain.
    this.#cgroup = this.#createCgroup();
    await (await this.#cgroup).add(pid);
  }

  setPriority(priority: Priority): void {
    this.#niceness?.setPriority(priority);
    this.#wantedPriority = priority;
    if (!this.#isMoving) void this.#applyPriority();
  }

  async inspect(): Promise<GuestStatus | null> {
    const status = this.#knownPid === null || this.#gone ? null : processStatus(this.#knownPid);
    if (status) this.#niceness?.observe(status);
    return status;
  }

  async measure(): Promise<GuestUse | null> {
    return this.#knownPid === null || this.#gone ? null : processUse(this.#knownPid);
  }

  async tmpfsBytes(): Promise<number> {
    return !this.#hasTmpfs || this.#knownPid === null || this.#gone ? 0 : tmpfsBytesOf(this.#knownPid);
  }

  /** Applies the latest priority. Retries after an error: otherwise a guest might keep a low priority without a reason. */
  async #applyPriority(): Promise<void> {
    this.#isMoving = true;
    while (this.#wantedPriority !== this.#priority && !this.#gone) {
      const wanted = this.#wantedPriority;
      try {
        // A guest has no group before it is sealed, so this throws and is tried again.
        if (this.#createCgroup) await (await this.#cgroup)!.setPriority(wanted);
        this.#priority = wanted;
      } catch {
        await setTimeout(MOVE_RETRY_MS, null, { ref: false });
      }
    }
    this.#isMoving = false;
  }

  async interrupt(): Promise<string> {
    if (this.#gone || this.#knownPid === null) return "";
    const stack = printedStack(this.#child.stdio[STDERR] as Socket);
    killProcess(this.#knownPid, "SIGINT");
    return stack;
  }

  kill(): void {
    if (this.#gone) return;
    // The end of process 1 of a PID namespace ends all its processes, and then bwrap ends. While its pid is unknown, kill the
    // process group: if bwrap is killed alone, its child waits for it for ever.
    killProcess(this.#knownPid ?? -this.#child.pid!);
  }

  /**
   * Kills the guest after bwrap was killed. Normally the kernel ends the guest with bwrap. Early in its start the guest has
   * not yet requested that: it then waits for bwrap for ever, or continues without it.
   */
  #endOrphan(): void {
    killProcess(-this.#child.pid!);
    const end = (pid: number): void => {
      if (!this.#gone && pid !== this.#child.pid) killProcess(pid);
    };
    this.#pid.then(end, () => {});
  }

  async #waitForExit(): Promise<GuestExit> {
    const how = await new Promise<string>((resolve) => {
      this.#child.once("error", (error) => resolve(error.message));
      // `close` and not `exit`, because stderr has then been read to its end.
      this.#child.once("close", (code, signal) => resolve(signal ? `signal ${signal}` : this.#describe(code!)));
    });
    const killedForMemory = await this.#removeCgroup();
    const outOfMemory = killedForMemory || V8_OUT_OF_MEMORY.test(this.#stderr);
    const firstLine = this.#stderr.trim().split("\n")[0];
    return { how: firstLine ? `${how}: ${firstLine}` : how, outOfMemory };
  }

  /** Describes an exit code. The code of a sealed guest has no meaning, because a task may have chosen it. */
  #describe(code: number): string {
    return (this.#sealed ? null : this.#explain(code)) ?? `exit code ${code}`;
  }

  async #removeCgroup(): Promise<boolean> {
    const cgroup = await this.#cgroup?.catch(() => null);
    if (!cgroup) return false;
    try {
      return await cgroup.ranOutOfMemory();
    } catch {
      // If the group cannot be read, the run is answered as if memory was not the cause.
      return false;
    } finally {
      await cgroup.remove().catch(() => {});
    }
  }
}

/** Makes a host that is out of memory kill the guest rather than the service (proc_pid_oom_score_adj(5)). */
async function preferForOomKill(pid: number): Promise<void> {
  // Systems other than Linux do not have this file, and a hardened system may not allow a user to write it.
  await writeFile(`/proc/${pid}/oom_score_adj`, "1000").catch(() => {});
}
