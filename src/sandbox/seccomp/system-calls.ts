export type Architecture = "x64" | "arm64";

/**
 * Calls that a Node process needs, by number on x64 and arm64 (arch/x86/entry/syscalls/syscall_64.tbl and
 * include/uapi/asm-generic/unistd.h of Linux). `-` where an architecture does not have the call, or nobody there uses it.
 *
 * Made by watching guests do all that Node offers behind this wall. What no guest ever called is not here, unless it is
 * another name of what is: which of `rename` and `renameat2` a libc takes differs by its version.
 */
const ALLOWED = {
  // What a descriptor is good for was decided when it was opened. Without sendfile and splice, whose pages of pipes have
  // been a way to write to files that were opened for reading.
  "reading and writing what is already open": `
    read 0 63, write 1 64, readv 19 65, writev 20 66, pread64 17 67, pwrite64 18 68, preadv 295 69, pwritev 296 70,
    lseek 8 62, close 3 57, copy_file_range 326 285, fsync 74 82, fdatasync 75 83, ftruncate 77 46`,
  // The root holds Node, the guest and /tmp, all but the last read-only. No links: nothing here needs a second name.
  // Without statfs, which reports how large and how full the host's disk and memory are.
  files: `
    fstat 5 80, newfstatat 262 79, statx 332 291, stat 4 -, lstat 6 -, access 21 -, faccessat 269 48, getcwd 79 17,
    chdir 80 49, getdents64 217 61, mkdir 83 -, mkdirat 258 34, rmdir 84 -, unlink 87 -, unlinkat 263 35, rename 82 -,
    renameat 264 38, renameat2 316 276, umask 95 166`,
  // V8 makes and protects its heap and its code. Without mincore, which tells what others have read of a shared file.
  memory: `
    munmap 11 215, mprotect 10 226, mremap 25 216, brk 12 214`,
  // libuv's pool, V8's helpers, worker_threads.
  threads: `
    set_robust_list 273 99, rseq 334 293, set_tid_address 218 96, sched_yield 24 124, exit 60 93, exit_group 231 94,
    gettid 186 178, arch_prctl 158 -`,
  // Node asks at its start, and tasks by node:os and node:process. Ids and name are the sandbox's own, the release is that
  // of the host's kernel. Without sysinfo, which tells how busy the host is and how much memory the others leave, and
  // without capget, which names its process in memory: any process of the host could be looked for.
  "who am I": `
    getpid 39 172, getppid 110 173, getuid 102 174, geteuid 107 175, getgid 104 176, getegid 108 177, getrusage 98 165,
    uname 63 160`,
  // Mostly answered without the kernel; not on every machine.
  "time and randomness": `
    getrandom 318 278, nanosleep 35 101, gettimeofday 96 169, time 201 -`,
  // Handlers, masks and stacks of its own; who may be sent a signal is judged below.
  signals: `
    rt_sigaction 13 134, rt_sigprocmask 14 135, rt_sigreturn 15 139, sigaltstack 131 132, restart_syscall 219 128`,
  // libuv waits in epoll and wakes itself through an eventfd, or a pipe for signals. poll is for what libc does before.
  "the event loop": `
    epoll_create1 291 20, epoll_ctl 233 21, epoll_pwait 281 22, eventfd2 290 19, poll 7 -, ppoll 271 73`,
  // libuv asks what kind of descriptor it was given, and Node ends it. No socket can be made, named or connected, and no
  // message with descriptors in it sent or received.
  "the inherited socket pair": `
    getsockname 51 204, shutdown 48 210`,
} as const;

/** What a guest may do to the modes and times of files that are made for it alone. */
const OWN_FILES = `chmod 90 -, fchmod 91 52, fchmodat 268 53, utimensat 280 88`;

/** Calls that are decided by their arguments, each by a rule of the filter. */
const JUDGED = `
  clock_getres 229 114, clock_gettime 228 113, clock_nanosleep 230 115, clone 56 220, clone3 435 435, execve 59 221,
  fcntl 72 25, futex 202 98, getpriority 140 141, getsockopt 55 209, ioctl 16 29, kill 62 129, madvise 28 233,
  mmap 9 222, open 2 -, openat 257 56, pipe2 293 59, prctl 157 167, prlimit64 302 261, readlink 89 -, readlinkat 267 78,
  sched_getaffinity 204 123, sched_getparam 143 121, sched_getscheduler 145 120, tgkill 234 131`;

/** Numbers of the calls that are allowed whatever their arguments. */
export function allowedCalls(architecture: Architecture, ownsFiles: boolean): number[] {
  const groups: string[] = [...Object.values(ALLOWED), ...(ownsFiles ? [OWN_FILES] : [])];
  return groups.flatMap((group) => read(group, architecture)).map(([, number]) => number);
}

/** Names and numbers of the calls that the filter has a rule for. */
export function judgedCalls(architecture: Architecture): [name: string, number: number][] {
  return read(JUDGED, architecture);
}

function read(group: string, architecture: Architecture): [string, number][] {
  const rows = group.split(",").map((row) => row.trim().split(" "));
  const column = architecture === "x64" ? 1 : 2;
  return rows.filter((row) => row[column] !== "-").map((row) => [row[0]!, Number(row[column])]);
}
