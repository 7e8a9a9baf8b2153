/**
 * The system-call filter of a guest, as classic BPF (seccomp(2), filter mode): an allow-list, because a list of what is
 * forbidden would miss the next call that the kernel grows.
 */

export type Architecture = "x64" | "arm64";

/**
 * Calls that a Node process needs, by number on x64 and arm64 (arch/x86/entry/syscalls/syscall_64.tbl and
 * include/uapi/asm-generic/unistd.h of Linux). `-` where an architecture does not have the call.
 */
const ALLOWED = {
  "reading and writing what is already open": `
    read 0 63, write 1 64, readv 19 65, writev 20 66, pread64 17 67, pwrite64 18 68, preadv 295 69, pwritev 296 70,
    lseek 8 62, close 3 57, dup 32 23, dup3 292 24, sendfile 40 71, copy_file_range 326 285, fsync 74 82,
    fdatasync 75 83, ftruncate 77 46, fadvise64 221 223, pipe 22 -, pipe2 293 59`,
  "files: the root is empty but for Node, the guest and /tmp": `
    fstat 5 80, newfstatat 262 79, statx 332 291, stat 4 -, lstat 6 -, access 21 -, faccessat 269 48,
    faccessat2 439 439, readlink 89 -, readlinkat 267 78, getcwd 79 17, chdir 80 49, fchdir 81 50, getdents64 217 61,
    statfs 137 43, fstatfs 138 44, mkdir 83 -, mkdirat 258 34, rmdir 84 -, unlink 87 -, unlinkat 263 35, rename 82 -,
    renameat 264 38, renameat2 316 276, chmod 90 -, fchmod 91 52, fchmodat 268 53, utimensat 280 88, umask 95 166`,
  "memory: V8's heap, code pages and their protection": `
    munmap 11 215, mprotect 10 226, mremap 25 216, madvise 28 233, brk 12 214, mincore 27 232, membarrier 324 283,
    pkey_alloc 330 289, pkey_free 331 290, pkey_mprotect 329 288`,
  "threads: libuv's pool, V8's workers, worker_threads": `
    futex 202 98, futex_waitv 449 449, set_robust_list 273 99, rseq 334 293, set_tid_address 218 96,
    sched_yield 24 124, sched_getaffinity 204 123, sched_getparam 143 121, sched_getscheduler 145 120,
    sched_get_priority_max 146 125, sched_get_priority_min 147 126, getcpu 309 168, exit 60 93, exit_group 231 94,
    gettid 186 178, arch_prctl 158 -`,
  "who am I: all answers are the sandbox's own": `
    getpid 39 172, getppid 110 173, getuid 102 174, geteuid 107 175, getgid 104 176, getegid 108 177,
    getresuid 118 148, getresgid 120 150, capget 125 90, getrusage 98 165, getrlimit 97 163, getpriority 140 141,
    times 100 153, uname 63 160, sysinfo 99 179`,
  "time and randomness": `
    getrandom 318 278, clock_gettime 228 113, clock_getres 229 114, clock_nanosleep 230 115, nanosleep 35 101,
    gettimeofday 96 169, time 201 -`,
  "signals to itself": `
    rt_sigaction 13 134, rt_sigprocmask 14 135, rt_sigreturn 15 139, rt_sigpending 127 136, rt_sigtimedwait 128 137,
    sigaltstack 131 132, restart_syscall 219 128`,
  "the event loop": `
    epoll_create1 291 20, epoll_ctl 233 21, epoll_wait 232 -, epoll_pwait 281 22, epoll_pwait2 441 441,
    eventfd2 290 19, poll 7 -, ppoll 271 73, select 23 -, pselect6 270 72`,
  "the inherited socket pair; no new socket can be made": `
    getsockname 51 204, getpeername 52 205, getsockopt 55 209, shutdown 48 210`,
} as const;

