import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { type Architecture, seccompFilter } from "../../src/sandbox/seccomp.ts";
import { judge } from "./bpf.ts";

const ARCH = { x64: 0xc000003e, arm64: 0xc00000b7 };

/** Call, its number on x64 and arm64, its arguments, and what must become of it. */
const CALLS: [what: string, x64: number, arm64: number, args: (number | bigint)[], outcome: string][] = [
  ["read", 0, 63, [], "allow"],
  ["futex", 202, 98, [], "allow"],
  ["epoll_pwait", 281, 22, [], "allow"],
  ["clone of a thread", 56, 220, [0x3d0f00], "allow"],
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
  ["ioctl FIONBIO", 16, 29, [3, 0x5421], "allow"],
  ["ioctl TIOCSTI", 16, 29, [0, 0x5412], "EPERM"],
  ["ioctl TIOCLINUX", 16, 29, [0, 0x541c], "EPERM"],
  ["fcntl F_SETFL", 72, 25, [3, 4], "allow"],
  ["fcntl F_SETOWN", 72, 25, [3, 8], "EPERM"],
  ["private anonymous memory", 9, 222, [0, 4_096, 3, 0x22], "allow"],
  ["shared anonymous memory", 9, 222, [0, 4_096, 3, 0x21], "EPERM"],
  ["openat to read", 257, 56, [-100, 0, 0], "allow"],
  ["openat that truncates what it reads", 257, 56, [-100, 0, 0x200], "EPERM"],
  ["a call of a newer kernel", 462, 462, [], "ENOSYS"],
];

for (const architecture of ["x64", "arm64"] as Architecture[]) {
  describe(`the filter for ${architecture}`, () => {
    const program = seccompFilter(architecture);

    for (const [what, x64, arm64, args, outcome] of CALLS) {
      it(`answers ${what} with ${outcome}`, () => {
        const number = architecture === "x64" ? x64 : arm64;
        assert.equal(judge(program, { arch: ARCH[architecture], number, args }), outcome);
      });
    }

    it("kills a call of another architecture", () => {
      assert.equal(judge(program, { arch: 0x40000003, number: 3 }), "kill");
    });

    it("fits into what the kernel takes", () => {
      assert.ok(program.length / 8 <= 4_096);
    });
  });
}

describe("the filter for x64", () => {
  it("kills a call of the x32 interface", () => {
    assert.equal(judge(seccompFilter("x64"), { arch: ARCH.x64, number: 0x40000000 }), "kill");
  });
});
