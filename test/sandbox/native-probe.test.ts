import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { sealFilter, seccompFilter } from "../../src/sandbox/seccomp/seccomp.ts";
import type { Architecture } from "../../src/sandbox/seccomp/system-calls.ts";
import type { RunFolder } from "../../src/sandbox/temp/run-folder.ts";
import { compileProbe, kernelHas, probeInSandbox, probeUnderFilters, whyNoProbe } from "./native-probe.ts";
import { NO_PLAN } from "./reduced-sandbox.ts";

const [EPERM, ENOSYS] = [1, 38];
/** The exit code by which a shell reports a program that SIGSYS ended. */
const KILLED_BY_THE_FILTER = "exit code 159";
/** The exit code for SIGSEGV. */
const KILLED_BY_THE_KERNEL = "exit code 139";
const FOREIGN = { "a call of the 32-bit architecture": "i386", "a call of the x32 interface": "x32" };

const skip = await whyNoProbe();
let folder: RunFolder;

describe("native code in the sandbox", { skip }, () => {
  before(async () => {
    folder = await compileProbe();
  });
  after(() => folder.remove());

  it("cannot make calls that no guest needs", async (t) => {
    const { refused, how } = await probeInSandbox(t, folder, "all");
    assert.equal(how, "exit code 0");
    assertRefused(refused);
  });

  it("can make every call that Node needs", async (t) => {
    const { works } = await probeInSandbox(t, folder, "all");
    assertWorks(works);
  });

  it("gets other results for most of these calls without the filter, so the filter refuses them", async (t) => {
    const [filtered, open] = [
      await probeInSandbox(t, folder, "all"),
      await probeInSandbox(t, folder, "all", NO_PLAN),
    ] as const;
    const changed = [...filtered.refused].filter(([call, errno]) => open.refused.get(call) !== errno);
    assert.ok(changed.length > filtered.refused.size / 2, `${changed.length} of ${filtered.refused.size}`);
    for (const call of ["clone(a process)", "socket(INET)", "socketpair", "kill(all)", "symlinkat", "setsockopt"]) {
      assert.equal(open.refused.get(call), 0, call);
    }
  });

  for (const [what, which] of Object.entries(FOREIGN)) {
    it(`is killed for ${what}`, { skip: process.arch !== "x64" && "only x64 has them" }, async (t) => {
      // A kernel may lack these calls, for example because it started with ia32_emulation=0. Then it ends the process by itself.
      const isThere = await kernelHas(folder, which);
      assert.equal((await probeInSandbox(t, folder, which, NO_PLAN)).output, isThere ? "through\n" : "");
      const { output, how } = await probeInSandbox(t, folder, which);
      assert.deepEqual([output, how], ["", isThere ? KILLED_BY_THE_FILTER : KILLED_BY_THE_KERNEL]);
    });
  }
});

describe("native code under the filters alone", { skip }, () => {
  before(async () => {
    folder = await compileProbe();
  });
  after(() => folder.remove());

  it("cannot make the same calls, including signals to other processes, and can make the calls that Node needs", async () => {
    const architecture = process.arch as Architecture;
    const ofPlan = (pid: number): Buffer => {
      return seccompFilter(architecture, { pid, programAddress: 0n, ownsFiles: false }).program;
    };
    const { refused, works, how } = await probeUnderFilters(folder, ofPlan, sealFilter(architecture));
    assert.equal(how, "exit code 0");
    assertRefused(refused);
    assertWorks(works);
  });
});

function assertRefused(refused: ReadonlyMap<string, number>): void {
  assert.ok(refused.size >= 150, `${refused.size} calls were tried`);
  const through = [...refused].filter(([, errno]) => errno !== EPERM && errno !== ENOSYS);
  assert.deepEqual(through, []);
}

function assertWorks(works: ReadonlyMap<string, number>): void {
  assert.ok(works.size >= 30, `${works.size} calls were tried`);
  const failed = [...works].filter(([, errno]) => errno !== 0);
  assert.deepEqual(failed, []);
}
