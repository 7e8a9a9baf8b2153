import { Assembler } from "./bpf.ts";
import { allowedCalls, type Architecture, judgedCalls } from "./system-calls.ts";

/** In what the levels differ. */
export interface FilterOptions {
  /** The guest's process id as it counts itself: it may signal nobody else. `own`: written in when it is known. */
  readonly pid: number | "own";
  /** Where the path lies of the one program that may be executed, in the memory of what starts the guest. */
  readonly programAddress: bigint;
  /** Whether all files that it can name are made for it alone. No right of Landlock covers modes and times. */
  readonly ownsFiles: boolean;
  /** Added to the number of each error, so that it is known for this filter's and not that of another around it. */
  readonly mark?: number;
}

export interface Filter {
  /** An array of `struct sock_filter`. */
  readonly program: Buffer;
  /** Where in it a process id of `own` has to be written in, as 32 bits, each time. */
  readonly pidOffsets: readonly number[];
}

/**
 * The system-call filter of a guest (seccomp(2), filter mode): an allow-list, because a list of what is forbidden would
 * miss the next call that the kernel grows.
 */
export function seccompFilter(architecture: Architecture, options: FilterOptions): Filter {
  const filter = new Assembler(options.mark);
  const pidOffsets: number[] = [];
  filter.load(ARCHITECTURE_OFFSET);
  // A 32-bit call has other numbers: judged by this table it would be another call.
  filter.unless(AUDIT_ARCH[architecture], () => filter.answer(KILL_PROCESS));
  filter.load(NUMBER_OFFSET);
  if (architecture === "x64") filter.atLeast(X32_BIT, () => filter.answer(KILL_PROCESS));
  // First what has to be run for each call; of what is always allowed the kernel keeps a map (since 5.11).
  for (const [name, number] of judgedCalls(architecture))
    filter.when(number, () => judge(filter, name, options, pidOffsets));
  for (const number of allowedCalls(architecture, options.ownsFiles)) filter.when(number, () => filter.answer(ALLOW));
  filter.atLeast(HIGHEST_KNOWN + 1, () => filter.refuse(ENOSYS));
  filter.refuse(EPERM);
  return { program: filter.assemble(), pidOffsets };
}

/**
 * The second filter of a guest, which Node itself begins with (`plan/seal.ts`): no further program, no further filter, and
 * no mapping of a file, which is how every library is loaded. It cannot be told from a harmless one by its rights: a
 * library may ask for empty memory that is executable, and have the loader write code there as relocations.
 */
export function sealFilter(architecture: Architecture, mark?: number): Buffer {
  const filter = new Assembler(mark);
  filter.load(NUMBER_OFFSET);
  for (const [name, number] of judgedCalls(architecture)) {
    if (name === "execve") filter.when(number, () => filter.refuse(EPERM));
    else if (name === "mmap") filter.when(number, () => judgeMapping(filter));
    else if (name === "prctl") filter.when(number, () => judgeSealedPrctl(filter));
  }
  filter.answer(ALLOW);
  return filter.assemble();
}

function judgeMapping(filter: Assembler): void {
  filter.load(argumentOffset(3));
  filter.and(MAP_ANONYMOUS);
  filter.when(MAP_ANONYMOUS, () => filter.answer(ALLOW));
  filter.refuse(EPERM);
}

function judgeSealedPrctl(filter: Assembler): void {
  filter.load(argumentOffset(0));
  filter.when(PR_SET_SECCOMP, () => filter.refuse(EPERM));
  filter.answer(ALLOW);
}

/** Nobody's, so that a filter whose number was never written in lets it signal nobody. */
const UNKNOWN_PID = 0x7fff_ffff;

/** AUDIT_ARCH_* of linux/audit.h. */
const AUDIT_ARCH: Readonly<Record<Architecture, number>> = { x64: 0xc000003e, arm64: 0xc00000b7 };
/** The highest call number that was looked at. A newer call is "not implemented", so that libc falls back. */
const HIGHEST_KNOWN = 449;
const X32_BIT = 0x40000000;

