import type { Socket } from "node:net";

import type { GuestKind } from "./guest-kinds.ts";
import type { Check } from "./self-test/check.ts";

/** The isolation levels, strongest first. */
export type IsolationLevel = "namespaces" | "confined" | "none";

/** Describes an open sandbox, for operators and for the code that relies on it. */
export interface SandboxFacts {
  readonly level: IsolationLevel;
  /** The mechanisms of the level, as text. */
  readonly mechanisms: string;
  /** Why `auto` did not take a stronger level, in one line. Null if the operator chose this level, or it is the strongest. */
  readonly fallbackReason: string | null;
  /** How memory, threads and CPU are limited, for operators: `cgroup v2`, or weaker mechanisms. */
  readonly resources: string;
  readonly held: Held;
  /** The results of the tests of each layer. The process that opened the level made them, because it has the rights. */
  readonly layers: readonly Check[];
}

/** The resources that control groups limit for each guest. The service itself watches the others. */
export interface Held {
  /** Memory and threads: the service uses either both limits or neither. */
  readonly memory: boolean;
  /** CPU, by a quota and by weights. Some hosts delegate only memory and threads. */
  readonly cpu: boolean;
}

/** Starts isolated guest processes. The isolation levels implement this interface. */
export interface Sandbox {
  readonly facts: SandboxFacts;
  /**
   * Starts a guest. The guest runs only code of this project until the service sends it submitted code. The program `esbuild`
   * sends the bytes of esbuild's protocol and no frames.
   *
   * @param kind the default is `task`.
   * @throws {Error} if no process can be started.
   */
  launch(kind?: GuestKind): Promise<GuestProcess>;
  /** Ends the remaining guests and removes the files and groups of the level. */
  close(): Promise<void>;
}

/** One isolated process. */
export interface GuestProcess extends GuestHandle {
  /** The connection for frames, in both directions. All input from it is hostile once submitted code has run. */
  readonly socket: Socket;
}

/** Controls and inspects a guest from outside. */
export interface GuestHandle {
  /** Settles when the process has ended. Never rejects. */
  readonly exited: Promise<GuestExit>;
  /**
   * Puts the guest under its resource limits. Called once, after the guest has reported that it is ready and before it
   * receives code.
   *
   * @throws {Error} if a limit cannot be set.
   */
  seal(): Promise<void>;
  /**
   * Sets the guest's share of CPU. Never fails: if it cannot be set, it stays the same. Without a control group for CPU, `busy` and `low`
   * are the same, and a guest that computes for long at one of them stays slow (`niceness.ts`).
   */
  setPriority(priority: Priority): void;
  /** Returns what the kernel reports about the process, or null if the process has ended. */
  inspect(): Promise<GuestStatus | null>;
  /** Returns what the process has used so far, or null if it has ended. More precise than `inspect`, and more work. */
  measure(): Promise<GuestUse | null>;
  /** Returns the bytes of the guest's files that are in the memory of the machine, because they are in its own tmpfs. */
  tmpfsBytes(): Promise<number>;
  /**
   * Interrupts what the guest executes, which ends it.
   *
   * @returns the stack that Node prints, as hostile text; empty if it prints none soon
   */
  interrupt(): Promise<string>;
  /** Kills the guest immediately. */
  kill(): void;
}

/** What a process has used since it began. */
export interface GuestUse {
  /** The processor time of all threads. The main thread is measured in nanoseconds, others in steps of 10 ms. */
  readonly cpuMs: number;
  /** The peak of its resident memory. */
  readonly memoryPeakBytes: number;
}

/**
 * The share of CPU of a guest, compared with other guests. Every guest starts at `high`, because a run may wait for it
 * after another guest was lost. `busy` is for a guest that keeps using most of a processor, so that guests with short use
 * come first. `low` is for a guest that uses a processor and does not answer, so that all other guests come first.
 */
export type Priority = (typeof PRIORITIES)[number];
export const PRIORITIES = ["high", "normal", "busy", "low"] as const;

export interface GuestExit {
  /** How the process ended, as text for the log. */
  readonly how: string;
  readonly outOfMemory: boolean;
  /** Whether the service killed the guest because it exceeded its temporary disk. Only at levels without a kernel limit. */
  readonly outOfDisk?: boolean;
}

/** The state of the guest's main thread, and of its whole process if the comment of a member states that. */
export interface GuestStatus {
  /** The process id in the host's PID namespace. */
  readonly pid: number;
  /** One letter as in proc(5): `R` is running or runnable, `S` and `D` are asleep. */
  readonly state: string;
  /** The process title, which the guest sets to the run that it has entered. A task can forge it. */
  readonly title: string;
  /** User and system time of the main thread. */
  readonly cpuMs: number;
  /** User and system time of all threads, including ended threads. */
  readonly processCpuMs: number;
  /** The niceness of the main thread. */
  readonly niceness: number;
  /** The number of threads of the whole process. */
  readonly threads: number;
  /** The memory of the whole process. */
  readonly memoryBytes: number;
}
