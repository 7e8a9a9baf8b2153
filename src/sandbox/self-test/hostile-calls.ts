import { constants } from "node:os";

import type { RlimitName } from "../plan/guest-plan.ts";
import type { NotedCall } from "../plan/notes.ts";
import { numbers, type Step, text } from "../plan/steps.ts";
import type { Architecture } from "../seccomp/system-calls.ts";
import type { Layer } from "./check.ts";

/** A part of a plan that can be applied alone. */
export type Part = "filter" | "landlock" | "identity" | "rlimits";

/** A system call that must fail in a guest. */
export interface HostileCall {
  /** The layer under which the result is reported. */
  readonly layer: Layer;
  readonly what: string;
  /** The part of the plan that must stop the call when it is applied alone. */
  readonly part: Part;
  readonly call: NotedCall;
  /** A step that the call needs. It may fail, too. */
  readonly before?: Step;
  /** The errors with which the part stops the call. */
  readonly errors: readonly number[];
  /** Whether the call is not tried under all parts together, because another part already stops a call that it needs. */
  readonly onlyAlone?: boolean;
}

/** The targets of the calls, which exist outside the sandbox. */
export interface Targets {
  readonly architecture: Architecture;
  /** A file that every user of the host may read and execute. */
  readonly file: string;
  /** A folder of another guest. */
  readonly neighbour: string | null;
  /** The port of a server on 127.0.0.1. */
  readonly port: number;
  /** The name of a server's abstract Unix socket, with the leading 0. */
  readonly name: string;
  /** The pid of a process of the service's user. */
  readonly pid: number;
  /** The first free descriptor. */
  readonly descriptor: number;
}

const { EACCES, EINVAL, ENOENT, ENOMEM, ENOSYS, EPERM } = constants.errno;

/** A pid that no process has. */
const NO_PID = 0x7fff_fffe;
/** An invalid descriptor, or all bits of a mask. */
const NONE = -1;
/** CLONE_THREAD without the flags that it needs: the filter refuses it as a new process, the kernel as invalid. */
const CLONE_NO_THREAD = 0x1_0000;
/** CLONE_VM, FS, SIGHAND and THREAD without FILES. Also CLONE_PIDFD and CLONE_DETACHED, which the kernel does not accept together. */
const CLONE_OWN_FILES = 0x41_1b00;
/** CLOCK_PROCESS_CPUTIME_ID of process 1, as clock_getcpuclockid(3) encodes it. */
const CLOCK_OF_OTHERS = -14;
const O_NOTIFICATION_PIPE = 0x80;
/** CLONE_VM, CLONE_VFORK, and SIGCHLD at its end: the child shares the memory, and the parent waits until it has ended. */
const CLONE_CHILD = 0x4111;
/** CLONE_VM, FS, FILES, SIGHAND, THREAD and SYSVSEM. */
const CLONE_THREAD = 0x5_0f00;
const AT_FDCWD = -100;
const AF_UNIX = 1;
const AF_INET = 2;
const SOCK_STREAM = 1;
const F_DUPFD = 0;
const RLIMIT_NOFILE = 7;
const PROT_READ_WRITE = 3;
const MAP_PRIVATE_ANONYMOUS_NORESERVE = 0x4022;

/**
 * The layer, the attempt, the number of the call on x64 and arm64, and its arguments. With these arguments a call that the
 * filter does not stop does no harm, and does not fail with the filter's error.
 */