/** Calls that are decided by their arguments. */
const JUDGED: Readonly<Record<Architecture, Readonly<Record<string, number>>>> = {
  x64: {
    clone: 56,
    clone3: 435,
    execve: 59,
    fcntl: 72,
    ioctl: 16,
    kill: 62,
    mmap: 9,
    open: 2,
    openat: 257,
    prctl: 157,
    prlimit64: 302,
    tgkill: 234,
  },
  arm64: {
    clone: 220,
    clone3: 435,
    execve: 221,
    fcntl: 25,
    ioctl: 29,
    kill: 129,
    mmap: 222,
    openat: 56,
    prctl: 167,
    prlimit64: 261,
    tgkill: 131,
  },
};

/** AUDIT_ARCH_* of linux/audit.h. */
const AUDIT_ARCH: Readonly<Record<Architecture, number>> = { x64: 0xc000003e, arm64: 0xc00000b7 };
/** The highest call number that was looked at. A newer call is "not implemented", so that libc falls back. */
const HIGHEST_KNOWN = 449;
const X32_BIT = 0x40000000;

const EPERM = 1;
const ENOSYS = 38;
const ALLOW = 0x7fff0000;
const KILL_PROCESS = 0x80000000;
const errno = (number: number): number => 0x00050000 | number;

/** CLONE_VM | CLONE_SIGHAND | CLONE_THREAD: what makes a clone a thread. */
const THREAD_FLAGS = 0x10900;
/** CLONE_NEW{TIME,NS,CGROUP,UTS,IPC,USER,PID,NET}. */
const NAMESPACE_FLAGS = 0x7e020080;
const MAP_SHARED_ANONYMOUS = 0x21;
const O_ACCMODE_TRUNC = 0x203;
const O_RDONLY_TRUNC = 0x200;
/** PR_GET_DUMPABLE, PR_SET_NAME, PR_GET_NAME, PR_CAPBSET_READ, PR_SET_VMA. */
const PRCTL_OPTIONS = [3, 15, 16, 23, 0x53564d41];
/** TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX: no TIOCSTI or TIOCLINUX, which type into a terminal. */
const IOCTL_REQUESTS = [0x5401, 0x5413, 0x541b, 0x5421, 0x5450, 0x5451];
/** F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC: no F_SETOWN, which signals others. */
const FCNTL_COMMANDS = [0, 1, 2, 3, 4, 1030];

/**
 * The filter of a guest that is process 1 of its own PID namespace.
 *
 * @returns an array of `struct sock_filter`, as prctl(PR_SET_SECCOMP) and `bwrap --seccomp` take it.
 */
export function seccompFilter(architecture: Architecture): Buffer {
  const filter = new Assembler();
  filter.load(ARCHITECTURE_OFFSET);
  // A 32-bit call has other numbers: judged by this table it would be another call.
  filter.unless(AUDIT_ARCH[architecture], () => filter.answer(KILL_PROCESS));
  filter.load(NUMBER_OFFSET);
  if (architecture === "x64") filter.atLeast(X32_BIT, () => filter.answer(KILL_PROCESS));
  for (const number of allowedNumbers(architecture)) filter.when(number, () => filter.answer(ALLOW));
  for (const [name, number] of Object.entries(JUDGED[architecture])) filter.when(number, () => judge(filter, name));
  filter.atLeast(HIGHEST_KNOWN + 1, () => filter.answer(errno(ENOSYS)));
  filter.answer(errno(EPERM));
  return filter.assemble();
}

