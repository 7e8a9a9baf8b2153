import { spawn, type ChildProcess, type SpawnOptions } from "node:child_process";
import { writeFile } from "node:fs/promises";
import type { Socket } from "node:net";
import { setTimeout } from "node:timers/promises";

import type { Cgroup, Cgroups } from "./cgroup/cgroup.ts";
import type { StartedGuest } from "./local-sandbox.ts";
import { processStatus } from "./proc.ts";
import type { GuestExit, GuestStatus, Priority } from "./sandbox.ts";
import { killProcess } from "./temp/stale-folders.ts";

/** Descriptors of a guest, by their place in `stdio`. */
const STDERR = 2;
const FRAMES = 3;

const STDERR_BYTES = 16_384;
const MOVE_RETRY_MS = 1_000;
const V8_OUT_OF_MEMORY = /out of memory|heap limit/i;

export interface GuestCommand {
  readonly program: string;
  readonly words: readonly string[];
  /** Descriptors beyond the frames, as `spawn` takes them. */
  readonly more: readonly ("pipe" | number)[];
  /** Whose process it is, on the host. */
  readonly identity: { readonly uid?: number; readonly gid?: number };
  readonly environment: Readonly<Record<string, string>>;
  readonly cwd: string;
}

/** @throws {Error} when no process could be started. */
export function spawnGuest(command: GuestCommand, frames: "pipe" | Socket): ChildProcess {
  const options: SpawnOptions = {
    // No null device: its inode is the host's, and its times would be a channel between guests.
    stdio: ["pipe", "pipe", "pipe", frames, ...command.more],
    cwd: command.cwd,
    env: command.environment,
    // A process group of its own: Ctrl-C in the service's terminal must not end runs that are being let finish, and by it
    // a guest can be ended that has no id yet.
    detached: true,
    ...command.identity,
  };
  const child = spawn(command.program, command.words, options);
  if (child.pid !== undefined) return withoutInput(child);
  // Out of descriptors or processes, the child has nothing that could be listened to.
  child.once("error", () => {});
  throw new Error("no process could be started");
}

/** Ends the standard input, and discards the standard output. */
function withoutInput(child: ChildProcess): ChildProcess {
  child.stdin!.on("error", () => {}).destroy();
  child.stdout!.on("error", () => {}).resume();
  return child;
}

/** A guest as a child of this process, whichever level made it. */
export class GuestChild implements StartedGuest {
  readonly socket: Socket | null;
  readonly exited: Promise<GuestExit>;
  readonly #child: ChildProcess;
  readonly #explain: (code: number) => string | null;
  #sealed = false;
  readonly #createCgroup: (() => Promise<Cgroup>) | null;
  /** The guest's pid, as the host counts; bubblewrap's own is another. */
  readonly #pid: Promise<number>;
  /** Whether it starts where guests start. */
  readonly #begun: Promise<void>;
  #knownPid: number | null = null;
  /** Its pid may be another's by now. */
  #gone = false;
  /** Also one that is being made: a guest may end meanwhile. */
  #cgroup: Promise<Cgroup> | null = null;
  /** What it is to have, and what it has. */
  #wanted: Priority = "high";
  #priority: Priority = "high";
  #moving = false;
  #complaint = "";