const FILTERED: readonly [layer: Layer, what: string, x64: number, arm64: number, ...args: number[]][] = [
  ["network", "vsock", 41, 198, 40, 1, 0],
  ["network", "netlink", 41, 198, 16, 3, 0],
  ["network", "packets", 41, 198, 17, 3, 0],
  ["network", "kernel crypto", 41, 198, 38, 5, 0],
  ["network", "Bluetooth", 41, 198, 31, 5, 0],
  ["network", "socket pairs", 53, 199, 1, 1, 0, 0],
  ["network", "connect", 42, 203, NONE, 0, 0],
  ["network", "descriptors in messages", 46, 211, NONE, 0, 0],
  ["processes", "ptrace", 101, 117, 16, NO_PID, 0, 0],
  ["processes", "reading memory", 310, 270, NO_PID, 0, 0, 0, 0, 0],
  ["processes", "writing memory", 311, 271, NO_PID, 0, 0, 0, 0, 0],
  ["processes", "signals", 62, 129, NO_PID, 0],
  ["processes", "handles", 434, 434, NO_PID, 0],
  ["processes", "limits of others", 302, 261, NO_PID, 7, 0, 0],
  ["processes", "raising its own limits", 302, 261, 0, 3, 1, 0],
  ["processes", "priorities of others", 140, 141, 0, NO_PID],
  ["processes", "scheduling of others", 145, 120, NO_PID],
  ["processes", "capabilities of others", 125, 90, 0, 0],
  ["processes", "processor time of others", 228, 113, CLOCK_OF_OTHERS, 0],
  ["processes", "threads with separate descriptors", 56, 220, CLONE_OWN_FILES, 0, 0, 0, 0],
  ["processes", "clone", 56, 220, CLONE_NO_THREAD, 0, 0, 0, 0],
  ["processes", "another program", 59, 221, 1, 0, 0],
  ["processes", "outliving the service", 157, 167, 1, 0, 0, 0, 0],
  ["processes", "clone3", 435, 435, 0, 0],
  ["system calls", "unshare", 272, 97, 1],
  ["system calls", "setns", 308, 268, NONE, 0],
  ["system calls", "mount", 165, 40, 0, 0, 0, 0, 0],
  ["system calls", "umount", 166, 39, 0, 0],
  ["system calls", "pivot_root", 155, 41, 0, 0],
  ["system calls", "chroot", 161, 51, 0],
  ["system calls", "mknod", 259, 33, NONE, 0, 0, 0],
  ["system calls", "files by handle", 304, 265, NONE, 0, 0],
  ["system calls", "the host's disk", 137, 43, 0, 0],
  ["system calls", "notification pipes", 293, 59, 0, O_NOTIFICATION_PIPE],
  ["system calls", "io_uring", 425, 425, 0, 0],
  ["system calls", "bpf", 321, 280, NONE, 0, 0],
  ["system calls", "perf_event_open", 298, 241, 0, 0, 0, 0, 0],
  ["system calls", "userfaultfd", 323, 282, NONE],
  ["system calls", "add_key", 248, 217, 0, 0, 0, 0, 0],
  ["system calls", "keyctl", 250, 219, NONE, 0, 0, 0, 0],
  ["system calls", "memfd_create", 319, 279, 0, 0],
  ["system calls", "shared memory that no limit counts", 9, 222, 0, 4_096, 3, 0x21, NONE, 0],
  ["system calls", "a growing stack that no limit counts", 9, 222, 0, 4_096, 3, 0x122, NONE, 0],
  ["system calls", "huge pages", 9, 222, 0, 4_096, 3, 0x4_0022, NONE, 0],
  ["system calls", "shared memory of System V", 29, 194, NONE, 0, 0],
  ["system calls", "inotify", 294, 26, NONE],
  ["system calls", "modules", 313, 273, NONE, 0, 0],
  ["system calls", "personality", 135, 92, NONE],
  ["system calls", "installing a filter", 317, 277, NONE, 0, 0],
  ["system calls", "reboot", 169, 142, 0, 0, 0, 0],
];

type MakeCall = (x64: number, arm64: number, ...args: Step["args"]) => Step;

function callsFor(architecture: Architecture): MakeCall {
  return (x64, arm64, ...args) => ({
    name: "a hostile call",
    number: architecture === "x64" ? x64 : arm64,
    args,
  });
}

/** Returns the calls that the filter must stop. */
export function filteredCalls({ architecture }: Targets): HostileCall[] {
  const call = callsFor(architecture);
  return FILTERED.map(([layer, what, x64, arm64, ...args]) => {
    // The filter answers clone3 with ENOSYS, so that libc falls back to clone, which the filter can check.
    const errors = [what === "clone3" ? ENOSYS : EPERM];
    return { layer, what, part: "filter", call: call(x64, arm64, ...args), errors };
  });
}

