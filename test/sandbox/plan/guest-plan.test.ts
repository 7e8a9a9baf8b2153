import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { encodePlan, PROGRAM_ADDRESS } from "../../../src/sandbox/plan/encode.ts";
import { type GuestPolicy, guestPlan } from "../../../src/sandbox/plan/guest-plan.ts";
import { landlockSteps } from "../../../src/sandbox/plan/landlock.ts";
import { type Memory, type Step, stepsFor } from "../../../src/sandbox/plan/steps.ts";
import { seccompFilter } from "../../../src/sandbox/seccomp/seccomp.ts";
import type { Architecture } from "../../../src/sandbox/seccomp/system-calls.ts";
import { judge } from "../bpf.ts";

const ALL: GuestPolicy = {
  architecture: "x64",
  closeFrom: 4,
  root: "/jail",
  identity: { uid: 4_711, gid: 4_712 },
  rlimits: { core: 0, nofile: 128 },
  niceness: 5,
  dropsCapabilities: true,
  diesWithParent: true,
  landlock: { abi: 7, rules: [{ path: "/tmp", rights: "write" }] },
  filter: { pid: "own", ownsFiles: false },
  program: "/node",
};

function named(steps: readonly Step[], name: string): Step {
  return steps.find((step) => step.name === name)!;
}

function bytesOf(step: Step, index: number): Buffer {
  return (step.args[index] as Memory).bytes;
}

function numbersFor(architecture: Architecture): number[] {
  return guestPlan({ ...ALL, architecture }).steps.map(({ number }) => number);
}

function names(policy: Partial<GuestPolicy>): string[] {
  return guestPlan({ architecture: "x64", closeFrom: 4, ...policy }).steps.map(({ name }) => name);
}

describe("the plan of a guest", () => {
  it("gives up each right after the steps that need it, and ends with the program", () => {
    assert.deepEqual(names(ALL), [
      ...["close_range", "chroot", "chdir", "limit of core", "limit of nofile", "setpriority"],
      ...["setgroups", "setresgid", "setresuid", "ambient capabilities", "capabilities", "parent-death signal"],
      ...["no_new_privs", "landlock", "landlock path /tmp", "landlock rule /tmp", "landlock restriction"],
      // One for each rule that compares with the guest's process id.
      ...["close_range", ...Array<string>(7).fill("getpid"), "system-call filter", "start of the program"],
    ]);
  });

  it("has only the steps of the policy", () => {
    assert.deepEqual(names({}), ["close_range"]);
    assert.deepEqual(names({ noNewPrivileges: true }), ["close_range", "no_new_privs"]);
    assert.deepEqual(names({ filter: { pid: 1, ownsFiles: true } }), [
      "close_range",
      "no_new_privs",
      "system-call filter",
    ]);
    assert.deepEqual(names({ program: "/node" }), ["close_range", "start of the program"]);
  });

  it("has different numbers on each architecture, except for calls that are newer than both", () => {
    assert.equal(numbersFor("arm64").length, numbersFor("x64").length);
    const same = numbersFor("x64").filter((number, index) => number === numbersFor("arm64")[index]);
    assert.deepEqual(new Set(same), new Set([436, 444, 445, 446]));
  });

  it("sets the hard and the soft limit, so that a guest cannot raise it", () => {
    const limit = named(guestPlan(ALL).steps, "limit of nofile");
    assert.deepEqual(limit.args.slice(0, 2), [0, 7]);
    const values = bytesOf(limit, 2);
    assert.deepEqual([values.readBigUInt64LE(0), values.readBigUInt64LE(8)], [128n, 128n]);
  });

  it("changes the real, effective and saved user and group", () => {
    const { steps } = guestPlan(ALL);
    assert.deepEqual(named(steps, "setresuid").args, [4_711, 4_711, 4_711]);
    assert.deepEqual(named(steps, "setresgid").args, [4_712, 4_712, 4_712]);
  });

  for (const architecture of ["x64", "arm64"] as const) {
    it(`has a filter that allows one program and the guest's process id, for ${architecture}`, () => {
      const plan = guestPlan({ ...ALL, architecture });
      encodePlan(plan);
      const described = named(plan.steps, "system-call filter").args[2] as Memory;
      const { bytes } = described.pointers![0]!.to;
      assert.equal(described.bytes.readUInt16LE(0), bytes.length / 8);
      for (const { result, name } of plan.steps)
        if (name === "getpid") result!.memory.bytes.writeUInt32LE(77, result!.at);
      const expected = seccompFilter(architecture, { pid: 77, programAddress: PROGRAM_ADDRESS, ownsFiles: false });
      assert.deepEqual(bytes, expected.program);
      const arch = architecture === "x64" ? 0xc000003e : 0xc00000b7;
      const execve = (address: bigint): string => {
        return judge(bytes, { arch, number: architecture === "x64" ? 59 : 221, args: [address] });
      };
      assert.deepEqual([execve(PROGRAM_ADDRESS), execve(PROGRAM_ADDRESS + 1n)], ["allow", "EPERM"]);
    });
  }
});

function landlock(abi: number): Step[] {
  const rules = [
    { path: "/node", rights: "execute" },
    { path: "/tmp", rights: "write" },
  ] as const;
  return landlockSteps(stepsFor("x64"), { abi, rules }, 4);
}

/** Returns struct landlock_ruleset_attr (files, network, scopes), in the length of the ABI. */
function handled(abi: number): bigint[] {
  const create = named(landlock(abi), "landlock");
  const bytes = bytesOf(create, 0);
  assert.equal(create.args[1], bytes.length);
  return Array.from({ length: bytes.length / 8 }, (_, index) => bytes.readBigUInt64LE(index * 8));
}

describe("the Landlock steps of a plan", () => {
  it("handle exactly the rights of each ABI", () => {
    assert.deepEqual([1, 2, 3, 4, 5, 6, 7, 8].map(handled), [
      [0x1fffn],
      [0x3fffn],
      [0x7fffn],
      [0x7fffn, 3n],
      [0xffffn, 3n],
      [0xffffn, 3n, 3n],
      [0xffffn, 3n, 3n],
      [0xffffn, 3n, 3n],
    ]);
  });

  it("allow in each rule only rights of the ABI, because the kernel refuses others", () => {
    for (const abi of [1, 2, 3, 4, 5, 6, 7]) {
      const rule = bytesOf(named(landlock(abi), "landlock rule /tmp"), 2);
      assert.equal(rule.length, 12);
      assert.equal(rule.readBigUInt64LE(0) & ~handled(abi)[0]!, 0n);
      assert.equal(rule.readInt32LE(8), 6);
    }
    assert.equal(bytesOf(named(landlock(7), "landlock rule /node"), 2).readBigUInt64LE(0), 0b101n);
  });
});
