import type { Held, Priority } from "../sandbox.ts";

/** What one guest may use. */
export interface ResourceLimits {
  readonly memoryBytes: number;
  readonly threads: number;
  readonly cpuCores: number;
}

/** Makes control groups below the service's own (cgroups(7)). */
export interface Cgroups {
  readonly version: 1 | 2;
  /** Whether CPU is among what they limit: memory and threads always are. */
  readonly limitsCpu: boolean;
  create(name: string): Promise<Cgroup>;
  /**
   * Has the processes of the service come before guests where CPU is short. Never fails: where it cannot be done, it is not.
   */
  prefer(pids: readonly number[]): Promise<void>;
  /**
   * Has a guest that is being started take its CPU from what all guests share. Until it is in its own group it would else
   * have as much as who starts it. Never fails, as above.
   */
  begin(pid: number): Promise<void>;
  /** All groups that were made must be removed. */
  close(): Promise<void>;
}

export interface Cgroup {
  /** What a process holds already stays with the group that it came from. */
  add(pid: number): Promise<void>;
  setPriority(priority: Priority): Promise<void>;
  /** Whether the kernel killed a member for want of memory. */
  ranOutOfMemory(): Promise<boolean>;
  /** Works once no member is left. */
  remove(): Promise<void>;
}

export function heldBy(cgroups: Cgroups | null): Held {
  return { memory: cgroups !== null, cpu: cgroups?.limitsCpu ?? false };
}

/** How the name of a guest's group begins; what follows tells whose it is, and which guest's. */
export const GUEST_GROUP = "caisson-guest-";

/**
 * How the name of the group begins that all guests of a service are in, as far as CPU goes. Side by side with the service,
 * many guests that burn would together outweigh it, however little each weighs.
 */
export const ALL_GUESTS_GROUP = "caisson-guests-";

/**
 * How the name of the group begins that guests are in while they come after all others, where a process can be moved for
 * its CPU alone: whatever they burn among the others would be taken from what all guests share.
 */
export const LAST_GUESTS_GROUP = "caisson-last-";

/** Below that of all guests: those that keep using the processor, where a process can be moved for its CPU alone. */
export const BUSY_GROUP = "busy";

/** Below that of all guests: those that are being started. */
export const STARTING_GROUP = "starting";

/** How the name of the group begins that the service is in, and who starts its guests, as far as CPU goes. */
export const SERVICE_GROUP = "caisson-service-";
