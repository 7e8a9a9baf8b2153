import { readFile } from "node:fs/promises";

import type { GuestStatus } from "./sandbox.ts";

/** USER_HZ, the unit of times in /proc; 100 on every Linux that Node runs on. */
const TICK_MS = 10;
const PAGE_BYTES = 4_096;

/** Reads `/proc/<pid>/task/<pid>/stat` (proc(5)), or null when there is no such process. */
export async function processStatus(pid: number): Promise<GuestStatus | null> {
  try {
    return parseStat(await readFile(`/proc/${pid}/task/${pid}/stat`, "latin1"));
  } catch {
    return null;
  }
}

export function parseStat(stat: string): GuestStatus {
  // The title is in parentheses and may hold any: the last one ends it.
  const titleEnd = stat.lastIndexOf(")");
  const fields = stat.slice(titleEnd + 2).split(" ");
  return {
    pid: Number.parseInt(stat, 10),
    title: stat.slice(stat.indexOf("(") + 1, titleEnd),
    state: fields[0]!,
    cpuMs: (Number(fields[11]) + Number(fields[12])) * TICK_MS,
    threads: Number(fields[17]),
    memoryBytes: Number(fields[21]) * PAGE_BYTES,
  };
}
