import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { sealFilter, seccompFilter } from "../../src/sandbox/seccomp/seccomp.ts";
import type { Architecture } from "../../src/sandbox/seccomp/system-calls.ts";
import type { RunFolder } from "../../src/sandbox/temp/run-folder.ts";
import { compileProbe, probeBehindFilters, probeBehindWall, whyNoProbe } from "./native-probe.ts";
import { NO_PLAN } from "./thinned-wall.ts";

const [EPERM, ENOSYS] = [1, 38];
/** What a shell says of a program that SIGSYS has ended. */
const KILLED_BY_THE_FILTER = "exit code 159";
const FOREIGN = { "a call of the 32-bit architecture": "i386", "a call of the x32 interface": "x32" };

const skip = await whyNoProbe();
let folder: RunFolder;

describe("native code behind the wall", { skip }, () => {
  before(async () => {
    folder = await compileProbe();
  });
  after(() => folder.remove());

  it("has every call refused that no guest needs", async (t) => {
    const { refused, how } = await probeBehindWall(t, folder, "all");
    assert.equal(how, "exit code 0");
    assertRefused(refused);
  });

  it("can make every call that Node needs", async (t) => {
    const { works } = await probeBehindWall(t, folder, "all");
    assertWorks(works);
  });

  it("would get through, or be refused later, were there no filter: most of these calls prove it", async (t) => {
    const [held, open] = [
      await probeBehindWall(t, folder, "all"),
      await probeBehindWall(t, folder, "all", NO_PLAN),
    ] as const;
    const changed = [...held.refused].filter(([call, errno]) => open.refused.get(call) !== errno);
    assert.ok(changed.length > held.refused.size / 2, `${changed.length} of ${held.refused.size}`);
    for (const call of ["clone(a process)", "socket(INET)", "socketpair", "kill(all)", "symlinkat", "setsockopt"]) {
      assert.equal(open.refused.get(call), 0, call);
    }
  });

  for (const [what, which] of Object.entries(FOREIGN)) {
    it(`is killed for ${what}`, { skip: process.arch !== "x64" && "only x64 has them" }, async (t) => {
      assert.equal((await probeBehindWall(t, folder, which, NO_PLAN)).said, "through\n");
      const { said, how } = await probeBehindWall(t, folder, which);
      assert.deepEqual([said, how], ["", KILLED_BY_THE_FILTER]);
    });
  }
});

describe("native code behind the filters alone", { skip }, () => {
  before(async () => {
    folder = await compileProbe();
  });
  after(() => folder.remove());

  it("has the same calls refused, signals to others among them, and can still make those that Node needs", async () => {
    const architecture = process.arch as Architecture;
    const ofPlan = (pid: number): Buffer => {
      return seccompFilter(architecture, { pid, programAddress: 0n, ownsFiles: false }).program;
    };
    const { refused, works, how } = await probeBehindFilters(folder, ofPlan, sealFilter(architecture));
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
