import { readdirSync, readFileSync } from "node:fs";
import { cpus } from "node:os";

/** The unit of times in `/proc`, in milliseconds: the kernel shows hundredths of a second to every program. */
const TICK_MS = 10;

/**
 * Returns the processor time that this process and its descendants have used, in milliseconds. Descendants that have ended
 * count only if the process that started them has waited for them.
 */
export function usedProcessorMs(): number {
  const processes = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(readProcess)
    .filter((found) => found !== null);
  const children = Map.groupBy(processes, ({ parent }) => parent);
  const sumOf = (pid: number): number =>
    (children.get(pid) ?? []).reduce((total, child) => total + child.usedMs + sumOf(child.pid), 0);
  return readProcess(String(process.pid))!.usedMs + sumOf(process.pid);
}

/** The processor time of this machine since its start, in milliseconds. */
export interface MachineTimes {
  readonly idle: number;
  readonly all: number;
}

export function machineTimes(): MachineTimes {
  const times = cpus().map((cpu) => cpu.times);
  return { idle: sum(times.map(({ idle }) => idle)), all: sum(times.flatMap((each) => Object.values(each))) };
}

interface Found {
  readonly pid: number;
  readonly parent: number;
  /** What the process and its ended children have used. */
  readonly usedMs: number;
}

/** Reads `/proc/PID/stat`. The name of a process is its second field, and may itself have spaces and parentheses. */
function readProcess(pid: string): Found | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const ticks = fields.slice(11, 15).reduce((total, field) => total + Number(field), 0);
    return { pid: Number(pid), parent: Number(fields[1]), usedMs: ticks * TICK_MS };
  } catch {
    // The process has ended.
    return null;
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
