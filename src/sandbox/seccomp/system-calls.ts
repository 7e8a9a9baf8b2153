export type Architecture = "x64" | "arm64";

/**
 * The calls that a Node process needs, by number on x64 and arm64 (arch/x86/entry/syscalls/syscall_64.tbl and
 * include/uapi/asm-generic/unistd.h of Linux). `-` means that the architecture does not have the call or its programs do
 * not use it.
 *
 * The list was made by tracing guests that used everything that Node offers in this sandbox. It has only calls that a guest
 * made, and variants of these: for example, the version of a libc decides whether it calls `rename` or `renameat2`.
 */
const ALLOWED = {
  // The rights of a descriptor were checked when it was opened. Without sendfile and splice: attacks used their pipe pages
  // to write to files that were opened for reading.
  "reading and writing what is already open": `
    read 0 63, write 1 64, readv 19 65, writev 20 66, pread64 17 67, pwrite64 18 68, preadv 295 69, pwritev 296 70,
    lseek 8 62, close 3 57, copy_file_range 326 285, fsync 74 82, fdatasync 75 83, ftruncate 77 46`,
  // The root has Node, the guest program and /tmp; only /tmp is writable. Without links: no task needs them. Without
  // statfs, which reports the size and the use of the host's disk and memory.
  files: `
    fstat 5 80, newfstatat 262 79, statx 332 291, stat 4 -, lstat 6 -, access 21 -, faccessat 269 48, getcwd 79 17,
    chdir 80 49, getdents64 217 61, mkdir 83 -, mkdirat 258 34, rmdir 84 -, unlink 87 -, unlinkat 263 35, rename 82 -,
    renameat 264 38, renameat2 316 276, umask 95 166`,
  // V8 creates and protects its heap and its code. Without mincore, which shows what other processes have read of a shared
  // file.
  memory: `
    munmap 11 215, mprotect 10 226, mremap 25 216, brk 12 214`,
  // libuv's pool, V8's helpers, worker_threads.
  threads: `
    set_robust_list 273 99, rseq 334 293, set_tid_address 218 96, sched_yield 24 124, exit 60 93, exit_group 231 94,
    gettid 186 178, arch_prctl 158 -`,
  // Node calls these at its start, and tasks by node:os and node:process. Ids and name belong to the sandbox; the release
  // is that of the host's kernel. Without sysinfo, which shows the load and the free memory of the host. Without capget:
  // its process id is in memory, which a filter cannot read, so a guest could search for any process of the host.
  identity: `
    getpid 39 172, getppid 110 173, getuid 102 174, geteuid 107 175, getgid 104 176, getegid 108 177, getrusage 98 165,
    uname 63 160`,
  // Most of these are usually answered without a system call, but not on every machine.
  "time and randomness": `
    getrandom 318 278, nanosleep 35 101, gettimeofday 96 169, time 201 -`,
  // Handlers, masks and stacks of the guest itself. Sending signals has a rule in the filter.
  signals: `
    rt_sigaction 13 134, rt_sigprocmask 14 135, rt_sigreturn 15 139, sigaltstack 131 132, restart_syscall 219 128`,
  // libuv waits in epoll and wakes itself through an eventfd, or a pipe for signals. libc uses poll before that.
  "the event loop": `
    epoll_create1 291 20, epoll_ctl 233 21, epoll_pwait 281 22, eventfd2 290 19, poll 7 -, ppoll 271 73`,
  // libuv detects the kind of a descriptor, and Node shuts it down. A guest cannot create, bind or connect a socket, and
  // cannot send or receive a message with descriptors.
  "the inherited socket pair": `
    getsockname 51 204, shutdown 48 210`,
} as const;

/** Calls that change modes and times, for guests whose files belong to them alone. */
const OWN_FILES = `chmod 90 -, fchmod 91 52, fchmodat 268 53, utimensat 280 88`;

/** Calls that the filter allows or refuses by their arguments, with a rule for each. */
const JUDGED = `
  clock_getres 229 114, clock_gettime 228 113, clock_nanosleep 230 115, clone 56 220, clone3 435 435, execve 59 221,
  fcntl 72 25, futex 202 98, getpriority 140 141, getsockopt 55 209, ioctl 16 29, kill 62 129, madvise 28 233,
  mmap 9 222, open 2 -, openat 257 56, pipe2 293 59, prctl 157 167, prlimit64 302 261, readlink 89 -, readlinkat 267 78,
  sched_getaffinity 204 123, sched_getparam 143 121, sched_getscheduler 145 120, tgkill 234 131`;

/** Returns the numbers of the calls that are allowed with any arguments. */
export function allowedCalls(architecture: Architecture, ownsFiles: boolean): number[] {
  const groups: string[] = [...Object.values(ALLOWED), ...(ownsFiles ? [OWN_FILES] : [])];
  return groups.flatMap((group) => read(group, architecture)).map(([, number]) => number);
}

/** Returns the names and numbers of the calls that the filter has a rule for. */
export function judgedCalls(architecture: Architecture): [name: string, number: number][] {
  return read(JUDGED, architecture);
}

function read(group: string, architecture: Architecture): [string, number][] {
  const rows = group.split(",").map((row) => row.trim().split(" "));
  const column = architecture === "x64" ? 1 : 2;
  return rows.filter((row) => row[column] !== "-").map((row) => [row[0]!, Number(row[column])]);
}
