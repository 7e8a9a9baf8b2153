import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { Socket } from "node:net";
import { constants, tmpdir } from "node:os";
import path from "node:path";
import { text as textOf } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";

import { encodePlan, failedStep } from "../../../src/sandbox/plan/encode.ts";
import { executePlan, sendPlan } from "../../../src/sandbox/plan/execute-plan.ts";
import { type GuestPolicy, guestPlan } from "../../../src/sandbox/plan/guest-plan.ts";
import { type Memory, type Plan, type Step, text } from "../../../src/sandbox/plan/steps.ts";
import type { Architecture } from "../../../src/sandbox/seccomp/system-calls.ts";
import { prepareRunFolder, type RunFolder } from "../../../src/sandbox/temp/run-folder.ts";
import { ownLandlock } from "../landlock.ts";

const architecture = process.arch as Architecture;
const abi = process.platform === "linux" ? await ownLandlock() : 0;
const isRoot = process.getuid?.() === 0;
const { EPERM, EACCES, ENOENT, EMFILE, EBADF, ENOMEM } = constants.errno;
const PARENT = { closeFrom: 4, architecture };

let folder: RunFolder;

function call(x64: number, arm64: number, ...args: Step["args"]): Step {
  return { name: "a call", number: architecture === "x64" ? x64 : arm64, args };
}

const CLONE = (flags: number, ...childSteps: Step[]): Step => call(56, 220, flags, childSteps);
const END = call(60, 93, 0);
/** mmap with MAP_FIXED_NOREPLACE. */
const mapAt = (address: number): Step => call(9, 222, address, 4_096, 0, 0x10_0022, -1, 0);
const openFile = (file: string): Step => call(257, 56, -100, text(file), 0);
const writeFileCall = (file: string): Step => call(257, 56, -100, text(file), 0o102, 0o600);

/** Executes calls after the plan of a policy. @returns their results. */
async function resultsOf(policy: Partial<GuestPolicy>, ...calls: Step[]): Promise<readonly number[]> {
  const { fault, results } = await executePlan(folder.stub, architecture, guestPlan({ ...PARENT, ...policy }), calls);
  assert.equal(fault, null);
  return results;
}

/** Starts a stub with a plan. @returns its exit code and its standard output. */
async function runStub(plan: Buffer, args: readonly string[] = []): Promise<{ code: number | null; output: string }> {
  const child = spawn(folder.stub, args, {
    stdio: ["ignore", "pipe", "inherit", "pipe", "pipe"],
    env: { PASSED_ON: "1" },
  });
  sendPlan(child.stdio[4] as Socket, plan);
  const exited = once(child, "exit");
  const output = await textOf(child.stdout!);
  return { code: ((await exited) as [number | null])[0], output };
}

describe("the stub", { skip: process.platform !== "linux" }, () => {
  before(async () => {
    folder = await prepareRunFolder();
  });
  after(() => folder.remove());

  it("executes the program with its own arguments and its own environment", async () => {
    const node: Plan = guestPlan({ ...PARENT, program: folder.node });
    const script = "console.log(JSON.stringify([process.argv0, process.argv.slice(1), process.env.PASSED_ON]))";
    const { output } = await runStub(encodePlan(node), ["program-name", "-e", script, "one", "two"]);
    assert.deepEqual(JSON.parse(output), ["program-name", ["one", "two"], "1"]);
  });

  it("reports the failed step, and executes no step after it", async () => {
    const plan = guestPlan({ ...PARENT, root: "/nowhere", program: folder.node });
    const { code } = await runStub(encodePlan(plan), ["node", "-e", "console.log('through')"]);
    assert.equal(failedStep(plan, code), "chroot");
    const result = await executePlan(folder.stub, architecture, plan, []);
    assert.deepEqual(result, { fault: "chroot", results: [] });
  });

  it("does nothing without a complete plan", async () => {
    const plan = guestPlan({ ...PARENT, program: folder.node });
    for (const part of [Buffer.alloc(0), encodePlan(plan).subarray(0, 16_383)]) {
      const { code } = await runStub(part, ["node", "-e", "console.log('through')"]);
      assert.equal(failedStep(plan, code), "no plan came");
    }
  });

  it("does not read a plan from the descriptor of the frames", async () => {
    const child = spawn(folder.stub, [], { stdio: ["ignore", "ignore", "inherit", "pipe"] });
    sendPlan(child.stdio[3] as Socket, encodePlan(guestPlan({ ...PARENT, program: folder.node })));
    const [code] = (await once(child, "exit")) as [number];
    assert.equal(code, 192);
  });

  it("continues after a call that may fail, and reports the result of each call", async () => {
    const [missing, pid, missingToo] = await resultsOf({}, openFile("/nowhere"), call(39, 172), openFile("/nowhere"));
    assert.deepEqual([missing, missingToo], [-ENOENT, -ENOENT]);
    assert.ok(pid! > 0);
  });

  it("does not mistake an address for an error", async () => {
    const [high, higher] = await resultsOf({}, mapAt(0x10_8000_0000), mapAt(0x10_ffff_e000));
    assert.deepEqual([high, higher], [0x8000_0000, 0xffff_e000]);
  });

  it("lets a new process execute other steps, and continues when these are done", async () => {
    // CLONE_VM, FILES and VFORK: a descriptor that the child closes is also closed here, before this process continues.
    const closes = CLONE(0x4511, call(3, 57, 0), call(60, 93, 7));
    const state: Step = call(72, 25, 0, 1);
    const [open, made, closed, waited] = await resultsOf({}, state, closes, state, call(61, 260, -1, 0, 0, 0));
    assert.deepEqual([open, closed, waited], [0, -EBADF, made]);
  });

  it("lets a new thread execute other steps", async () => {
    // When the thread ends, the kernel sets this number to 0 and wakes the threads that wait for it: CLONE_CHILD_CLEARTID.
    const alive: Memory = { bytes: Buffer.of(1, 0, 0, 0) };
    const threadSteps = [call(3, 57, 0), call(60, 93, 0)];
    const [made, , closed] = await resultsOf(
      {},
      call(56, 220, 0x25_0f00, threadSteps, 0, ...(architecture === "x64" ? [alive] : [0, alive])),
      call(202, 98, alive, 0, 1, 0),
      call(72, 25, 0, 1),
    );
    // The call returns in both threads, which store the thread id and 0 in the same place.
    assert.ok(made! >= 0);
    assert.equal(closed, -EBADF);
  });
});

