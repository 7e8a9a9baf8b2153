import { Assembler } from "./bpf.ts";
import { allowedCalls, type Architecture, judgedCalls } from "./system-calls.ts";

/** The differences between the filters of the isolation levels. */
export interface FilterOptions {
  /**
   * The guest's process id in its PID namespace. The guest may signal only this process. `own`: the stub writes the id into
   * the filter, because it is not known before.
   */
  readonly pid: number | "own";
  /** The address, in the stub's memory, of the path of the only program that may be executed. */
  readonly programAddress: bigint;
  /** Whether all files that the guest can name belong to it alone. Landlock has no right for modes and times. */
  readonly ownsFiles: boolean;
  /** A number added to each error, so that tests can distinguish this filter's errors from those of another filter. */
  readonly mark?: number;
}

export interface Filter {
  /** An array of `struct sock_filter`. */
  readonly program: Buffer;
  /** The offsets at which a process id of `own` must be written, as 32 bits. */
  readonly pidOffsets: readonly number[];
}

/**
 * Returns the system-call filter of a guest (seccomp(2), filter mode). It is an allow-list, because a deny-list would allow
 * every system call that a later kernel adds.
 */
export function seccompFilter(architecture: Architecture, options: FilterOptions): Filter {
  const filter = new Assembler(options.mark);
  const pidOffsets: number[] = [];
  filter.load(ARCHITECTURE_OFFSET);
  // A 32-bit call has other numbers, so this table would mistake it for another call.
  filter.unless(AUDIT_ARCH[architecture], () => filter.answer(KILL_PROCESS));
  filter.load(NUMBER_OFFSET);
  if (architecture === "x64") filter.atLeast(X32_BIT, () => filter.answer(KILL_PROCESS));
  // Calls that need a rule come first. For calls that are always allowed the kernel keeps a bitmap (since 5.11).
  for (const [name, number] of judgedCalls(architecture))
    filter.when(number, () => judge(filter, name, options, pidOffsets));
  for (const number of allowedCalls(architecture, options.ownsFiles)) filter.when(number, () => filter.answer(ALLOW));
  filter.atLeast(HIGHEST_KNOWN + 1, () => filter.refuse(ENOSYS));
  filter.refuse(EPERM);
  return { program: filter.assemble(), pidOffsets };
}

/**
 * Returns the second filter of a guest, which is installed just before Node starts (`plan/seal.ts`). It refuses another
 * program, another filter, and every mapping of a file, because libraries are loaded by mapping. The rights of a mapping do
 * not show whether it is harmless: a library may request empty executable memory and let the loader write code there as
 * relocations.
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

/** No process has this id, so a filter into which the stub did not write the id allows no signals. */
const UNKNOWN_PID = 0x7fff_ffff;

/** AUDIT_ARCH_* of linux/audit.h. */
const AUDIT_ARCH: Readonly<Record<Architecture, number>> = { x64: 0xc000003e, arm64: 0xc00000b7 };
/** The highest call number that was reviewed. The filter answers ENOSYS to newer calls, so that libc falls back. */
const HIGHEST_KNOWN = 449;
const X32_BIT = 0x40000000;

const EPERM = 1;
const EINVAL = 22;
const ENOSYS = 38;
const ALLOW = 0x7fff0000;
const KILL_PROCESS = 0x80000000;

