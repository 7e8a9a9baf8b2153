import { readFileSync } from "node:fs";

/**
 * Returns a prefix for the names of folders and groups that this process would leave behind. It has the process id and the
 * start time of the process, because ids are reused: in a container, every restarted service has the same id.
 */
export function processTag(prefix: string): string {
  return `${prefix}${process.pid}-${startTime(process.pid)}-`;
}

/** Returns whether a name has the tag of a process that has ended. */
export function isStaleTag(name: string, prefix: string): boolean {
  const tag = name.startsWith(prefix) ? /^(\d+)-(\d+)-/.exec(name.slice(prefix.length)) : null;
  if (!tag) return false;
  const pid = Number(tag[1]);
  return !isAlive(pid) || ![tag[2], UNKNOWN].includes(startTime(pid));
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: the process is alive and belongs to another user.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** The start time if there is no proc(5), or if it hides the processes of other users. */
const UNKNOWN = "0";

/** Returns the start time of a process, in clock ticks since the start of the system. */
function startTime(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19]!;
  } catch {
    return UNKNOWN;
  }
}