  /** @param explain says in words what an exit code of a guest means that was never sealed, or gives null. */
  constructor(
    child: ChildProcess,
    pid: Promise<number>,
    cgroups: Cgroups | null,
    name: string,
    explain: (code: number) => string | null = () => null,
  ) {
    this.#child = child;
    this.#explain = explain;
    this.#createCgroup = cgroups && (() => cgroups.create(name));
    child.once("close", () => (this.#gone = true));
    child.once("exit", (_, signal) => {
      if (signal !== null) this.#endOrphan();
    });
    this.socket = child.stdio[FRAMES] as Socket | null;
    // What goes wrong with the socket shows as the end of the process.
    this.socket?.on("error", () => {});
    this.#pid = pid.then((known) => (this.#knownPid = known));
    this.#begun = this.#pid.then(
      (known) => {
        // bubblewrap's own: with it go the namespaces, which may take a tenth of a second.
        if (known !== child.pid && !this.#gone) void cgroups?.begin(child.pid!);
        return cgroups?.begin(known);
      },
      () => {},
    );
    (child.stdio[STDERR] as Socket).setEncoding("utf8").on("data", (chunk: string) => {
      if (this.#complaint.length < STDERR_BYTES) this.#complaint += chunk.slice(0, STDERR_BYTES);
    });
    this.exited = this.#waitForExit();
  }

  async seal(): Promise<void> {
    const pid = await this.#pid;
    this.#sealed = true;
    await dieFirst(pid);
    // Else it might be put there last.
    await this.#begun;
    if (this.#gone) throw new Error("the guest ended before it could be put under its limits");
    if (!this.#createCgroup) return;
    // Its end may come meanwhile, and waits for the group to be there: else nobody would remove it.
    this.#cgroup = this.#createCgroup();
    await (await this.#cgroup).add(pid);
  }

  setPriority(priority: Priority): void {
    this.#wanted = priority;
    if (!this.#moving) void this.#move();
  }

  async inspect(): Promise<GuestStatus | null> {
    return this.#knownPid === null || this.#gone ? null : processStatus(this.#knownPid);
  }

  /** To where the last word says. What fails is tried again: else a guest might stay behind all others for nothing. */
  async #move(): Promise<void> {
    this.#moving = true;
    while (this.#wanted !== this.#priority && !this.#gone) {
      const wanted = this.#wanted;
      try {
        // Before it is sealed it has none yet.
        if (this.#createCgroup) await (await this.#cgroup)!.setPriority(wanted);
        this.#priority = wanted;
      } catch {
        await setTimeout(MOVE_RETRY_MS, null, { ref: false });
      }
    }
    this.#moving = false;
  }

  kill(): void {
    if (this.#gone) return;
    // Process 1 of a PID namespace takes all others with it, and bwrap goes when it has gone. Until it is known they share
    // a process group: bwrap killed alone leaves behind a child that waits for it for ever.
    killProcess(this.#knownPid ?? -this.#child.pid!);
  }

  /**
   * bwrap was killed. A guest ends with it, but for a moment of its start: before it has asked the kernel to be, it stays,
   * be it that it waits for bwrap for ever or that it goes on without.
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
      // `close` and not `exit`: by then stderr has been read to its end.
      this.#child.once("close", (code, signal) => resolve(signal ? `signal ${signal}` : this.#tell(code!)));
    });
    const killedForMemory = await this.#removeCgroup();
    const outOfMemory = killedForMemory || V8_OUT_OF_MEMORY.test(this.#complaint);
    const complaint = this.#complaint.trim().split("\n")[0];
    return { how: complaint ? `${how}: ${complaint}` : how, outOfMemory };
  }

  /** What a task ends its guest with means nothing. */
  #tell(code: number): string {
    return (this.#sealed ? null : this.#explain(code)) ?? `exit code ${code}`;
  }

  async #removeCgroup(): Promise<boolean> {
    const cgroup = await this.#cgroup?.catch(() => null);
    if (!cgroup) return false;
    try {
      return await cgroup.ranOutOfMemory();
    } catch {
      // A group that cannot be read changes nothing for the run that is being answered.
      return false;
    } finally {
      await cgroup.remove().catch(() => {});
    }
  }
}

/** A host that runs out of memory ends a guest rather than the service (proc_pid_oom_score_adj(5)). */
async function dieFirst(pid: number): Promise<void> {
  // Another system than Linux has no such file, and a hardened one may not let a user write it.
  await writeFile(`/proc/${pid}/oom_score_adj`, "1000").catch(() => {});
}