describe("a single layer of a plan", { skip: process.platform !== "linux" }, () => {
  let readable: string;
  before(async () => {
    folder = await prepareRunFolder();
    readable = path.join(folder.path, "readable");
    await writeFile(readable, "", { mode: 0o644 });
  });
  after(() => folder.remove());

  it("closes descriptors", async () => {
    // fcntl(F_GETFD)
    const [own, plan] = await resultsOf({}, call(72, 25, 3, 1), call(72, 25, 4, 1));
    assert.deepEqual([own, plan], [0, -EBADF]);
  });

  it("sets limits", async () => {
    const pipe: Memory = { bytes: Buffer.alloc(8) };
    const anonymous = call(9, 222, 0, 2 ** 32, 3, 0x4022, -1, 0);
    const open = await resultsOf({}, call(293, 59, pipe, 0), anonymous);
    assert.equal(open[0], 0);
    assert.notEqual(open[1], -ENOMEM);
    const bound = await resultsOf({ rlimits: { nofile: 5, data: 2 ** 30 } }, call(293, 59, pipe, 0), anonymous);
    assert.deepEqual(bound, [-EMFILE, -ENOMEM]);
  });

  it("sets the priority", async () => {
    // getpriority returns 20 minus the niceness.
    const [usual] = await resultsOf({}, call(140, 141, 0, 0));
    const [nice] = await resultsOf({ niceness: 19 }, call(140, 141, 0, 0));
    assert.deepEqual([usual! > 1, nice], [true, 1]);
  });

  it("changes the root", { skip: !isRoot }, async () => {
    assert.deepEqual(await resultsOf({}, openFile(readable)), [4]);
    assert.deepEqual(await resultsOf({ root: folder.path }, openFile(readable), openFile("/readable")), [-ENOENT, 4]);
    assert.deepEqual(await resultsOf({ root: folder.path }, openFile("../../bin/sh")), [-ENOENT]);
  });

  it("changes the user permanently, and removes all of root's rights", { skip: !isRoot }, async () => {
    const identity = { uid: 4_711, gid: 4_712 };
    const probes = [call(102, 174), call(104, 176), call(117, 147, 0, 0, 0), call(119, 149, 0, 0, 0)];
    assert.deepEqual(await resultsOf({ identity }, ...probes), [4_711, 4_712, -EPERM, -EPERM]);
  });

  it("drops the capabilities of a process that stays root", { skip: !isRoot }, async () => {
    const unshareNetwork = call(272, 97, 0x4000_0000);
    assert.deepEqual(await resultsOf({}, unshareNetwork), [0]);
    assert.deepEqual(await resultsOf({ dropsCapabilities: true }, unshareNetwork), [-EPERM]);
  });

  it("sets the signal for the parent's end, and no_new_privs", async () => {
    const getNoNewPrivileges = call(157, 167, 39, 0, 0, 0, 0);
    assert.deepEqual(await resultsOf({}, getNoNewPrivileges), [0]);
    assert.deepEqual(await resultsOf({ noNewPrivileges: true }, getNoNewPrivileges), [1]);
    const signal: Memory = { bytes: Buffer.alloc(8) };
    assert.deepEqual(await resultsOf({ diesWithParent: true }, call(157, 167, 2, signal)), [0]);
  });

  it("filters system calls, also by the process id", async () => {
    const filter = { pid: "own", ownsFiles: true } as const;
    const probes = [
      call(62, 129, process.pid, 0),
      call(41, 198, 1, 1, 0),
      CLONE(17, END),
      call(59, 221, text("/bin/sh")),
    ];
    const refused = await resultsOf({ filter }, ...probes);
    assert.deepEqual(refused, [-EPERM, -EPERM, -EPERM, -EPERM]);
    const open = await resultsOf({}, ...probes.slice(0, 3));
    assert.ok(open.every((answer) => answer >= 0));
  });

  it("makes Landlock refuse files without a rule", { skip: abi === 0 && "this kernel has no Landlock" }, async (t) => {
    const tmp = await mkdtemp(path.join(tmpdir(), "caisson-landlock-"));
    t.after(() => rm(tmp, { recursive: true, force: true }));
    const probes = [openFile(readable), writeFileCall(path.join(tmp, "a")), openFile("/etc")];
    assert.deepEqual(await resultsOf({ landlock: { abi, rules: [] } }, ...probes), [-EACCES, -EACCES, -EACCES]);
    const rules = [
      { path: readable, rights: "read" },
      { path: tmp, rights: "write" },
    ] as const;
    const [read, written, other] = await resultsOf({ landlock: { abi, rules } }, ...probes);
    assert.deepEqual([read, written, other], [4, 5, -EACCES]);
    const [executed] = await resultsOf({ landlock: { abi, rules } }, call(59, 221, text("/bin/true")));
    assert.equal(executed, -EACCES);
  });
});
