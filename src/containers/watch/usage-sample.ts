import type { GuestHandle, GuestStatus, Held, Priority } from "../../sandbox/sandbox.ts";

/** The figures of the kernel and the service for a guest at one moment. All judges of the monitor read only this. */
export interface UsageSample extends GuestStatus {
  /** The time of the tick that requested the sample. */
  readonly askedMs: number;
  /** When the kernel's figures arrived. Under a launcher this is later than `askedMs`. */
  readonly atMs: number;
  /** The number of runs that the guest had received when the sample was requested. */
  readonly runs: number;
}

/** The due time of a guest that needs no sample. */
export const NEVER_DUE: number = Number.POSITIVE_INFINITY;

/** What a judge may read of a guest to decide when the guest's next sample is due. `Guest` has all of it. */
export interface GuestFacts {
  readonly inFlight: { readonly size: number };
  readonly runs: number;
  /** When it received its first run; infinite before. */
  readonly begunMs: number;
  readonly warm: boolean;
  readonly priority: Priority;
  readonly heartbeat: { readonly pingedMs: number | null };
}

/** What a guest may use, and which of it control groups enforce. */
export interface ResourceLimits {
  readonly memoryBytes: number;
  readonly threads: number;
  /** The processor quota of a guest. It may be less than its one main thread could use. */
  readonly cpuCores: number;
  /** The limits that control groups enforce. The monitor enforces the others. */
  readonly held: Held;
  /** Without a control group for the processor, a guest may exceed its average quota for at most this time. */
  readonly cpuWindowMs?: number;
}

/**
 * Takes a sample. Only `inspect` depends on the source of the figures.
 *
 * @param nowMs the time of the tick.
 * @param clock returns the time when the figures have arrived.
 * @returns null if the guest has no process, or not yet.
 */
export async function sample(
  guest: { readonly runs: number; readonly process: Pick<GuestHandle, "inspect"> },
  nowMs: number,
  clock: () => number,
): Promise<UsageSample | null> {
  const { runs } = guest;
  const status = await guest.process.inspect();
  return status && { ...status, askedMs: nowMs, atMs: clock(), runs };
}
