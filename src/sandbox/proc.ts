import { readFileSync } from "node:fs";

import type { GuestStatus } from "./sandbox.ts";

/** USER_HZ, the unit of times in /proc; 100 on every Linux that Node runs on. */
const TICK_MS = 10;
const PAGE_BYTES = 4_096;
/** The stack that the kernel has for each thread, on x64 and on arm64. */
const KERNEL_STACK_BYTES = 16_384;

/**
 * Reads `/proc/<pid>/task/<pid>/stat`, `/proc/<pid>/stat` and `/proc/<pid>/status` (proc(5)), or null when there is no such process. At once: the
 * kernel makes them up in some microseconds, and the threads that would read them beside may all wait for a control group.
 */
export function processStatus(pid: number): GuestStatus | null {
  try {
    const thread = readFileSync(`/proc/${pid}/task/${pid}/stat`, "latin1");
    const whole = readFileSync(`/proc/${pid}/stat`, "latin1");
    return parseStat(thread, whole, readFileSync(`/proc/${pid}/status`, "latin1"));
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

/**
 * Parses what the kernel reports of a process. Its memory is what is resident, what was swapped out, and what the kernel
 * keeps for it: page tables, of which a process has gigabytes without a resident page, and the stacks of its threads.
 *
 * @param stat of the main thread.
 * @param whole the same of the process.
 * @param status of the process.
 */
export function parseStat(stat: string, whole: string, status: string): GuestStatus {
  // The title is in parentheses and may hold any: the last one ends it.
  const titleEnd = stat.lastIndexOf(")");
  const fields = fieldsOf(stat);
  const threads = Number(fields[17]);
  const resident = Number(fields[21]) * PAGE_BYTES;
  return {
    pid: Number.parseInt(stat, 10),
    title: stat.slice(stat.indexOf("(") + 1, titleEnd),
    state: fields[0]!,
    cpuMs: cpuOf(fields),
    processCpuMs: cpuOf(fieldsOf(whole)),
    threads,
    memoryBytes: resident + bytesOf(status, PAGE_TABLES) + bytesOf(status, SWAPPED) + threads * KERNEL_STACK_BYTES,
  };
}

// Line feeds, and not `^`: the title of the process stands before them, in which the kernel escapes no carriage return.
const PAGE_TABLES = /\nVmPTE:\s+(\d+) kB\n/;
const SWAPPED = /\nVmSwap:\s+(\d+) kB\n/;

function bytesOf(status: string, member: RegExp): number {
  return Number(member.exec(status)?.[1] ?? 0) * 1_024;
}

/** Those after the title. */
function fieldsOf(stat: string): string[] {
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

function cpuOf(fields: readonly string[]): number {
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}
