import { readFileSync } from "node:fs";

import type { GuestStatus } from "./sandbox.ts";

/** USER_HZ, the unit of times in /proc; 100 on every Linux that Node runs on. */
const TICK_MS = 10;
const PAGE_BYTES = 4_096;

/**
 * Reads `/proc/<pid>/task/<pid>/stat` and `/proc/<pid>/stat` (proc(5)), or null when there is no such process. At once: the
 * kernel makes them up in some microseconds, and the threads that would read them beside may all wait for a control group.
 */
export function processStatus(pid: number): GuestStatus | null {
  try {
    const thread = readFileSync(`/proc/${pid}/task/${pid}/stat`, "latin1");
    return parseStat(thread, readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    return null;
  }
}

/** The processor time of a process and of all its threads, or null when there is no such process. */
export function processTimeMs(pid: number): number | null {
  try {
    return cpuOf(fieldsOf(readFileSync(`/proc/${pid}/stat`, "latin1")));
  } catch {
    return null;
  }
}

/** @param stat of the main thread. @param whole of the process. */
export function parseStat(stat: string, whole: string): GuestStatus {
  // The title is in parentheses and may hold any: the last one ends it.
  const titleEnd = stat.lastIndexOf(")");
  const fields = fieldsOf(stat);
  return {
    pid: Number.parseInt(stat, 10),
    title: stat.slice(stat.indexOf("(") + 1, titleEnd),
    state: fields[0]!,
    cpuMs: cpuOf(fields),
    processCpuMs: cpuOf(fieldsOf(whole)),
    threads: Number(fields[17]),
    memoryBytes: Number(fields[21]) * PAGE_BYTES,
  };
}

/** Those after the title. */
function fieldsOf(stat: string): string[] {
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

function cpuOf(fields: readonly string[]): number {
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}