function judge(filter: Assembler, name: string): void {
  const oneOf = (argument: number, values: readonly number[]): void => {
    filter.load(argumentOffset(argument));
    for (const value of values) filter.when(value, () => filter.answer(ALLOW));
    filter.answer(errno(EPERM));
  };
  const refuseMasked = (argument: number, mask: number, refused: number): void => {
    filter.load(argumentOffset(argument));
    filter.and(mask);
    filter.when(refused, () => filter.answer(errno(EPERM)));
    filter.answer(ALLOW);
  };
  switch (name) {
    case "clone3":
      // Its flags lie in memory, where a filter cannot look; libc falls back to clone.
      return filter.answer(errno(ENOSYS));
    case "clone":
      filter.load(argumentOffset(0));
      filter.and(THREAD_FLAGS | NAMESPACE_FLAGS);
      filter.when(THREAD_FLAGS, () => filter.answer(ALLOW));
      return filter.answer(errno(EPERM));
    case "execve":
      // bwrap's own last step; afterwards it reaches only the one program that the empty root holds.
      return filter.answer(ALLOW);
    case "kill":
    case "tgkill":
      return oneOf(0, [1]);
    case "prlimit64":
      return oneOf(0, [0, 1]);
    case "prctl":
      return oneOf(0, PRCTL_OPTIONS);
    case "ioctl":
      return oneOf(1, IOCTL_REQUESTS);
    case "fcntl":
      return oneOf(1, FCNTL_COMMANDS);
    case "mmap":
      // Shared anonymous memory is not counted by RLIMIT_DATA.
      return refuseMasked(3, MAP_SHARED_ANONYMOUS, MAP_SHARED_ANONYMOUS);
    case "open":
      return refuseMasked(1, O_ACCMODE_TRUNC, O_RDONLY_TRUNC);
    case "openat":
      // Truncating a file that is opened for reading is not seen by older Landlock.
      return refuseMasked(2, O_ACCMODE_TRUNC, O_RDONLY_TRUNC);
    default:
      throw new TypeError(`no rule for ${name}`);
  }
}

function allowedNumbers(architecture: Architecture): number[] {
  const column = architecture === "x64" ? 1 : 2;
  return Object.values(ALLOWED)
    .flatMap((group) => group.split(","))
    .map((row) => row.trim().split(" ")[column]!)
    .filter((number) => number !== "-")
    .map(Number);
}

/** Offsets into `struct seccomp_data`. */
const NUMBER_OFFSET = 0;
const ARCHITECTURE_OFFSET = 4;
/** The low half of an argument; both architectures are little endian. */
const argumentOffset = (index: number): number => 16 + 8 * index;

/** Classic BPF, as far as a filter needs it: every branch is "when it matches, run this body, which answers". */
class Assembler {
  readonly #instructions: [code: number, jumpTrue: number, jumpFalse: number, operand: number][] = [];

  load(offset: number): void {
    this.#put(0x20, offset);
  }

  and(mask: number): void {
    this.#put(0x54, mask);
  }

  answer(action: number): void {
    this.#put(0x06, action);
  }

  when(value: number, body: () => void): void {
    this.#branch(0x15, value, body, false);
  }

  unless(value: number, body: () => void): void {
    this.#branch(0x15, value, body, true);
  }

  atLeast(value: number, body: () => void): void {
    this.#branch(0x35, value, body, false);
  }

  assemble(): Buffer {
    const program = Buffer.alloc(this.#instructions.length * 8);
    for (const [index, [code, jumpTrue, jumpFalse, operand]] of this.#instructions.entries()) {
      program.writeUInt16LE(code, index * 8);
      program[index * 8 + 2] = jumpTrue;
      program[index * 8 + 3] = jumpFalse;
      program.writeUInt32LE(operand >>> 0, index * 8 + 4);
    }
    return program;
  }

  #branch(code: number, operand: number, body: () => void, negated: boolean): void {
    const at = this.#instructions.length;
    this.#put(code, operand);
    body();
    const skipped = this.#instructions.length - at - 1;
    if (skipped > 255) throw new TypeError(`a jump over ${skipped} instructions does not fit`);
    this.#instructions[at]![negated ? 1 : 2] = skipped;
  }

  #put(code: number, operand: number): void {
    this.#instructions.push([code, 0, 0, operand]);
  }
}
