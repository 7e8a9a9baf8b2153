// Tries system calls from inside the sandbox, like native code that used a vulnerability of V8. It runs instead of Node in
// the same sandbox, and communicates on descriptor 3. It reads one line, `<what to try> <bytes of a filter> <bytes of
// another>`, and then the filters, which it installs. Then it tries the calls, with files in its working folder. It writes
// a line for each call: `refused` or `works`, the call, and its errno, which is 0 if the call succeeded.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

// Numbers that are the same on both architectures, for headers that are older than the kernel.
enum {
  NR_pidfd_send_signal = 424, NR_io_uring_setup, NR_io_uring_enter, NR_io_uring_register, NR_open_tree, NR_move_mount,
  NR_fsopen, NR_fsconfig, NR_fsmount, NR_fspick, NR_pidfd_open, NR_clone3, NR_openat2 = 437, NR_pidfd_getfd,
  NR_process_madvise = 440, NR_mount_setattr = 442, NR_quotactl_fd, NR_landlock_create_ruleset,
  NR_memfd_secret = 447, NR_process_mrelease, NR_futex_waitv, NR_cachestat = 451, NR_fchmodat2, NR_futex_wake = 454,
  NR_statmount = 457, NR_listmount, NR_lsm_list_modules = 461, NR_mseal
};

static const char *section = "";

static void report(const char *call, long result) {
  dprintf(3, "%s %s %d\n", section, call, result < 0 ? errno : 0);
  // Close what the call opened, so that later calls do not run out of descriptors.
  if (result > 5) close((int)result);
}
#define TRY(name, ...) (errno = 0, report(name, syscall(__VA_ARGS__)))

static void *nothing(void *unused) { return unused; }

static void try_sockets(void) {
  static const struct { const char *name; int family, type; } families[] = {
    {"UNIX", AF_UNIX, SOCK_STREAM}, {"INET", AF_INET, SOCK_STREAM}, {"INET6", AF_INET6, SOCK_STREAM},
    {"INET datagram", AF_INET, SOCK_DGRAM}, {"INET raw", AF_INET, SOCK_RAW}, {"NETLINK", AF_NETLINK, SOCK_RAW},
    {"PACKET", AF_PACKET, SOCK_RAW}, {"VSOCK", AF_VSOCK, SOCK_STREAM}, {"ALG", AF_ALG, SOCK_SEQPACKET},
    {"BLUETOOTH", AF_BLUETOOTH, SOCK_RAW}, {"CAN", AF_CAN, SOCK_RAW}, {"TIPC", AF_TIPC, SOCK_SEQPACKET},
    {"KEY", AF_KEY, SOCK_RAW}, {"XDP", 44, SOCK_RAW}, {"RDS", AF_RDS, SOCK_SEQPACKET}, {"QIPCRTR", 42, SOCK_DGRAM},
    {"SMC", 43, SOCK_STREAM}, {"KCM", AF_KCM, SOCK_DGRAM}, {"RXRPC", AF_RXRPC, SOCK_DGRAM}, {"NFC", AF_NFC, SOCK_RAW},
  };
  char name[64];
  for (size_t at = 0; at < sizeof families / sizeof *families; at++) {
    snprintf(name, sizeof name, "socket(%s)", families[at].name);
    TRY(name, SYS_socket, families[at].family, families[at].type, 0);
  }
  int pair[2];
  char byte;
  struct msghdr message = {0};
  struct sockaddr address = {.sa_family = AF_UNIX};
  socklen_t length = sizeof address;
  struct ucred credentials;
  TRY("socketpair", SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, pair);
  TRY("connect", SYS_connect, 3, &address, sizeof address);
  TRY("bind", SYS_bind, 3, &address, sizeof(sa_family_t));
  TRY("listen", SYS_listen, 3, 1);
  TRY("accept", SYS_accept, 3, 0, 0);
  TRY("accept4", SYS_accept4, 3, 0, 0, 0);
  TRY("sendto", SYS_sendto, 3, "", 0, 0, 0, 0);
  TRY("sendmsg", SYS_sendmsg, 3, &message, 0);
  TRY("sendmmsg", SYS_sendmmsg, 3, 0, 0, 0);
  TRY("recvfrom", SYS_recvfrom, 3, &byte, 1, MSG_DONTWAIT, 0, 0);
  TRY("recvmsg", SYS_recvmsg, 3, &message, MSG_DONTWAIT);
  TRY("recvmmsg", SYS_recvmmsg, 3, 0, 0, MSG_DONTWAIT, 0);
  TRY("setsockopt", SYS_setsockopt, 3, SOL_SOCKET, SO_PASSCRED, &(int){1}, sizeof(int));
  TRY("getpeername", SYS_getpeername, 3, &address, &length);
  length = sizeof credentials;
  TRY("getsockopt(PEERCRED)", SYS_getsockopt, 3, SOL_SOCKET, SO_PEERCRED, &credentials, &length);
  length = sizeof credentials;
  TRY("getsockopt(PEERPIDFD)", SYS_getsockopt, 3, SOL_SOCKET, 77, &credentials, &length);
  TRY("ioctl(SIOCGIFCONF)", SYS_ioctl, 3, 0x8912, (char[16]){0});
}

