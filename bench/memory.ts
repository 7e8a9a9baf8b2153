import { readFile } from "node:fs/promises";

import { median } from "./figures.ts";
import type { MeasuredService } from "./processes.ts";

const KIB_PER_MIB = 1_024;
const STEP_MS = 100;

/** Returns the resident memory of one process, in MiB. */
export async function residentMiB(pid: number): Promise<number> {
  return field(await readFile(`/proc/${pid}/status`, "latin1"), "VmRSS");
}

/**
 * Returns the proportional share of memory (PSS) of one process, in MiB: pages that several processes share count in parts.
 *
 * @throws {Error} if this user may not read it
 */
export async function proportionalMiB(pid: number): Promise<number> {
  return field(await readFile(`/proc/${pid}/smaps_rollup`, "latin1"), "Pss");
}

/** Returns the proportional share of memory of a guest: the median of the `count` largest. The pool has smaller ones. */
export async function guestMiB(service: MeasuredService, count: number): Promise<number> {
  const guests = (await service.trail.processes()).filter(({ kind }) => kind === "guest");
  if (guests.length < count) throw new Error(`the service has ${guests.length} guests in a sandbox, and not ${count}`);
  const all = await Promise.all(guests.map(({ pid }) => proportionalMiB(pid)));
  return median(all.toSorted((one, other) => other - one).slice(0, count));
}

/** Returns the proportional share of memory of a service with all its guests and helpers. */
export async function wholeMiB(service: MeasuredService): Promise<number> {
  const pids = new Set((await service.trail.processes()).map(({ pid }) => pid).concat(service.pid));
  let sum = 0;
  // One after the other: the kernel computes each from all pages of the process.
  for (const pid of pids) sum += await proportionalMiB(pid).catch(() => 0);
  return sum;
}

/** Measures the maximum resident memory of a process while something happens. */
export async function peakMiB<Result>(
  pid: number,
  during: () => Promise<Result>,
): Promise<{ peakMiB: number; result: Result }> {
  let peak = await residentMiB(pid);
  const timer = setInterval(() => {
    residentMiB(pid).then(
      (mib) => (peak = Math.max(peak, mib)),
      () => {},
    );
  }, STEP_MS);
  try {
    const result = await during();
    return { peakMiB: Math.max(peak, await residentMiB(pid)), result };
  } finally {
    clearInterval(timer);
  }
}

function field(text: string, name: string): number {
  const found = new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(text)?.[1];
  if (found === undefined) throw new Error(`the kernel does not report ${name}`);
  return Number(found) / KIB_PER_MIB;
}
