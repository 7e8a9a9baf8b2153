import { closeSync, readdirSync, readFileSync } from "node:fs";

/** O_CLOEXEC in the octal flags of /proc/self/fdinfo (proc(5)). */
const CLOSE_ON_EXEC = 0o2000000;
const LAST_STANDARD = 2;

/**
 * Closes what this process was started with beyond its standard streams: every guest would inherit it, and could read a
 * host's file or write to its pipe. Node opens its own to be closed on exec. To be called before anything else is opened.
 */
export function closeInheritedDescriptors(): void {
  if (process.platform !== "linux") return;
  // A channel to a Node parent is ours to keep.
  const channel = Number(process.env["NODE_CHANNEL_FD"] ?? -1);
  for (const descriptor of readdirSync("/proc/self/fd").map(Number)) {
    if (descriptor <= LAST_STANDARD || descriptor === channel || !isInherited(descriptor)) continue;
    closeSync(descriptor);
  }
}

function isInherited(descriptor: number): boolean {
  try {
    const flags = /^flags:\s+(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, "utf8"))?.[1];
    return flags !== undefined && (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0;
  } catch {
    // The descriptor by which the folder was read is gone by now.
    return false;
  }
}

/** How many descriptors this process may have, or none where the kernel does not say. */
export function descriptorLimit(): number | null {
  if (process.platform !== "linux") return null;
  const soft = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
  return soft === undefined ? null : Number(soft);
}