static void try_processes(void) {
  char *arguments[] = {"sh", 0};
  char byte;
  struct iovec here = {&byte, 1};
  siginfo_t info = {.si_signo = SIGCONT, .si_code = SI_QUEUE};
  const pid_t own = getpid(), parent = getppid();
#ifdef SYS_fork
  errno = 0;
  long child = syscall(SYS_fork);
  if (child == 0) _exit(0);
  report("fork", child);
  errno = 0;
  child = vfork();
  if (child == 0) _exit(0);
  report("vfork", child);
#endif
  errno = 0;
  long process = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
  if (process == 0) _exit(0);
  report("clone(a process)", process);
  errno = 0;
  process = syscall(SYS_clone, SIGCHLD | CLONE_NEWUSER, 0, 0, 0, 0);
  if (process == 0) _exit(0);
  report("clone(NEWUSER)", process);
  struct { uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, rest[6]; } clone_arguments = {.exit_signal = SIGCHLD};
  errno = 0;
  process = syscall(NR_clone3, &clone_arguments, sizeof clone_arguments);
  if (process == 0) _exit(0);
  report("clone3", process);
  TRY("execveat", SYS_execveat, AT_FDCWD, "/nowhere", arguments, 0, 0);
  // The only address of a path that the filter of the plan allows.
  TRY("execve(Node)", SYS_execve, (char *)0x2c00010010, arguments, 0);
  // CLONE_PIDFD and CLONE_DETACHED: the kernel does not accept both for a thread.
  TRY("clone(a thread with its own descriptors)", SYS_clone,
      CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD | 0x401000, 0, 0, 0, 0);
  TRY("wait4", SYS_wait4, -1, 0, 1, 0);
  TRY("waitid", SYS_waitid, 0, 0, 0, 5, 0);
  TRY("ptrace(ATTACH)", SYS_ptrace, PTRACE_ATTACH, parent, 0, 0);
  TRY("ptrace(PEEKDATA)", SYS_ptrace, PTRACE_PEEKDATA, own, &byte, &byte);
  TRY("process_vm_readv", SYS_process_vm_readv, own, &here, 1, &here, 1, 0);
  TRY("process_vm_writev", SYS_process_vm_writev, own, &here, 1, &here, 1, 0);
  TRY("process_madvise", NR_process_madvise, -1, &here, 1, 0, 0);
  TRY("process_mrelease", NR_process_mrelease, -1, 0);
  TRY("kcmp", SYS_kcmp, own, own, 0, 0, 0);
  TRY("kill(another)", SYS_kill, own + 1, 0);
  TRY("kill(all)", SYS_kill, -1, 0);
  TRY("kill(the group)", SYS_kill, 0, 0);
  TRY("tgkill(another)", SYS_tgkill, own + 1, own + 1, 0);
  TRY("tkill", SYS_tkill, own, 0);
  TRY("rt_sigqueueinfo", SYS_rt_sigqueueinfo, own + 1, SIGCONT, &info);
  TRY("rt_tgsigqueueinfo", SYS_rt_tgsigqueueinfo, own + 1, own + 1, SIGCONT, &info);
  TRY("pidfd_open", NR_pidfd_open, own, 0);
  TRY("pidfd_getfd", NR_pidfd_getfd, -1, 3, 0);
  TRY("pidfd_send_signal", NR_pidfd_send_signal, -1, 0, 0, 0);
  struct { uint64_t soft, hard; } raised = {1 << 20, 1 << 20};
  TRY("prlimit64(its stack)", SYS_prlimit64, 0, RLIMIT_STACK, &raised, 0);
  TRY("getpriority(another)", SYS_getpriority, PRIO_PROCESS, own + 1);
  TRY("getpriority(its user)", SYS_getpriority, PRIO_USER, 0);
  TRY("sched_getaffinity(another)", SYS_sched_getaffinity, own + 1, 128, (char[128]){0});
  TRY("sched_getscheduler(another)", SYS_sched_getscheduler, own + 1);
  TRY("sched_getparam(another)", SYS_sched_getparam, own + 1, &(int){0});
  TRY("clock_gettime(another)", SYS_clock_gettime, (int)(~(unsigned)(own + 1) << 3 | 2), &(struct timespec){0});
  TRY("clock_getres(another)", SYS_clock_getres, (int)(~(unsigned)(own + 1) << 3 | 2), &(struct timespec){0});
  TRY("pipe2(NOTIFICATION_PIPE)", SYS_pipe2, (int[2]){0}, 0x80);
  TRY("prlimit64(another)", SYS_prlimit64, own + 1, RLIMIT_NOFILE, 0, 0);
  TRY("setpgid", SYS_setpgid, 0, 0);
  TRY("setsid", SYS_setsid);
  TRY("setpriority", SYS_setpriority, PRIO_PROCESS, 0, 0);
  TRY("ioprio_set", SYS_ioprio_set, 1, 0, 0);
  TRY("sched_setaffinity", SYS_sched_setaffinity, 0, 8, &(uint64_t){~0ull});
  TRY("sched_setscheduler", SYS_sched_setscheduler, 0, SCHED_OTHER, &(int){0});
  TRY("sched_setattr", SYS_sched_setattr, 0, 0, 0);
  TRY("futex(LOCK_PI)", SYS_futex, &(int){0}, 6, 0, 0, 0, 0);
  TRY("futex(CMP_REQUEUE_PI)", SYS_futex, &(int){0}, 12, 1, 0, &(int){0}, 0);
  TRY("futex_waitv", NR_futex_waitv, 0, 0, 0, 0, 0);
  TRY("futex_wake", NR_futex_wake, &(int){0}, 1, 1, 2);
}

