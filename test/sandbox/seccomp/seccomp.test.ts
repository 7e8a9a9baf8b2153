import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { type FilterOptions, sealFilter, seccompFilter } from "../../../src/sandbox/seccomp/seccomp.ts";
import type { Architecture } from "../../../src/sandbox/seccomp/system-calls.ts";
import { judge } from "../bpf.ts";

const ARCH = { x64: 0xc000003e, arm64: 0xc00000b7 };

/** The options for a guest that is process 1 of its PID namespace and has a separate root. */
const OPTIONS: FilterOptions = { pid: 1, programAddress: 0x2c_0001_0010n, ownsFiles: true };

/** The call, its number on x64 and arm64, its arguments, and the expected answer. */
const CALLS: [what: string, x64: number, arm64: number, args: (number | bigint)[], outcome: string][] = [
  ["read", 0, 63, [], "allow"],
  ["futex", 202, 98, [], "allow"],
  ["epoll_pwait", 281, 22, [], "allow"],
  ["clone of a thread", 56, 220, [0x3d0f00], "allow"],
  ["clone of a thread with separate descriptors", 56, 220, [0x3d0b00], "EPERM"],
  ["clone of a thread with a separate working folder", 56, 220, [0x3d0d00], "EPERM"],
  ["clone of a process", 56, 220, [17], "EPERM"],
  ["clone of a thread in a new user namespace", 56, 220, [0x103d0f00], "EPERM"],
  ["clone3", 435, 435, [], "ENOSYS"],
  ["socket", 41, 198, [1, 1, 0], "EPERM"],
  ["connect", 42, 203, [], "EPERM"],
  ["socketpair", 53, 199, [], "EPERM"],
  ["bind", 49, 200, [], "EPERM"],
  ["sendmsg", 46, 211, [], "EPERM"],
  ["recvmsg", 47, 212, [], "EPERM"],
  ["kill of itself", 62, 129, [1, 6], "allow"],
  ["kill of another", 62, 129, [2, 9], "EPERM"],
  ["kill of all", 62, 129, [-1, 9], "EPERM"],
  ["tgkill of itself", 234, 131, [1, 1, 6], "allow"],
  ["mmap of memory", 9, 222, [0, 4_096, 3, 0x22], "allow"],
  ["mmap of a thread's stack", 9, 222, [0, 4_096, 3, 0x2_0022], "allow"],
  ["mmap of shared memory", 9, 222, [0, 4_096, 3, 0x21], "EPERM"],
  ["mmap of memory that grows down", 9, 222, [0, 4_096, 3, 0x122], "EPERM"],
  ["mmap of huge pages", 9, 222, [0, 4_096, 3, 0x4_0022], "EPERM"],
  ["ptrace", 101, 117, [], "EPERM"],
  ["process_vm_readv", 310, 270, [], "EPERM"],
  ["mount", 165, 40, [], "EPERM"],
  ["umount2", 166, 39, [], "EPERM"],
  ["unshare", 272, 97, [], "EPERM"],
  ["setns", 308, 268, [], "EPERM"],
  ["pivot_root", 155, 41, [], "EPERM"],
  ["chroot", 161, 51, [], "EPERM"],
  ["setuid", 105, 146, [], "EPERM"],
  ["setresuid", 117, 147, [], "EPERM"],
  ["capset", 126, 91, [], "EPERM"],
  ["bpf", 321, 280, [], "EPERM"],
  ["perf_event_open", 298, 241, [], "EPERM"],
  ["userfaultfd", 323, 282, [], "EPERM"],
  ["io_uring_setup", 425, 425, [], "EPERM"],
  ["add_key", 248, 217, [], "EPERM"],
  ["keyctl", 250, 219, [], "EPERM"],
  ["memfd_create", 319, 279, [], "EPERM"],
  ["open_by_handle_at", 304, 265, [], "EPERM"],
  ["init_module", 175, 105, [], "EPERM"],
  ["kexec_load", 246, 104, [], "EPERM"],
  ["reboot", 169, 142, [], "EPERM"],
  ["seccomp", 317, 277, [], "EPERM"],
  ["mknodat", 259, 33, [], "EPERM"],
  ["prctl PR_SET_NAME", 157, 167, [15], "allow"],
  ["prctl PR_SET_DUMPABLE", 157, 167, [4], "EPERM"],
  ["prctl PR_SET_PDEATHSIG", 157, 167, [1], "EPERM"],
  ["prlimit64 of itself", 302, 261, [0], "allow"],
  ["prlimit64 of another", 302, 261, [7], "EPERM"],
  ["prlimit64 that sets", 302, 261, [0, 3, 0x7fff_0000_1000n], "EPERM"],
  ["prlimit64 that sets from an address whose low half is 0", 302, 261, [0, 3, 0x7fff_0000_0000n], "EPERM"],
  ["getpriority of itself", 140, 141, [0, 0], "allow"],
  ["getpriority of another", 140, 141, [0, 7], "EPERM"],
  ["getpriority of a user", 140, 141, [2, 0], "EPERM"],
  ["sched_getaffinity of itself", 204, 123, [0, 8], "allow"],
  ["sched_getaffinity of another", 204, 123, [7, 8], "ENOSYS"],
  ["sched_getscheduler of another", 145, 120, [7], "EPERM"],
  ["sched_getparam of another", 143, 121, [7], "EPERM"],
  ["capget", 125, 90, [], "EPERM"],
  ["clock_gettime CLOCK_THREAD_CPUTIME_ID", 228, 113, [3], "allow"],
  ["clock_gettime of the processor time of another", 228, 113, [-14], "EPERM"],
  ["clock_getres of the processor time of another", 229, 114, [-14], "EPERM"],
  ["clock_nanosleep by the processor time of another", 230, 115, [-14], "EPERM"],
  ["pipe2", 293, 59, [0, 0x8_0800], "allow"],
  ["pipe2 O_NOTIFICATION_PIPE", 293, 59, [0, 0x80], "EPERM"],
  ["statfs", 137, 43, [], "EPERM"],
  ["fstatfs", 138, 44, [], "EPERM"],
  ["readlinkat", 267, 78, [], "EINVAL"],
  ["prctl PR_SET_SECCOMP", 157, 167, [22, 2], "allow"],
  ["ioctl FIONBIO", 16, 29, [3, 0x5421], "allow"],
  ["ioctl TIOCSTI", 16, 29, [0, 0x5412], "EPERM"],
  ["ioctl TIOCLINUX", 16, 29, [0, 0x541c], "EPERM"],
  ["fcntl F_SETFL", 72, 25, [3, 4], "allow"],
  ["fcntl F_SETOWN", 72, 25, [3, 8], "EPERM"],
  ["private anonymous memory", 9, 222, [0, 4_096, 3, 0x22], "allow"],
  ["shared anonymous memory", 9, 222, [0, 4_096, 3, 0x21], "EPERM"],
  ["openat to read", 257, 56, [-100, 0, 0], "allow"],
  ["openat that truncates a file that it reads", 257, 56, [-100, 0, 0x200], "EPERM"],
  ["futex FUTEX_WAIT_PRIVATE", 202, 98, [0, 128], "allow"],
  ["futex FUTEX_WAIT_BITSET_PRIVATE with a clock", 202, 98, [0, 393], "allow"],
  ["futex FUTEX_LOCK_PI_PRIVATE", 202, 98, [0, 134], "EPERM"],
  ["futex FUTEX_CMP_REQUEUE_PI", 202, 98, [0, 12], "EPERM"],
  ["futex with an unknown command", 202, 98, [0, 0x400], "EPERM"],
  ["getsockopt SO_TYPE", 55, 209, [3, 1, 3], "allow"],
  ["getsockopt SO_PEERCRED", 55, 209, [3, 1, 17], "EPERM"],
  ["getsockopt SO_PEERPIDFD", 55, 209, [3, 1, 77], "EPERM"],
  ["getpeername", 52, 205, [3], "EPERM"],
  ["madvise MADV_DONTNEED", 28, 233, [0, 4_096, 4], "allow"],
  ["madvise MADV_MERGEABLE", 28, 233, [0, 4_096, 12], "EPERM"],
  ["sysinfo", 99, 179, [], "EPERM"],
  ["mincore", 27, 232, [], "EPERM"],
  ["sendfile", 40, 71, [], "EPERM"],
  ["fchmod", 91, 52, [3, 0o600], "allow"],
  ["execve of the program", 59, 221, [0x2c_0001_0010n], "allow"],
  ["execve of another", 59, 221, [0x7fff_0000_1234n], "EPERM"],
  ["a call of a newer kernel", 462, 462, [], "ENOSYS"],
];

