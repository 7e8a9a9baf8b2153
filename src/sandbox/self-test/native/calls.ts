import type { Architecture } from "../../system-calls.ts";
import type { Layer } from "../check.ts";

/** A system call that no guest may make. */
export interface HostileCall {
  readonly layer: Layer;
  readonly what: string;
  readonly number: number;
  readonly arguments: readonly number[];
  /** How often it is made until it fails, for a call that may be made a number of times; else 0. */
  readonly attempts: number;
  readonly stoppedBy: string;
}

/** No process has it. */
const NOBODY = 0x7fff_fffe;
/** No descriptor, or all bits of a mask. */
const NONE = -1;
/** CLONE_THREAD without the flags that it needs: another kind of process to the filter, nothing to the kernel. */
const CLONE_NO_THREAD = 0x1_0000;
/** CLONE_VM, FS, FILES, SIGHAND, THREAD and SYSVSEM. */
const CLONE_THREAD = 0x5_0f00;

/**
 * Layer, what is tried, its number on x64 and arm64, arguments. Those are such that a call that gets through does no
 * harm, and fails, if it does, for another reason than the filter's.
 */
const CALLS: readonly [layer: Layer, what: string, x64: number, arm64: number, ...words: number[]][] = [
  ["network", "vsock", 41, 198, 40, 1, 0],
  ["network", "netlink", 41, 198, 16, 3, 0],
  ["network", "packets", 41, 198, 17, 3, 0],
  ["network", "kernel crypto", 41, 198, 38, 5, 0],
  ["network", "Bluetooth", 41, 198, 31, 5, 0],
  ["network", "socket pairs", 53, 199, 1, 1, 0, 0],
  ["network", "connect", 42, 203, NONE, 0, 0],
  ["network", "descriptors in messages", 46, 211, NONE, 0, 0],
  ["processes", "ptrace", 101, 117, 16, NOBODY, 0, 0],
  ["processes", "reading memory", 310, 270, NOBODY, 0, 0, 0, 0, 0],
  ["processes", "writing memory", 311, 271, NOBODY, 0, 0, 0, 0, 0],
  ["processes", "signals", 62, 129, NOBODY, 0],
  ["processes", "handles", 434, 434, NOBODY, 0],
  ["processes", "limits of others", 302, 261, NOBODY, 7, 0, 0],
  ["processes", "clone", 56, 220, CLONE_NO_THREAD, 0, 0, 0, 0],
  ["processes", "clone3", 435, 435, 0, 0],
  ["system calls", "unshare", 272, 97, 1],
  ["system calls", "setns", 308, 268, NONE, 0],
  ["system calls", "mount", 165, 40, 0, 0, 0, 0, 0],
  ["system calls", "umount", 166, 39, 0, 0],
  ["system calls", "pivot_root", 155, 41, 0, 0],
  ["system calls", "chroot", 161, 51, 0],
  ["system calls", "mknod", 259, 33, NONE, 0, 0, 0],
  ["system calls", "files by handle", 304, 265, NONE, 0, 0],
  ["system calls", "io_uring", 425, 425, 0, 0],
  ["system calls", "bpf", 321, 280, NONE, 0, 0],
  ["system calls", "perf_event_open", 298, 241, 0, 0, 0, 0, 0],
  ["system calls", "userfaultfd", 323, 282, NONE],
  ["system calls", "add_key", 248, 217, 0, 0, 0, 0, 0],
  ["system calls", "keyctl", 250, 219, NONE, 0, 0, 0, 0],
  ["system calls", "memfd_create", 319, 279, 0, 0],
  ["system calls", "shared memory of System V", 29, 194, NONE, 0, 0],
  ["system calls", "inotify", 294, 26, NONE],
  ["system calls", "modules", 313, 273, NONE, 0, 0],
  ["system calls", "personality", 135, 92, NONE],
  ["system calls", "a filter of its own", 317, 277, NONE, 0, 0],
  ["system calls", "reboot", 169, 142, 0, 0, 0, 0],
];

/** @param threads that a guest may have. */
export function hostileCalls(architecture: Architecture, threads: number): HostileCall[] {
  const pick = (x64: number, arm64: number): number => (architecture === "x64" ? x64 : arm64);
  const calls = CALLS.map(([layer, what, x64, arm64, ...words]) => {
    // Answered so that libc falls back on what the filter can judge.
    const stoppedBy = what === "clone3" ? "ENOSYS" : "EPERM";
    return { layer, what, number: pick(x64, arm64), arguments: words, attempts: 0, stoppedBy };
  });
  const thread = { number: pick(56, 220), arguments: [CLONE_THREAD, 0, 0, 0, 0], attempts: threads + 1 };
  // Last, because whatever else might fail for want of a thread.
  return [...calls, { layer: "threads", what: "one more than that", ...thread, stoppedBy: "EAGAIN" }];
}
