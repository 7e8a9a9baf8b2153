import { closeSync, readdirSync, readFileSync, readlinkSync } from "node:fs";

import { certificateFiles } from "./certificate-files.ts";

/** O_CLOEXEC in the octal flags of /proc/self/fdinfo (proc(5)). */
const CLOSE_ON_EXEC = 0o2000000;
const LAST_STANDARD = 2;

/**
 * Closes all inherited descriptors except the standard streams. Every guest would inherit them, and could read a file of
 * the host or write to a pipe. Node opens its own descriptors with close-on-exec. Call this before anything else is opened.
 *
 * OpenSSL does not: in a thread that begins with the process, it reads certificates. If this function closed a file of that thread, the
 * thread would read and close another one, which has the same number by then.
 */
export function closeInheritedDescriptors(): void {
  if (process.platform !== "linux") return;
  // Keep the IPC channel to a Node parent.
  const channel = Number(process.env["NODE_CHANNEL_FD"] ?? -1);
  const certificates = certificateFiles(process.env, process.execArgv);
  for (const descriptor of readdirSync("/proc/self/fd").map(Number)) {
    if (descriptor <= LAST_STANDARD || descriptor === channel || !isInherited(descriptor)) continue;
    const target = targetOf(descriptor);
    if (target !== null && !certificates.has(target)) closeSync(descriptor);
  }
}

/** Returns what a descriptor refers to; null if it was closed meanwhile. */
function targetOf(descriptor: number): string | null {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`);
  } catch {
    return null;
  }
}

function isInherited(descriptor: number): boolean {
  try {
    const flags = /^flags:\s+(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, "utf8"))?.[1];
    return flags !== undefined && (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0;
  } catch {
    // The descriptor of the folder that was read is already closed.
    return false;
  }
}

/** Returns the maximum number of descriptors of this process, or null if the kernel reports none. */
export function descriptorLimit(): number | null {
  if (process.platform !== "linux") return null;
  const soft = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
  return soft === undefined ? null : Number(soft);
}