static void try_privileges(void) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct capabilities[2] = {0};
  struct sock_fprog program = {0};
  TRY("setuid", SYS_setuid, getuid());
  TRY("setgid", SYS_setgid, getgid());
  TRY("setreuid", SYS_setreuid, -1, -1);
  TRY("setresuid", SYS_setresuid, -1, -1, -1);
  TRY("setresgid", SYS_setresgid, -1, -1, -1);
  
  TRY("setgroups", SYS_setgroups, 0, 0);
  TRY("capset", SYS_capset, &header, capabilities);
  TRY("capget", SYS_capget, &header, capabilities);
  TRY("prctl(SET_DUMPABLE)", SYS_prctl, PR_SET_DUMPABLE, 1, 0, 0, 0);
  TRY("prctl(SET_PDEATHSIG)", SYS_prctl, PR_SET_PDEATHSIG, 0, 0, 0, 0);
  TRY("prctl(SET_SECUREBITS)", SYS_prctl, PR_SET_SECUREBITS, 0, 0, 0, 0);
  TRY("prctl(SET_KEEPCAPS)", SYS_prctl, PR_SET_KEEPCAPS, 0, 0, 0, 0);
  TRY("prctl(SET_PTRACER)", SYS_prctl, PR_SET_PTRACER, 0, 0, 0, 0);
  TRY("prctl(SET_CHILD_SUBREAPER)", SYS_prctl, PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
  TRY("prctl(SET_TIMERSLACK)", SYS_prctl, PR_SET_TIMERSLACK, 1, 0, 0, 0);
  TRY("prctl(SET_MM)", SYS_prctl, PR_SET_MM, 0, 0, 0, 0);
  TRY("prctl(SET_SECCOMP)", SYS_prctl, PR_SET_SECCOMP, 2, &program, 0, 0);
  TRY("prctl(SET_SPECULATION_CTRL)", SYS_prctl, 53, 0, 2, 0, 0);
  TRY("seccomp", SYS_seccomp, 2, 0, &(uint32_t){0x7fff0000});
  TRY("landlock_create_ruleset", NR_landlock_create_ruleset, 0, 0, 1);
  TRY("personality", SYS_personality, 0xffffffff);
  TRY("add_key", SYS_add_key, "user", "caisson", "x", 1, -2);
  TRY("request_key", SYS_request_key, "user", "caisson", 0, 0);
  TRY("keyctl", SYS_keyctl, 0, -2, 0);
  TRY("bpf", SYS_bpf, 99, 0, 0);
  TRY("perf_event_open", SYS_perf_event_open, 0, 0, -1, -1, 0);
  TRY("userfaultfd", SYS_userfaultfd, 1);
  TRY("io_uring_setup", NR_io_uring_setup, 1, (char[120]){0});
  TRY("io_uring_enter", NR_io_uring_enter, -1, 0, 0, 0, 0, 0);
  TRY("io_uring_register", NR_io_uring_register, -1, 0, 0, 0);
  TRY("unshare(FS)", SYS_unshare, CLONE_FS);
  TRY("unshare(NEWUSER)", SYS_unshare, CLONE_NEWUSER);
  TRY("unshare(NEWNET)", SYS_unshare, CLONE_NEWNET);
  TRY("setns", SYS_setns, 3, 0);
  TRY("init_module", SYS_init_module, 0, 0, "");
  TRY("finit_module", SYS_finit_module, -1, "", 0);
  TRY("delete_module", SYS_delete_module, "caisson", 0);
  TRY("kexec_load", SYS_kexec_load, 0, 0, 0, 0);
  TRY("reboot", SYS_reboot, 0, 0, 0, 0);
  TRY("syslog", SYS_syslog, 10, 0, 0);
  TRY("acct", SYS_acct, 0);
  TRY("sethostname", SYS_sethostname, "x", 1);
  TRY("clock_settime", SYS_clock_settime, 0, &(struct timespec){0});
  TRY("adjtimex", SYS_adjtimex, (char[256]){0});
  TRY("sysinfo", SYS_sysinfo, (char[256]){0});
  TRY("lsm_list_modules", NR_lsm_list_modules, (char[256]){0}, &(uint32_t){256}, 0);
#ifdef __x86_64__
  TRY("iopl", SYS_iopl, 0);
  TRY("ioperm", SYS_ioperm, 0, 1, 0);
  TRY("modify_ldt", SYS_modify_ldt, 0, (char[16]){0}, 16);
#endif
}

