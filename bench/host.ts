import { readFile } from "node:fs/promises";

/** Ticks of all processors since the start of the machine. */
export interface HostTicks {
  readonly stolen: number;
  readonly total: number;
}

/** Returns the ticks that the host of a virtual machine has taken so far (`steal` of proc_stat(5)); 0 without a host. */
export async function hostTicks(): Promise<HostTicks> {
  const [, ...fields] = (await readFile("/proc/stat", "latin1")).split("\n", 1)[0]!.split(/\s+/);
  // The two fields after `steal` are parts of earlier fields.
  const ticks = fields.slice(0, 8).map(Number);
  return { stolen: ticks[7] ?? 0, total: ticks.reduce((sum, each) => sum + each, 0) };
}

/** Returns the part of the machine that its host took between two moments, from 0 to 1. */
export function hostShare(before: HostTicks, after: HostTicks): number {
  return (after.stolen - before.stolen) / Math.max(1, after.total - before.total);
}
