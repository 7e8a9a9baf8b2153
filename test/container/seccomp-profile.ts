/**
 * The default filter of an engine, as in Docker's documentation ("Seccomp security profiles for Docker") and the Moby
 * project's `profiles/seccomp/default.json`: an allow-list, and EPERM for all other calls.
 *
 * It covers x64 and arm64 with their 32-bit variants. Rules for other processors are left out, and so are rules for
 * capabilities that no container here has. If releases of an engine differ, the stricter rule is used: `io_uring` was
 * removed from the list in 2023. Runc answers ENOSYS to calls that are newer than a profile; crun answers EPERM.
 */
export function defaultProfile(capabilities: readonly string[], refused: Refusals = {}): object {
  const allowed = Object.values(ALLOWED).flatMap(words);
  if (capabilities.includes("CAP_SYS_CHROOT")) allowed.push("chroot");
  const names = allowed.filter((name) => !(name in refused));
  return {
    defaultAction: "SCMP_ACT_ERRNO",
    defaultErrnoRet: EPERM,
    architectures:
      process.arch === "arm64"
        ? ["SCMP_ARCH_AARCH64", "SCMP_ARCH_ARM"]
        : ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"],
    syscalls: [
      { names, action: "SCMP_ACT_ALLOW" },
      // No namespace without CAP_SYS_ADMIN. A filter cannot read the pointer that clone3 takes, so libc must use clone.
      only("clone", 0, "SCMP_CMP_MASKED_EQ", NAMESPACE_FLAGS, 0),
      { names: ["clone3"], action: "SCMP_ACT_ERRNO", errnoRet: ENOSYS },
      only("socket", 0, "SCMP_CMP_NE", AF_VSOCK),
      ...PERSONALITIES.map((each) => only("personality", 0, "SCMP_CMP_EQ", each)),
      ...Object.entries(refused).map(([name, errnoRet]) => ({ names: [name], action: "SCMP_ACT_ERRNO", errnoRet })),
    ],
  };
}

/** Allows a call for some values of one argument. */
function only(name: string, index: number, op: string, value: number, valueTwo = 0): object {
  return { names: [name], action: "SCMP_ACT_ALLOW", args: [{ index, value, valueTwo, op }] };
}

/** Refuses calls that the profile would allow, with an error number, like another kernel or another profile. */
export type Refusals = Readonly<Record<string, number>>;

export const EPERM = 1;
export const ENOSYS = 38;

/** The names of all Landlock calls (landlock(7)). */
export const LANDLOCK: readonly string[] = ["landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self"];

/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET (clone(2)). */
const NAMESPACE_FLAGS = 0x7e02_0000;
const AF_VSOCK = 40;
/** PER_LINUX, PER_LINUX32, UNAME26, both, and the query (personality(2)). */
const PERSONALITIES = [0, 0x8, 0x2_0000, 0x2_0008, 0xffff_ffff];