/** Returns the calls that Landlock must stop. @param abi the kernel's ABI; calls that it cannot stop are omitted. */
export function landlockedCalls(targets: Targets, abi: number): HostileCall[] {
  const { file, neighbour, port, name, pid, descriptor } = targets;
  const call = callsFor(targets.architecture);
  const stopped = { layer: "Landlock", part: "landlock" } as const;
  const open = (path: string): Step => call(257, 56, AT_FDCWD, text(path), 0);
  // struct sockaddr_in and sockaddr_un.
  const internet = Buffer.from([2, 0, port >>> 8, port & 0xff, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
  const unix = Buffer.concat([Buffer.from([1, 0]), Buffer.from(name)]);
  const connect = (index: number, family: number, address: Buffer): Pick<HostileCall, "before" | "call"> => {
    const to = call(42, 203, descriptor + index, { bytes: address }, address.length);
    return { before: call(41, 198, family, SOCK_STREAM, 0), call: to };
  };
  // The sockets come first, so that their descriptors are known: no call before has opened one.
  const sockets: (HostileCall & { since: number })[] = [
    { ...stopped, what: "connecting over TCP", ...connect(0, AF_INET, internet), errors: [EACCES], since: 4 },
    { ...stopped, what: "connecting to an abstract socket", ...connect(1, AF_UNIX, unix), errors: [EPERM], since: 6 },
    { ...stopped, what: "signalling the service", call: call(62, 129, pid, 0), errors: [EPERM], since: 6 },
  ];
  const execute = call(59, 221, text(file), numbers(0), numbers(0));
  return [
    ...sockets.filter(({ since }) => abi >= since),
    { ...stopped, what: "opening a file", call: open(file), errors: [EACCES] },
    { ...stopped, what: "listing the root", call: open("/"), errors: [EACCES] },
    ...(neighbour === null
      ? []
      : [{ ...stopped, what: "listing another guest's files", call: open(neighbour), errors: [EACCES] }]),
    { ...stopped, what: "executing a file", call: inNewProcess(call, execute), errors: [EACCES], onlyAlone: true },
  ];
}

/** Makes a call in a new process. An execve that succeeds in the test process would prevent all other calls. */
function inNewProcess(call: MakeCall, tried: Step): NotedCall {
  return { call: tried, madeBy: (noted) => call(56, 220, CLONE_CHILD, [noted, call(60, 93, 0)], 0, 0, 0) };
}

/** Returns the calls that a separate user must stop. @param hasRoot whether the guest also has a separate root. */
export function otherUserCalls({ architecture, pid, file, neighbour }: Targets, hasRoot: boolean): HostileCall[] {
  const call = callsFor(architecture);
  const open = call(257, 56, AT_FDCWD, text(file), 0);
  const stopped = { layer: "host user", part: "identity", errors: [EPERM] } as const;
  const list = call(257, 56, AT_FDCWD, text(neighbour ?? ""), 0);
  const files = { ...stopped, layer: "files", what: "listing another guest's", errors: [ENOENT, EACCES] } as const;
  return [
    ...(neighbour === null ? [] : [{ ...files, call: list }]),
    { ...stopped, what: "becoming root", call: call(117, 147, 0, 0, 0) },
    { ...stopped, what: "signalling the service", call: call(62, 129, pid, 0) },
    { ...stopped, what: "reading limits of the service", call: call(302, 261, pid, RLIMIT_NOFILE, 0, numbers(0, 0)) },
    ...(hasRoot ? [{ ...stopped, layer: "files", what: "opening a file", call: open, errors: [ENOENT] } as const] : []),
  ];
}

/** Returns the calls that the limits of the process must stop, for each limit that is set. */
export function rlimitCalls(targets: Targets, limits: Readonly<Partial<Record<RlimitName, number>>>): HostileCall[] {
  const call = callsFor(targets.architecture);
  const { nofile, data } = limits;
  const bounded: HostileCall[] = [];
  if (nofile !== undefined) {
    const beyond = call(72, 25, targets.descriptor - 1, F_DUPFD, nofile);
    bounded.push({ layer: "descriptors", what: `number ${nofile}`, part: "rlimits", call: beyond, errors: [EINVAL] });
  }
  if (data !== undefined) {
    const beyond = call(9, 222, 0, data, PROT_READ_WRITE, MAP_PRIVATE_ANONYMOUS_NORESERVE, NONE, 0);
    bounded.push({
      layer: "memory",
      what: "mapping memory beyond the limit",
      part: "rlimits",
      call: beyond,
      errors: [ENOMEM],
    });
  }
  return bounded;
}

/** Returns a call that starts a thread, which waits until its process ends. */
export function threadCall({ architecture }: Targets): Step {
  const call = callsFor(architecture);
  // Waits for a futex that no thread wakes (FUTEX_WAIT_PRIVATE). If it wakes anyway, the thread exits.
  const waits = { ...call(202, 98, numbers(0), 128, 0, 0), mayFail: true };
  return call(56, 220, CLONE_THREAD, [waits, call(60, 93, 0)], 0, 0, 0);
}