for (const architecture of ["x64", "arm64"] as Architecture[]) {
  describe(`the filter for ${architecture}`, () => {
    const { program } = seccompFilter(architecture, OPTIONS);

    for (const [what, x64, arm64, args, outcome] of CALLS) {
      it(`answers ${what} with ${outcome}`, () => {
        const number = architecture === "x64" ? x64 : arm64;
        assert.equal(judge(program, { arch: ARCH[architecture], number, args }), outcome);
      });
    }

    it("kills a call of another architecture", () => {
      assert.equal(judge(program, { arch: 0x40000003, number: 3 }), "kill");
    });

    it("adds the mark to its errors, and changes nothing else", () => {
      const marked = seccompFilter(architecture, { ...OPTIONS, mark: 1_024 }).program;
      const names: Readonly<Record<string, string>> = {
        EPERM: "errno 1025",
        ENOSYS: "errno 1062",
        EINVAL: "errno 1046",
      };
      for (const [what, x64, arm64, args, outcome] of CALLS) {
        const number = architecture === "x64" ? x64 : arm64;
        assert.equal(judge(marked, { arch: ARCH[architecture], number, args }), names[outcome] ?? outcome, what);
      }
    });

    it("is not longer than the kernel's maximum", () => {
      assert.ok(program.length / 8 <= 4_096);
    });
  });
}