static void try_files(void) {
  struct { unsigned bytes; int type; char handle[128]; } handle = {.bytes = 128};
  struct flock lock = {.l_type = F_RDLCK};
  int mount_id;
  const int file = open("tried", O_RDWR | O_CREAT, 0600);
  TRY("mount", SYS_mount, "", ".", "", 32, 0);
  TRY("umount2", SYS_umount2, ".", 0x100);
  TRY("pivot_root", SYS_pivot_root, ".", ".");
  TRY("chroot", SYS_chroot, ".");
  TRY("fsopen", NR_fsopen, "tmpfs", 0);
  TRY("fsconfig", NR_fsconfig, -1, 99, 0, 0, 0);
  TRY("fsmount", NR_fsmount, -1, 0, 0);
  TRY("fspick", NR_fspick, AT_FDCWD, "/", 0);
  TRY("open_tree", NR_open_tree, AT_FDCWD, "/", 0);
  TRY("move_mount", NR_move_mount, AT_FDCWD, "/", AT_FDCWD, ".", 0);
  TRY("mount_setattr", NR_mount_setattr, AT_FDCWD, "/", 0, 0, 0);
  TRY("statmount", NR_statmount, 0, 0, 0, 0);
  TRY("listmount", NR_listmount, 0, 0, 0, 0);
  TRY("openat2", NR_openat2, AT_FDCWD, ".", (uint64_t[3]){0}, 24);
  TRY("mknodat(FIFO)", SYS_mknodat, AT_FDCWD, "fifo", S_IFIFO | 0600, 0);
  TRY("mknodat(device)", SYS_mknodat, AT_FDCWD, "device", S_IFCHR | 0600, 0x101);
  TRY("linkat", SYS_linkat, AT_FDCWD, "tried", AT_FDCWD, "linked", 0);
  TRY("symlinkat", SYS_symlinkat, "/", AT_FDCWD, "pointer");
  TRY("truncate", SYS_truncate, "tried", 0);
  TRY("openat that truncates what it reads", SYS_openat, AT_FDCWD, "tried", O_RDONLY | O_TRUNC, 0);
  TRY("fchownat", SYS_fchownat, AT_FDCWD, "tried", -1, -1, 0);
  TRY("setxattr", SYS_setxattr, "tried", "user.x", "", 0, 0);
  TRY("fchmodat2", NR_fchmodat2, AT_FDCWD, "tried", 0600, 0);
  TRY("name_to_handle_at", SYS_name_to_handle_at, AT_FDCWD, ".", &handle, &mount_id, 0);
  TRY("open_by_handle_at", SYS_open_by_handle_at, -1, &handle, 0);
  TRY("swapon", SYS_swapon, "tried", 0);
  TRY("swapoff", SYS_swapoff, "tried");
  TRY("quotactl", SYS_quotactl, 0x80000100, 0, 0, 0);
  TRY("quotactl_fd", NR_quotactl_fd, file, 0, 0, 0);
  TRY("sync", SYS_sync);
  TRY("statfs", SYS_statfs, "/", (char[256]){0});
  TRY("fstatfs", SYS_fstatfs, file, (char[256]){0});
  TRY("mmap(a file)", SYS_mmap, 0, 4096, PROT_READ, MAP_PRIVATE, file, 0);
  TRY("mmap(a file, shared)", SYS_mmap, 0, 4096, PROT_READ, MAP_SHARED, file, 0);
  TRY("flock", SYS_flock, file, 1);
  TRY("fcntl(SETLK)", SYS_fcntl, file, F_SETLK, &lock);
  TRY("fcntl(SETOWN)", SYS_fcntl, 3, F_SETOWN, getpid());
  TRY("fcntl(SETSIG)", SYS_fcntl, 3, F_SETSIG, 0);
  TRY("fcntl(SETLEASE)", SYS_fcntl, file, F_SETLEASE, F_UNLCK);
  TRY("fcntl(ADD_SEALS)", SYS_fcntl, file, 1033, 0);
  TRY("ioctl(TIOCSTI)", SYS_ioctl, file, 0x5412, "x");
  TRY("ioctl(TIOCLINUX)", SYS_ioctl, file, 0x541c, "x");
  TRY("ioctl(TIOCSCTTY)", SYS_ioctl, file, 0x540e, 0);
  TRY("ioctl(FIOASYNC)", SYS_ioctl, 3, 0x5452, &(int){0});
  TRY("sendfile", SYS_sendfile, file, file, 0, 0);
  TRY("splice", SYS_splice, file, 0, file, 0, 0, 0);
  TRY("vmsplice", SYS_vmsplice, file, 0, 0, 0);
  TRY("tee", SYS_tee, file, file, 1, 0);
  TRY("cachestat", NR_cachestat, file, (uint64_t[2]){0}, (uint64_t[5]){0}, 0);
  TRY("readahead", SYS_readahead, file, 0, 0);
  TRY("inotify_init1", SYS_inotify_init1, 0);
  TRY("fanotify_init", SYS_fanotify_init, 0x200, 0);
  TRY("signalfd4", SYS_signalfd4, -1, &(uint64_t){0}, 8, 0);
  TRY("timerfd_create", SYS_timerfd_create, 1, 0);
  TRY("timer_create", SYS_timer_create, 1, &(struct sigevent){.sigev_notify = SIGEV_NONE}, &(int){0});
  TRY("setitimer", SYS_setitimer, 0, (long[4]){0}, 0);
  TRY("shmget", SYS_shmget, 0, 4096, 0600);
  TRY("msgget", SYS_msgget, 0, 0600);
  TRY("semget", SYS_semget, 0, 1, 0600);
  TRY("mq_open", SYS_mq_open, "caisson", O_CREAT | O_RDWR, 0600, 0);
  TRY("memfd_create", SYS_memfd_create, "caisson", 0);
  TRY("memfd_secret", NR_memfd_secret, 0);
  TRY("mmap(shared anonymous)", SYS_mmap, 0, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  void *page = mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  TRY("madvise(MERGEABLE)", SYS_madvise, page, 4096, 12);
  TRY("madvise(PAGEOUT)", SYS_madvise, page, 4096, 21);
  TRY("mincore", SYS_mincore, page, 4096, (char[1]){0});
  TRY("mlock", SYS_mlock, page, 4096);
  TRY("mlockall", SYS_mlockall, 1);
  TRY("mseal", NR_mseal, page, 4096, 0);
  TRY("mbind", SYS_mbind, page, 4096, 0, 0, 0, 0);
  TRY("set_mempolicy", SYS_set_mempolicy, 0, 0, 0);
  TRY("move_pages", SYS_move_pages, 0, 0, 0, 0, 0, 0);
  TRY("migrate_pages", SYS_migrate_pages, getpid(), 8, &(uint64_t){0}, &(uint64_t){0});
  TRY("remap_file_pages", SYS_remap_file_pages, page, 4096, 0, 0, 0);
}

static void try_what_works(void) {
  char buffer[4096];
  int pipe_ends[2], type;
  socklen_t length = sizeof type;
  struct stat found;
  struct rlimit64 { uint64_t soft, hard; } limit;
  const int file = open("works", O_RDWR | O_CREAT | O_TRUNC, 0600);
  report("openat", file < 0 ? -1 : 0);
  TRY("pwrite64", SYS_pwrite64, file, "12345", 5, 0);
  TRY("pread64", SYS_pread64, file, buffer, 5, 0);
  TRY("ftruncate", SYS_ftruncate, file, 3);
  TRY("fsync", SYS_fsync, file);
  TRY("copy_file_range", SYS_copy_file_range, file, &(int64_t){0}, file, &(int64_t){4096}, 3, 0);
  TRY("fstat", SYS_fstat, file, &found);
  TRY("statx", SYS_statx, AT_FDCWD, ".", 0, 0x7ff, buffer);
  TRY("mkdirat", SYS_mkdirat, AT_FDCWD, "folder", 0700);
  TRY("renameat2", SYS_renameat2, AT_FDCWD, "folder", AT_FDCWD, "other", 0);
  TRY("unlinkat", SYS_unlinkat, AT_FDCWD, "other", AT_REMOVEDIR);
  TRY("getdents64", SYS_getdents64, open(".", O_RDONLY | O_DIRECTORY), buffer, sizeof buffer);
  TRY("getcwd", SYS_getcwd, buffer, sizeof buffer);
  TRY("chdir", SYS_chdir, ".");
  TRY("pipe2", SYS_pipe2, pipe_ends, 0);
  TRY("eventfd2", SYS_eventfd2, 0, 0);
  TRY("epoll_create1", SYS_epoll_create1, 0);
  TRY("getsockname", SYS_getsockname, 3, buffer, &(socklen_t){sizeof buffer});
  TRY("getsockopt(TYPE)", SYS_getsockopt, 3, SOL_SOCKET, SO_TYPE, &type, &length);
  TRY("ioctl(FIONREAD)", SYS_ioctl, 3, FIONREAD, &type);
  TRY("fcntl(GETFL)", SYS_fcntl, 3, F_GETFL);
  TRY("prlimit64(itself)", SYS_prlimit64, 0, RLIMIT_NOFILE, 0, &limit);
  TRY("prctl(SET_NAME)", SYS_prctl, PR_SET_NAME, "probe", 0, 0, 0);
  TRY("kill(itself)", SYS_kill, getpid(), 0);
  TRY("tgkill(itself)", SYS_tgkill, getpid(), (int)syscall(SYS_gettid), 0);
  TRY("getrandom", SYS_getrandom, buffer, 16, 0);
  TRY("clock_gettime", SYS_clock_gettime, 1, buffer);
  TRY("nanosleep", SYS_nanosleep, &(struct timespec){0, 1}, 0);
  TRY("uname", SYS_uname, buffer);
  TRY("sched_yield", SYS_sched_yield);
  TRY("sched_getaffinity", SYS_sched_getaffinity, 0, 128, buffer);
  TRY("getrusage", SYS_getrusage, 0, buffer);
  TRY("futex(WAKE)", SYS_futex, &(int){0}, 1, 1, 0, 0, 0);
  TRY("sigaltstack", SYS_sigaltstack, 0, buffer);
  void *code = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  report("mmap", code == MAP_FAILED ? -1 : 0);
  TRY("mprotect(EXEC)", SYS_mprotect, code, 4096, PROT_READ | PROT_EXEC);
  TRY("madvise(DONTNEED)", SYS_madvise, code, 4096, MADV_DONTNEED);
  TRY("munmap", SYS_munmap, code, 8192);
  pthread_t thread;
  errno = pthread_create(&thread, 0, nothing, 0);
  report("clone(a thread)", errno ? -1 : pthread_join(thread, 0));
}

static void call_as_another_architecture(void) {
#ifdef __x86_64__
  long result = 20;
  // getpid(2) of i386.
  __asm__ volatile("int $0x80" : "+a"(result) : : "r8", "r9", "r10", "r11", "memory");
  dprintf(3, "through\n");
#endif
}

static void call_as_x32(void) {
#ifdef __x86_64__
  syscall(0x40000000 | SYS_getpid);
  dprintf(3, "through\n");
#endif
}

static void read_exactly(void *to, size_t bytes) {
  for (size_t at = 0; at < bytes;) {
    const ssize_t got = read(3, (char *)to + at, bytes - at);
    if (got <= 0) exit(2);
    at += (size_t)got;
  }
}

int main(void) {
  char line[64] = {0}, what[32];
  unsigned filter_bytes[2];
  for (size_t at = 0; at < sizeof line - 1 && (at == 0 || line[at - 1] != '\n'); at++) read_exactly(line + at, 1);
  if (sscanf(line, "%31s %u %u", what, &filter_bytes[0], &filter_bytes[1]) != 3) exit(3);
  for (size_t at = 0; at < 2; at++) {
    if (filter_bytes[at] == 0) continue;
    struct sock_fprog program = {(unsigned short)(filter_bytes[at] / 8), malloc(filter_bytes[at])};
    read_exactly(program.filter, filter_bytes[at]);
    if (at == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) exit(4);
    if (prctl(PR_SET_SECCOMP, 2, &program)) exit(4);
  }
  if (strcmp(what, "i386") == 0) call_as_another_architecture();
  else if (strcmp(what, "x32") == 0) call_as_x32();
  else {
    section = "works";
    try_what_works();
    section = "refused";
    try_files();
    try_processes();
    try_privileges();
    try_sockets();
  }
  return 0;
}
