import type { Socket } from "node:net";

import type { Check } from "./self-test/check.ts";

/** The levels of the ladder, strongest first. */
export type IsolationLevel = "namespaces" | "confined" | "none";

/** What a wall is, for people and for whoever relies on it. */
export interface SandboxFacts {
  readonly level: IsolationLevel;
  /** What it is made of, in words. */
  readonly mechanisms: string;
  /** Why no stronger level was taken, in one line; null when this one was asked for, or there is no stronger. */
  readonly fallbackReason: string | null;
  /** How memory, threads and CPU are held, for people: `cgroup v2`, or the weaker means. */
  readonly resources: string;
  readonly held: Held;
  /** What its layers have shown one by one as it was opened: by whoever may make them. */
  readonly layers: readonly Check[];
}

/** What control groups hold of each guest; the service has to watch what they do not. */
export interface Held {
  /** And threads: neither is held without the other. */
  readonly memory: boolean;
  /** By a quota and by weights. Some hosts pass on memory and threads alone. */
  readonly cpu: boolean;
}

/** The seam: something that starts guest processes behind a wall. */
export interface Sandbox {
  readonly facts: SandboxFacts;
  /**
   * Starts a guest. It runs only our code until it is given some.
   *
   * @throws {Error} when no process could be started.
   */
  launch(): Promise<GuestProcess>;
  /** Ends the guests that are left and removes what the level made. */
  close(): Promise<void>;
}

/** One process behind the wall. */
export interface GuestProcess extends GuestHandle {
  /** Frames, both ways. Hostile from the moment that submitted code has run. */
  readonly socket: Socket;
}

/** What may be done to a guest, and known of it, from outside. */
export interface GuestHandle {
  /** Settles when the process is gone and never rejects. */
  readonly exited: Promise<GuestExit>;
  /**
   * Puts the guest under its resource limits. Called once, after it said that it is ready and before it gets code.
   *
   * @throws {Error} when it cannot be done.
   */
  seal(): Promise<void>;
  /**
   * How much CPU it gets beside others, where a control group gives it. Never fails: what cannot be set is left as it is.
   */
  setPriority(priority: Priority): void;
  /** What the kernel says of the process now, or null when it is gone. */
  inspect(): Promise<GuestStatus | null>;
  /** Ends it at once. */
  kill(): void;
}

/**
 * `high` is what every guest begins with: who is given one may wait for it, in place of one that was lost. `busy` is for
 * one that goes on using most of a processor: those that need it now and then come first. `low` is for one that holds it
 * and answers nobody: what others ask comes first.
 */
export type Priority = (typeof PRIORITIES)[number];
export const PRIORITIES = ["high", "normal", "busy", "low"] as const;

export interface GuestExit {
  /** In words, for the log. */
  readonly how: string;
  readonly outOfMemory: boolean;
  /** Whether it was ended because it had used more than its temporary disk, where the kernel does not hold that. */
  readonly outOfDisk?: boolean;
}

/** Of the guest's main thread, but for what is said to be the whole process's. */
export interface GuestStatus {
  /** As the host counts. */
  readonly pid: number;
  /** One letter as in proc(5): `R` is running or runnable, `S` and `D` are asleep. */
  readonly state: string;
  /** What the guest calls itself; it names the run that it has entered. A task can forge it. */
  readonly title: string;
  /** User and system time. */
  readonly cpuMs: number;
  /** The same of all its threads, those that have ended too. */
  readonly processCpuMs: number;
  /** Of the whole process. */
  readonly threads: number;
  /** Of the whole process. */
  readonly memoryBytes: number;
}