const ALLOWED: Readonly<Record<string, string>> = {
  "files and folders": `
    access chdir chmod chown chown32 copy_file_range creat faccessat faccessat2 fadvise64 fadvise64_64 fallocate fchdir
    fchmod fchmodat fchmodat2 fchown fchown32 fchownat fdatasync flock fstat fstat64 fstatat64 fstatfs fstatfs64 fsync
    ftruncate ftruncate64 futimesat getcwd getdents getdents64 lchown lchown32 link linkat lstat lstat64 mkdir mkdirat
    mknod mknodat name_to_handle_at newfstatat open openat openat2 readahead readlink readlinkat rename renameat
    renameat2 rmdir stat stat64 statfs statfs64 statx symlink symlinkat sync sync_file_range syncfs truncate truncate64
    umask unlink unlinkat utime utimensat utimensat_time64 utimes arm_fadvise64_64 arm_sync_file_range sync_file_range2`,
  "attributes and watches": `
    fanotify_mark fgetxattr flistxattr fremovexattr fsetxattr getxattr inotify_add_watch inotify_init inotify_init1
    inotify_rm_watch lgetxattr listxattr llistxattr lremovexattr lsetxattr removexattr setxattr`,
  descriptors: `
    close close_range dup dup2 dup3 epoll_create epoll_create1 epoll_ctl epoll_ctl_old epoll_pwait epoll_pwait2
    epoll_wait epoll_wait_old eventfd eventfd2 fcntl fcntl64 ioctl _llseek lseek memfd_create memfd_secret _newselect
    pipe pipe2 poll ppoll ppoll_time64 pread64 preadv preadv2 pselect6 pselect6_time64 pwrite64 pwritev pwritev2 read
    readv select sendfile sendfile64 signalfd signalfd4 splice tee timerfd_create timerfd_gettime timerfd_gettime64
    timerfd_settime timerfd_settime64 vmsplice write writev`,
  sockets: `
    accept accept4 bind connect getpeername getsockname getsockopt listen recv recvfrom recvmmsg recvmmsg_time64 recvmsg
    send sendmmsg sendmsg sendto setsockopt shutdown socketcall socketpair`,
  memory: `
    brk cachestat get_thread_area madvise map_shadow_stack membarrier mincore mlock mlock2 mlockall mmap mmap2 mprotect
    mremap msync munlock munlockall munmap pkey_alloc pkey_free pkey_mprotect process_mrelease remap_file_pages
    set_thread_area arch_prctl modify_ldt cacheflush set_tls breakpoint`,
  "processes and threads": `
    execve execveat exit exit_group fork futex futex_requeue futex_time64 futex_wait futex_waitv futex_wake getcpu
    get_robust_list getpgid getpgrp getpid getppid getpriority getrlimit getrusage getsid gettid ioprio_get ioprio_set
    kill pause pidfd_open pidfd_send_signal prctl prlimit64 process_vm_readv process_vm_writev ptrace restart_syscall
    rseq sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getattr sched_getparam sched_getscheduler
    sched_rr_get_interval sched_rr_get_interval_time64 sched_setaffinity sched_setattr sched_setparam sched_setscheduler
    sched_yield set_robust_list set_tid_address setpgid setpriority setrlimit setsid tgkill tkill ugetrlimit vfork wait4
    waitid waitpid`,
  signals: `
    rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait
    rt_sigtimedwait_time64 rt_tgsigqueueinfo sigaltstack sigprocmask sigreturn`,
  identity: `
    capget capset getegid getegid32 geteuid geteuid32 getgid getgid32 getgroups getgroups32 getresgid getresgid32
    getresuid getresuid32 getuid getuid32 setfsgid setfsgid32 setfsuid setfsuid32 setgid setgid32 setgroups setgroups32
    setregid setregid32 setresgid setresgid32 setresuid setresuid32 setreuid setreuid32 setuid setuid32`,
  time: `
    adjtimex alarm clock_adjtime clock_adjtime64 clock_getres clock_getres_time64 clock_gettime clock_gettime64
    clock_nanosleep clock_nanosleep_time64 getitimer gettimeofday nanosleep setitimer time timer_create timer_delete
    timer_getoverrun timer_gettime timer_gettime64 timer_settime timer_settime64 times`,
  "System V and POSIX messages": `
    ipc mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedreceive_time64 mq_timedsend mq_timedsend_time64 mq_unlink
    msgctl msgget msgrcv msgsnd semctl semget semop semtimedop semtimedop_time64 shmat shmctl shmdt shmget`,
  "asynchronous files": "io_cancel io_destroy io_getevents io_pgetevents io_pgetevents_time64 io_setup io_submit",
  "the rest": "getrandom sysinfo uname",
  "what a process may take from itself": `${LANDLOCK.join(" ")} seccomp`,
};

function words(text: string): string[] {
  return text.trim().split(/\s+/);
}
