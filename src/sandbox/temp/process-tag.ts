import { readFileSync } from "node:fs";

/**
 * A beginning for the names of what this process makes and would leave behind: its id, and when it began, because ids are
 * used again. In a container that is started again, every service has the same one.
 */
export function processTag(prefix: string): string {
  return `${prefix}${process.pid}-${beginOf(process.pid)}-`;
}

/** Whether the name tells of a process that is no more. */
export function isStaleTag(name: string, prefix: string): boolean {
  const told = name.startsWith(prefix) ? /^(\d+)-(\d+)-/.exec(name.slice(prefix.length)) : null;
  if (!told) return false;
  const pid = Number(told[1]);
  return !isAlive(pid) || ![told[2], UNKNOWN].includes(beginOf(pid));
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: somebody else's, and alive.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** Where there is no proc(5), or it hides strangers. */
const UNKNOWN = "0";

/** In clock ticks since the system started. */
function beginOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19]!;
  } catch {
    return UNKNOWN;
  }
}
