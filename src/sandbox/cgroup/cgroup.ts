import type { Held, Priority } from "../sandbox.ts";

/** The resources that one guest may use. */
export interface ResourceLimits {
  readonly memoryBytes: number;
  readonly threads: number;
  readonly cpuCores: number;
}

/** Creates control groups below the group of the service (cgroups(7)). */
export interface Cgroups {
  readonly version: 1 | 2;
  /** Whether the groups limit CPU. They always limit memory and threads. */
  readonly limitsCpu: boolean;
  /** @param limits the limits of the group, if they are not those with which the groups were opened. */
  create(name: string, limits?: ResourceLimits): Promise<Cgroup>;
  /** Gives the processes of the service priority over guests if CPU is short. Never fails: if it cannot, it does nothing. */
  prefer(pids: readonly number[]): Promise<void>;
  /**
   * Counts the CPU of a starting guest for the group of all guests. Otherwise the guest would have the priority of the process
   * that starts it until it is in its own group. Never fails: if it cannot, it does nothing.
   */
  begin(pid: number): Promise<void>;
  /** Removes the shared groups. The caller must have removed all groups of guests. */
  close(): Promise<void>;
}

export interface Cgroup {
  /** Moves a process into the group. Memory that the process already uses stays counted for its previous group. */
  add(pid: number): Promise<void>;
  setPriority(priority: Priority): Promise<void>;
  /** Returns whether the kernel killed a member because the group was out of memory. */
  ranOutOfMemory(): Promise<boolean>;
  /** Removes the group. Works only without members. */
  remove(): Promise<void>;
}

export function heldBy(cgroups: Cgroups | null): Held {
  return { memory: cgroups !== null, cpu: cgroups?.limitsCpu ?? false };
}

/** The prefix of the name of a guest's group. The tag of the service's process and the number of the guest follow. */
export const GUEST_GROUP = "caisson-guest-";

/**
 * The prefix of the name of the CPU group for all guests of a service. Without it, many busy guests together would have a
 * larger weight than the service, even if each has a small weight.
 */
export const ALL_GUESTS_GROUP = "caisson-guests-";

/**
 * The prefix of the name of the CPU group for guests with the lowest priority. Used if a process can be moved for CPU alone.
 * It is outside the group for all guests, because CPU used inside is taken from the share of all guests.
 */
export const LAST_GUESTS_GROUP = "caisson-last-";

/** The group of busy guests, below the group for all guests. Used if a process can be moved for CPU alone. */
export const BUSY_GROUP = "busy";

/** The group of starting guests, below the group for all guests. */
export const STARTING_GROUP = "starting";

/** The prefix of the name of the CPU group for the service and the launcher. */
export const SERVICE_GROUP = "caisson-service-";