const EPERM = 1;
const EINVAL = 22;
const ENOSYS = 38;
const ALLOW = 0x7fff0000;
const KILL_PROCESS = 0x80000000;

/** CLONE_VM | FS | FILES | SIGHAND | THREAD: a thread that shares all. Without FILES each would have a table of descriptors, and a limit, of its own. */
const THREAD_FLAGS = 0x1_0f00;
/** CLONE_NEW{TIME,NS,CGROUP,UTS,IPC,USER,PID,NET}. */
const NAMESPACE_FLAGS = 0x7e020080;
const MAP_SHARED_ANONYMOUS = 0x21;
const MAP_GROWSDOWN = 0x100;
const MAP_HUGETLB = 0x4_0000;
const O_ACCMODE_TRUNC = 0x203;
const O_RDONLY_TRUNC = 0x200;
/** Those that take no process: REALTIME, MONOTONIC, PROCESS_CPUTIME, THREAD_CPUTIME, MONOTONIC_RAW, the two COARSE, BOOTTIME, TAI. A negative clock is the processor time of any process or thread. */
const CLOCKS = [0, 1, 2, 3, 4, 5, 6, 7, 11];
const PRIO_PROCESS = 0;
/** All but O_CLOEXEC and O_NONBLOCK: O_NOTIFICATION_PIPE leads to the kernel's watches of keys. */
const OTHER_PIPE_FLAGS = ~0x8_0800 >>> 0;
const MAP_ANONYMOUS = 0x20;
const PR_SET_SECCOMP = 22;
/** PR_GET_DUMPABLE, PR_SET_NAME, PR_GET_NAME, PR_CAPBSET_READ, PR_SET_VMA. The seal installs a filter and refuses any other. */
const PRCTL_OPTIONS = [3, 15, 16, PR_SET_SECCOMP, 23, 0x53564d41];
/** TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX: no TIOCSTI or TIOCLINUX, which type into a terminal. */
const IOCTL_REQUESTS = [0x5401, 0x5413, 0x541b, 0x5421, 0x5450, 0x5451];
/** F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC: no F_SETOWN, which signals others, and no locks, which others see. */
const FCNTL_COMMANDS = [0, 1, 2, 3, 4, 1030];
/** WAIT, WAKE, REQUEUE, CMP_REQUEUE, WAKE_OP, WAIT_BITSET, WAKE_BITSET: no priority inheritance, where most holes of futexes were. */
const FUTEX_COMMANDS = [0, 1, 3, 4, 5, 9, 10];
/** All but FUTEX_PRIVATE_FLAG and FUTEX_CLOCK_REALTIME. */
const FUTEX_COMMAND_MASK = 0xfffffe7f;
/** SO_TYPE, SO_ERROR, SO_SNDBUF, SO_RCVBUF: no SO_PEERCRED, and no SO_PEERPIDFD, which is a handle of the service. */
const SOCKET_OPTIONS = [3, 4, 7, 8];
/** NORMAL, RANDOM, SEQUENTIAL, WILLNEED, DONTNEED, FREE, DONTFORK, HUGEPAGE, NOHUGEPAGE, DONTDUMP, DODUMP: no MERGEABLE, by which equal pages of others are found out. */
const MEMORY_ADVICE = [0, 1, 2, 3, 4, 8, 10, 14, 15, 16, 17];

