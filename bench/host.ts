import { readFile } from "node:fs/promises";

/** Ticks of all processors since the machine began. */
export interface HostTicks {
  readonly stolen: number;
  readonly total: number;
}

/** What a virtual machine's host has kept for itself so far (`steal` of proc_stat(5)); nothing where there is no host. */
export async function hostTicks(): Promise<HostTicks> {
  const [, ...fields] = (await readFile("/proc/stat", "latin1")).split("\n", 1)[0]!.split(/\s+/);
  // The two after `steal` are parts of those before.
  const ticks = fields.slice(0, 8).map(Number);
  return { stolen: ticks[7] ?? 0, total: ticks.reduce((sum, each) => sum + each, 0) };
}

/** Part of the machine that its host took between two moments, from 0 to 1. */
export function hostShare(before: HostTicks, after: HostTicks): number {
  return (after.stolen - before.stolen) / Math.max(1, after.total - before.total);
}