/** CLONE_VM | FS | FILES | SIGHAND | THREAD: a thread that shares everything. Without FILES each thread would have a separate table of descriptors with a separate limit. */
const THREAD_FLAGS = 0x1_0f00;
/** CLONE_NEW{TIME,NS,CGROUP,UTS,IPC,USER,PID,NET}. */
const NAMESPACE_FLAGS = 0x7e020080;
const MAP_SHARED_ANONYMOUS = 0x21;
const MAP_GROWSDOWN = 0x100;
const MAP_HUGETLB = 0x4_0000;
const O_ACCMODE_TRUNC = 0x203;
const O_RDONLY_TRUNC = 0x200;
/** Clocks that name no process: REALTIME, MONOTONIC, PROCESS_CPUTIME, THREAD_CPUTIME, MONOTONIC_RAW, the two COARSE, BOOTTIME, TAI. A negative clock is the processor time of any process or thread. */
const CLOCKS = [0, 1, 2, 3, 4, 5, 6, 7, 11];
const PRIO_PROCESS = 0;
/** All flags except O_CLOEXEC and O_NONBLOCK. O_NOTIFICATION_PIPE gives access to the kernel's watches of keys. */
const OTHER_PIPE_FLAGS = ~0x8_0800 >>> 0;
const MAP_ANONYMOUS = 0x20;
const PR_SET_SECCOMP = 22;
/** PR_GET_DUMPABLE, PR_SET_NAME, PR_GET_NAME, PR_CAPBSET_READ, PR_SET_VMA, and PR_SET_SECCOMP for the seal, whose filter refuses further filters. */
const PRCTL_OPTIONS = [3, 15, 16, PR_SET_SECCOMP, 23, 0x53564d41];
/** TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX. Without TIOCSTI and TIOCLINUX, which type into a terminal. */
const IOCTL_REQUESTS = [0x5401, 0x5413, 0x541b, 0x5421, 0x5450, 0x5451];
/** F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC. Without F_SETOWN, which signals other processes, and without locks, which other processes see. */
const FCNTL_COMMANDS = [0, 1, 2, 3, 4, 1030];
/** WAIT, WAKE, REQUEUE, CMP_REQUEUE, WAKE_OP, WAIT_BITSET, WAKE_BITSET. Without priority inheritance, which had most vulnerabilities of futexes. */
const FUTEX_COMMANDS = [0, 1, 3, 4, 5, 9, 10];
/** All bits except FUTEX_PRIVATE_FLAG and FUTEX_CLOCK_REALTIME. */
const FUTEX_COMMAND_MASK = 0xfffffe7f;
/** SO_TYPE, SO_ERROR, SO_SNDBUF, SO_RCVBUF. Without SO_PEERCRED, and without SO_PEERPIDFD, which returns a handle of the service. */
const SOCKET_OPTIONS = [3, 4, 7, 8];
/** NORMAL, RANDOM, SEQUENTIAL, WILLNEED, DONTNEED, FREE, DONTFORK, HUGEPAGE, NOHUGEPAGE, DONTDUMP, DODUMP. Without MERGEABLE, which reveals equal pages of other processes. */
const MEMORY_ADVICE = [0, 1, 2, 3, 4, 8, 10, 14, 15, 16, 17];

function judge(
  filter: Assembler,
  name: string,
  { pid: ownPid, programAddress }: FilterOptions,
  pidOffsets: number[],
): void {
  const pid = ownPid === "own" ? UNKNOWN_PID : ownPid;
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
      // Its flags are in memory, which a filter cannot read. libc falls back to clone.
      return filter.refuse(ENOSYS);
    case "clone":
      return oneOf(0, [THREAD_FLAGS], THREAD_FLAGS | NAMESPACE_FLAGS);
    case "execve":
      return judgeExecve(filter, programAddress);
    case "kill":
    case "tgkill":
      return oneOf(0, [pid]);
    case "prlimit64":
      // The guest may read its limits but not set them, because the plan does not set all, such as the stack limit.
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
      // pthread_getattr_np(3) calls it for each thread by its id, and only this error means "no such thread" to it.
      return oneOf(0, [0, pid], undefined, ENOSYS);
    case "clock_getres":
    case "clock_gettime":
    case "clock_nanosleep":
      return oneOf(0, CLOCKS);
    case "pipe2":
      return oneOf(1, [0], OTHER_PIPE_FLAGS);
    case "readlink":
    case "readlinkat":
      // EINVAL means "not a link". A guest cannot create links, Landlock does not hide the host's links, and realpath(3)
      // continues after this error.
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
      // RLIMIT_DATA counts neither growing stacks nor shared anonymous memory. Huge pages come from a pool of the host.
      filter.load(argumentOffset(3));
      filter.and(MAP_GROWSDOWN | MAP_HUGETLB);
      filter.unless(0, () => filter.refuse(EPERM));
      return allBut(3, MAP_SHARED_ANONYMOUS, MAP_SHARED_ANONYMOUS);
    case "open":
      return allBut(1, O_ACCMODE_TRUNC, O_RDONLY_TRUNC);
    case "openat":
      // Older Landlock does not check the truncation of a file that is opened for reading.
      return allBut(2, O_ACCMODE_TRUNC, O_RDONLY_TRUNC);
    default:
      throw new TypeError(`no rule for ${name}`);
  }
}

/**
 * Allows the last step of the plan, which is identified by its address. JavaScript cannot choose addresses. Native code
 * can, but Landlock and the guest's root limit which files it can execute.
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
/** Returns the offset of the low half of an argument. Both architectures are little endian. */
const argumentOffset = (index: number): number => 16 + 8 * index;