/** The answers of the second filter, under which Node runs. */
const SEALED_CALLS: typeof CALLS = [
  ["read", 0, 63, [], "allow"],
  ["execve of the program", 59, 221, [0x2c_0001_0010n], "EPERM"],
  ["prctl PR_SET_NAME", 157, 167, [15], "allow"],
  ["prctl PR_SET_SECCOMP", 157, 167, [22, 2], "EPERM"],
  ["mmap of memory", 9, 222, [0, 4_096, 3, 0x22, -1], "allow"],
  ["mmap of memory for code", 9, 222, [0, 4_096, 7, 0x22, -1], "allow"],
  ["mmap of a file's code", 9, 222, [0, 4_096, 5, 0x802, 4], "EPERM"],
  ["mmap of a file", 9, 222, [0, 4_096, 1, 0x2, 4], "EPERM"],
  ["shared mmap of a file", 9, 222, [0, 4_096, 1, 0x1, 4], "EPERM"],
];

for (const architecture of ["x64", "arm64"] as Architecture[]) {
  describe(`the filter of the seal for ${architecture}`, () => {
    for (const [what, x64, arm64, args, outcome] of SEALED_CALLS) {
      it(`answers ${what} with ${outcome}`, () => {
        const number = architecture === "x64" ? x64 : arm64;
        assert.equal(judge(sealFilter(architecture), { arch: ARCH[architecture], number, args }), outcome);
      });
    }
  });
}

describe("the filter for x64", () => {
  it("kills a call of the x32 interface", () => {
    assert.equal(judge(seccompFilter("x64", OPTIONS).program, { arch: ARCH.x64, number: 0x40000000 }), "kill");
  });
});

/** The options for a guest in the host's PID namespace that shares files with the host. */
const SHARING: FilterOptions = { pid: 4_711, programAddress: 0x7_0040_00b0n, ownsFiles: false };

/** The answers for such guests, in the same format as above. */
const SHARED_CALLS: typeof CALLS = [
  ["kill of itself", 62, 129, [4_711, 6], "allow"],
  ["kill of process 1", 62, 129, [1, 6], "EPERM"],
  ["kill of the process group", 62, 129, [0, 9], "EPERM"],
  ["tgkill of itself", 234, 131, [4_711, 4_712, 6], "allow"],
  ["tgkill of process 1", 234, 131, [1, 1, 6], "EPERM"],
  ["getpriority of itself by its process id", 140, 141, [0, 4_711], "allow"],
  ["getpriority of process 1", 140, 141, [0, 1], "EPERM"],
  ["prlimit64 of itself by its process id", 302, 261, [4_711], "allow"],
  ["prlimit64 of process 1", 302, 261, [1], "EPERM"],
  ["execve of the program", 59, 221, [0x7_0040_00b0n], "allow"],
  ["execve of an address with the same low half", 59, 221, [0x8_0040_00b0n], "EPERM"],
  ["execve of an address with the same high half", 59, 221, [0x7_0040_00b1n], "EPERM"],
  ["fchmod", 91, 52, [3, 0o600], "EPERM"],
  ["utimensat", 280, 88, [], "EPERM"],
];

for (const architecture of ["x64", "arm64"] as Architecture[]) {
  describe(`the filter for ${architecture} of a guest that shares ids and files`, () => {
    for (const [what, x64, arm64, args, outcome] of SHARED_CALLS) {
      it(`answers ${what} with ${outcome}`, () => {
        const number = architecture === "x64" ? x64 : arm64;
        const { program } = seccompFilter(architecture, SHARING);
        assert.equal(judge(program, { arch: ARCH[architecture], number, args }), outcome);
      });
    }
  });
}

for (const architecture of ["x64", "arm64"] as Architecture[]) {
  describe(`the filter for ${architecture} of a guest whose process id is not known yet`, () => {
    it("equals the filter for the process id after the id is written at its offsets", () => {
      const { program, pidOffsets } = seccompFilter(architecture, { ...SHARING, pid: "own" });
      for (const at of pidOffsets) program.writeUInt32LE(SHARING.pid as number, at);
      assert.deepEqual(program, seccompFilter(architecture, SHARING).program);
    });

    it("allows no signals before that", () => {
      const { program } = seccompFilter(architecture, { ...SHARING, pid: "own" });
      for (const [what, x64, arm64, args] of SHARED_CALLS.filter(([name]) => /^(tg)?kill /.test(name))) {
        const number = architecture === "x64" ? x64 : arm64;
        assert.equal(judge(program, { arch: ARCH[architecture], number, args }), "EPERM", what);
      }
    });
  });
}