function judge(
  filter: Assembler,
  name: string,
  { pid: known, programAddress }: FilterOptions,
  pidOffsets: number[],
): void {
  const pid = known === "own" ? UNKNOWN_PID : known;
  const oneOf = (argument: number, values: readonly number[], mask?: number, error = EPERM): void => {
    filter.load(argumentOffset(argument));
    if (mask !== undefined) filter.and(mask);
    for (const value of values) {
      if (value === UNKNOWN_PID) pidOffsets.push(filter.nextOperand);
      filter.when(value, () => filter.answer(ALLOW));
    }
    filter.refuse(error);
  };
  const require = (argument: number, value: number, offset = argumentOffset(argument)): void => {
    filter.load(offset);
    filter.unless(value, () => filter.refuse(EPERM));
  };
  const allBut = (argument: number, mask: number, refused: number): void => {
    filter.load(argumentOffset(argument));
    filter.and(mask);
    filter.when(refused, () => filter.refuse(EPERM));
    filter.answer(ALLOW);
  };
  switch (name) {
    case "clone3":
      // Its flags lie in memory, where a filter cannot look; libc falls back to clone.
      return filter.refuse(ENOSYS);
    case "clone":
      return oneOf(0, [THREAD_FLAGS], THREAD_FLAGS | NAMESPACE_FLAGS);
    case "execve":
      return judgeExecve(filter, programAddress);
    case "kill":
    case "tgkill":
      return oneOf(0, [pid]);
    case "prlimit64":
      // Its own limits are read and never set: some are not set before, such as that of a stack.
      require(2, 0);
      require(2, 0, argumentOffset(2) + HALF_BYTES);
      return oneOf(0, [0, pid]);
    case "getpriority":
      require(0, PRIO_PROCESS);
      return oneOf(1, [0, pid]);
    case "sched_getparam":
    case "sched_getscheduler":
      return oneOf(0, [0, pid]);
    case "sched_getaffinity":
      // pthread_getattr_np(3) asks for each thread by its number, and takes only this error for "there is none".
      return oneOf(0, [0, pid], undefined, ENOSYS);
    case "clock_getres":
    case "clock_gettime":
    case "clock_nanosleep":
      return oneOf(0, CLOCKS);
    case "pipe2":
      return oneOf(1, [0], OTHER_PIPE_FLAGS);
    case "readlink":
    case "readlinkat":
      // "No link": a guest can make none, Landlock does not cover those of the host, and realpath(3) goes on.
      return filter.refuse(EINVAL);
    case "prctl":
      return oneOf(0, PRCTL_OPTIONS);
    case "ioctl":
      return oneOf(1, IOCTL_REQUESTS);
    case "fcntl":
      return oneOf(1, FCNTL_COMMANDS);
    case "futex":
      return oneOf(1, FUTEX_COMMANDS, FUTEX_COMMAND_MASK);
    case "getsockopt":
      return oneOf(2, SOCKET_OPTIONS);
    case "madvise":
      return oneOf(2, MEMORY_ADVICE);
    case "mmap":
      // RLIMIT_DATA counts neither what grows down nor shared anonymous memory; huge pages come from a store of the host's.
      filter.load(argumentOffset(3));
      filter.and(MAP_GROWSDOWN | MAP_HUGETLB);
      filter.unless(0, () => filter.refuse(EPERM));
      return allBut(3, MAP_SHARED_ANONYMOUS, MAP_SHARED_ANONYMOUS);
    case "open":
      return allBut(1, O_ACCMODE_TRUNC, O_RDONLY_TRUNC);
    case "openat":
      // Truncating a file that is opened for reading is not seen by older Landlock.
      return allBut(2, O_ACCMODE_TRUNC, O_RDONLY_TRUNC);
    default:
      throw new TypeError(`no rule for ${name}`);
  }
}

/**
 * The last step of what starts the guest. JavaScript cannot choose addresses. Native code can: what it can execute then
 * is for Landlock to bound, and for the root.
 */
function judgeExecve(filter: Assembler, address: bigint): void {
  filter.load(argumentOffset(0));
  filter.unless(Number(address & 0xffffffffn), () => filter.refuse(EPERM));
  filter.load(argumentOffset(0) + HALF_BYTES);
  filter.unless(Number(address >> 32n), () => filter.refuse(EPERM));
  filter.answer(ALLOW);
}

/** Offsets into `struct seccomp_data`. */
const NUMBER_OFFSET = 0;
const ARCHITECTURE_OFFSET = 4;
const HALF_BYTES = 4;
/** The low half of an argument; both architectures are little endian. */
const argumentOffset = (index: number): number => 16 + 8 * index;
