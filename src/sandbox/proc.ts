import { readFileSync } from "node:fs";
import { statfs } from "node:fs/promises";

import type { GuestStatus, GuestUse } from "./sandbox.ts";

/** USER_HZ, the unit of times in /proc; 100 on every Linux that Node runs on. */
const TICK_MS = 10;
const PAGE_BYTES = 4_096;
/** The type of a tmpfs (statfs(2)). */
const TMPFS_MAGIC = 0x01021994;
/** The size of the kernel's stack for each thread, on x64 and on arm64. */
const KERNEL_STACK_BYTES = 16_384;

/**
 * Reads the status of a process from `/proc/<pid>/task/<pid>/stat`, `/proc/<pid>/stat` and `/proc/<pid>/status` (proc(5)).
 * Reads synchronously, because the kernel needs only microseconds, and all threads of the pool may be waiting for a control
 * group.
 *
 * @returns null if there is no such process.
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

/**
 * Reads what a process has used. The kernel counts the main thread in nanoseconds (`schedstat`, proc(5)), and all threads in
 * ticks.
 *
 * @returns null if there is no such process.
 */
export function processUse(pid: number): GuestUse | null {
  try {
    const main = `/proc/${pid}/task/${pid}`;
    const mainMs = Number(readFileSync(`${main}/schedstat`, "latin1").split(" ", 1)[0]) / 1e6;
    const mainTicksMs = cpuOf(fieldsOf(readFileSync(`${main}/stat`, "latin1")));
    const allTicksMs = cpuOf(fieldsOf(readFileSync(`/proc/${pid}/stat`, "latin1")));
    const status = readFileSync(`/proc/${pid}/status`, "latin1");
    return { cpuMs: mainMs + allTicksMs - mainTicksMs, memoryPeakBytes: bytesOf(status, PEAK) };
  } catch {
    return null;
  }
}

/** Returns the processor time of a process with all its threads, or null if there is no such process. */
export function processTimeMs(pid: number): number | null {
  try {
    return cpuOf(fieldsOf(readFileSync(`/proc/${pid}/stat`, "latin1")));
  } catch {
    return null;
  }
}

/**
 * Parses what the kernel reports about a process. Its memory is its resident memory, its swapped memory, its page tables and
 * the kernel's stacks of its threads. Page tables count because a process can have gigabytes of them without a resident page.
 *
 * @param stat the `stat` file of the main thread.
 * @param whole the `stat` file of the process.
 * @param status the `status` file of the process.
 */
export function parseStat(stat: string, whole: string, status: string): GuestStatus {
  // The title is in parentheses and may contain parentheses. The last one ends it.
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
    niceness: Number(fields[16]),
    memoryBytes: resident + bytesOf(status, PAGE_TABLES) + bytesOf(status, SWAPPED) + threads * KERNEL_STACK_BYTES,
  };
}

/** What the kernel needs for a file or a folder itself, its inode and its name, also if it is empty. Measured: 1,060 bytes. */
const INODE_BYTES = 1_024;

/** Returns the memory of the files in the guest's tmpfs (tmpfs(5)); 0 if it has ended or has no tmpfs. */
export async function tmpfsBytesOf(pid: number): Promise<number> {
  try {
    const { type, blocks, bfree, bsize, files, ffree } = await statfs(`/proc/${pid}/root/tmp`);
    return type === TMPFS_MAGIC ? (blocks - bfree) * bsize + (files - ffree) * INODE_BYTES : 0;
  } catch {
    return 0;
  }
}

// `\n` and not `^`: the process title comes first, and the kernel does not escape a carriage return in it.
const PAGE_TABLES = /\nVmPTE:\s+(\d+) kB\n/;
const PEAK = /\nVmHWM:\s+(\d+) kB\n/;
const SWAPPED = /\nVmSwap:\s+(\d+) kB\n/;

function bytesOf(status: string, member: RegExp): number {
  return Number(member.exec(status)?.[1] ?? 0) * 1_024;
}

/** Returns the fields after the title. */
function fieldsOf(stat: string): string[] {
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

function cpuOf(fields: readonly string[]): number {
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}
