import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { constants, tmpdir } from "node:os";
import path from "node:path";
import { describe, it, type TestContext } from "node:test";

import { type HostileCall, hostileCalls } from "../../src/sandbox/self-test/native/calls.ts";
import { FIRST_ERROR, nativeProgram } from "../../src/sandbox/self-test/native/program.ts";
import type { Architecture } from "../../src/sandbox/system-calls.ts";

const ARCHITECTURES: readonly Architecture[] = ["x64", "arm64"];
const OWN = process.arch as Architecture;

function call(x64: number, arm64: number, words: readonly number[] = [], attempts: number = 0): HostileCall {
  const number = OWN === "x64" ? x64 : arm64;
  return { layer: "system calls", what: "", number, arguments: words, attempts, stoppedBy: "" };
}

/** Runs it on this machine, with no wall around it. */
async function notesOf(t: TestContext, calls: readonly HostileCall[]): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), "caisson-native-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const file = path.join(folder, "native");
  await writeFile(file, nativeProgram(OWN, calls), { mode: 0o700 });
  const { status, stderr } = spawnSync(file, { encoding: "latin1" });
  assert.equal(status, 0);
  return stderr;
}

function noteOf(error: number): string {
  return String.fromCharCode(FIRST_ERROR + error);
}

const canRun = process.platform === "linux" && ARCHITECTURES.includes(OWN);

describe("native code of the self-test, where nothing stops it", { skip: !canRun }, () => {
  it("makes each call with its arguments and notes what came of it, in their order", async (t) => {
    const { EBADF, EINVAL, ENOSYS } = constants.errno;
    const notes = await notesOf(t, [
      call(39, 172),
      call(3, 57, [-1]),
      // lseek with a whence that there is none of: the third argument arrives.
      call(8, 62, [1, 0, 99]),
      // pselect6 of -1 descriptors.
      call(270, 72, [-1, 0, 0, 0, 0, 0]),
      call(2_000, 2_000),
      call(110, 173),
    ]);
    assert.equal(notes, `!${noteOf(EBADF)}${notes[2]}${noteOf(EINVAL)}${noteOf(ENOSYS)}!`);
    assert.notEqual(notes[2], "!");
  });

  it("goes on with a call that has attempts until they are used up, and its threads end with it", async (t) => {
    const { EINVAL } = constants.errno;
    const thread = 0x5_0f00;
    // CLONE_SIGHAND needs CLONE_VM.
    const notes = await notesOf(t, [call(56, 220, [thread, 0, 0, 0, 0], 30), call(56, 220, [0x800, 0, 0, 0, 0], 30)]);
    assert.equal(notes, `!${noteOf(EINVAL)}`);
  });

  it("gets through with what no guest may do, so that a refusal says something of the wall", async (t) => {
    const calls = hostileCalls(OWN, 4);
    const notes = await notesOf(t, calls);
    // A host may refuse others by itself.
    for (const what of ["netlink", "socket pairs", "clone", "clone3", "memfd_create", "one more than that"]) {
      const index = calls.findIndex((each) => each.what === what);
      assert.notEqual(notes[index], noteOf(constants.errno[calls[index]!.stoppedBy as "EPERM"]), what);
    }
  });
});

for (const architecture of ARCHITECTURES) {
  it(`native code for ${architecture} is one segment of a file for that machine, and its table follows it`, () => {
    const calls = hostileCalls(architecture, 4);
    const file = nativeProgram(architecture, calls);
    assert.equal(file.toString("latin1", 1, 4), "ELF");
    assert.equal(file.readUInt16LE(18), architecture === "x64" ? 62 : 183);
    assert.equal(file.readBigUInt64LE(64 + 32), BigInt(file.length));
    const start = Number(file.readBigUInt64LE(24) - file.readBigUInt64LE(64 + 16));
    const table = file.length - (calls.length + 1) * 64;
    assert.equal(start + addressed(architecture, file.subarray(start)), table);
    assert.equal(file.readBigInt64LE(table), BigInt(calls[0]!.number));
    assert.equal(file.readBigInt64LE(file.length - 64), -1n);
  });
}

/** How far from its start the code's first instruction finds the table. */
function addressed(architecture: Architecture, code: Buffer): number {
  // lea rbx, [rip + offset], of 7 bytes.
  if (architecture === "x64") return 7 + code.readInt32LE(3);
  const adr = code.readUInt32LE(0);
  return (((adr >>> 5) & 0x7ffff) << 2) | ((adr >>> 29) & 3);
}
