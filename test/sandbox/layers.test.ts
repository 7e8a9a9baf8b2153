import assert from "node:assert/strict";
import { chmod, writeFile } from "node:fs/promises";
import { constants } from "node:os";
import path from "node:path";
import { after, before, describe, it } from "node:test";

import { landlockAbi, executePlan, type PlanResult } from "../../src/sandbox/plan/execute-plan.ts";
import { type GuestPolicy, guestPlan } from "../../src/sandbox/plan/guest-plan.ts";
import type { Architecture } from "../../src/sandbox/seccomp/system-calls.ts";
import type { Check } from "../../src/sandbox/self-test/check.ts";
import { filteredCalls, type HostileCall, type Targets } from "../../src/sandbox/self-test/hostile-calls.ts";
import { judgeCall, type Layered, MARK, testLayers } from "../../src/sandbox/self-test/layers.ts";
import { prepareRunFolder, type RunFolder } from "../../src/sandbox/temp/run-folder.ts";

const architecture = process.arch as Architecture;
const isRoot = process.getuid?.() === 0;
const { EPERM, EACCES, ENOSYS, ENOENT } = constants.errno;
const BARE: GuestPolicy = { architecture, closeFrom: 4 };

let folder: RunFolder;
let policy: GuestPolicy;

/** The layers of this policy, played with no wall around them. */
async function test(changed: Partial<Layered> = {}): Promise<Check[]> {
  const playAmongAll: Layered["playAmongAll"] = (calls) =>
    executePlan(folder.stub, architecture, guestPlan(policy), calls);
  return testLayers({ stub: folder.stub, policy, playAmongAll, threads: null, ...changed });
}

/** A stub that comes after a script. */
async function stubAfter(script: string): Promise<string> {
  const file = path.join(folder.path, "wrapped-stub");
  await writeFile(file, `#!/bin/sh\n${script} ${folder.stub}\n`);
  await chmod(file, 0o755);
  return file;
}

function outcomes(checks: readonly Check[]): Record<string, Check["outcome"]> {
  return Object.fromEntries(checks.map(({ layer, tried, outcome }) => [`${layer}: ${tried}`, outcome]));
}

describe("the layers of a plan", { skip: process.platform !== "linux" }, () => {
  before(async () => {
    folder = await prepareRunFolder();
    const abi = await landlockAbi(folder.stub, architecture);
    policy = {
      ...BARE,
      ...(isRoot ? { root: folder.path, identity: { uid: 4_711, gid: 4_711 } } : {}),
      rlimits: { nofile: 64, data: 2 ** 32 },
      ...(abi > 0 ? { landlock: { abi, rules: [] } } : {}),
      filter: { pid: "own", ownsFiles: true },
    };
  });
  after(() => folder.remove());

  it("each stop what they are for, alone and together", { skip: !isRoot && "not all can be made" }, async () => {
    const checks = await test();
    assert.deepEqual(
      checks.filter(({ outcome }) => outcome !== "held" && outcome !== "weak"),
      [],
    );
    const { "Landlock: by native code": _, "Landlock: its version": _version, ...others } = outcomes(checks);
    assert.deepEqual(others, {
      "host user: by native code": "held",
      "files: by native code": "held",
      "descriptors: by native code": "held",
      "memory: by native code": "held",
      "network: by native code": "held",
      "processes: by native code": "held",
      "system calls: by native code": "held",
    });
  });

  it("are found out where they do not hold together, with the names of the calls", async () => {
    const checks = await test({
      playAmongAll: (calls) => executePlan(folder.stub, architecture, guestPlan(BARE), calls),
    });
    const open = checks.filter(({ outcome }) => outcome === "open");
    const layers = new Set(open.map(({ layer }) => layer));
    for (const layer of ["network", "processes", "system calls", "descriptors"] as const)
      assert.ok(layers.has(layer), layer);
    assert.match(open.find(({ layer }) => layer === "network")!.found, /netlink got through/);
  });

  it("are found out where one of them cannot be made", async () => {
    const unmade: GuestPolicy = { ...BARE, rlimits: { nofile: 2 ** 40 } };
    const checks = await test({ policy: unmade });
    assert.deepEqual(
      checks.filter(({ outcome }) => outcome === "open").map(({ found }) => found),
      ["a layer could not be tried: limit of nofile"],
    );
  });

  it("are weak where what is around them stops a call by itself: nothing is proven then", async () => {
    const checks = await test({ stub: await stubAfter("ulimit -S -n 32; exec") });
    const descriptors = checks.find(({ layer, tried }) => layer === "descriptors" && tried === "by native code");
    assert.deepEqual([descriptors?.outcome, descriptors?.found], ["weak", "cannot be proven here: number 64"]);
  });

  it("are proven for the filter also then, by errors that are nobody else's", { skip: !isRoot }, async () => {
    const bereft = await stubAfter("exec setpriv --bounding-set -all --inh-caps -all --reuid 65534 --clear-groups");
    const filtered: GuestPolicy = { ...BARE, filter: policy.filter! };
    const checks = await test({ stub: bereft, policy: filtered });
    assert.equal(outcomes(checks)["system calls: by native code"], "held");
    const answers = await executePlan(
      bereft,
      architecture,
      guestPlan(BARE),
      filteredCalls(TARGETS).map(({ call }) => call),
    );
    const refused = answers.results.filter((answer) => answer === -EPERM);
    assert.ok(refused.length >= 3, "the kernel itself refuses this user some of them");
  });

  it("are open, not unknown, when nothing can be played at all", async () => {
    const nothing: PlanResult = { fault: "exit code 1: bwrap: no", results: [] };
    const checks = await test({ playAmongAll: () => Promise.resolve(nothing) });
    assert.deepEqual(
      checks.map(({ outcome, found }) => [outcome, found]),
      [["open", "a layer could not be tried: exit code 1: bwrap: no"]],
    );
  });
});

const TARGETS: Targets = {
  architecture,
  file: "/bin/sh",
  neighbour: null,
  port: 1,
  name: "\0none",
  pid: process.pid,
  descriptor: 4,
};

describe("the calls that the filter is to stop", { skip: process.platform !== "linux" }, () => {
  it("get through or fail later where there is no filter, so that a refusal says something of it", async () => {
    const run = await prepareRunFolder();
    const calls = filteredCalls(TARGETS);
    const { results: answers } = await executePlan(
      run.stub,
      architecture,
      guestPlan(BARE),
      calls.map(({ call }) => call),
    );
    await run.remove();
    // A host may refuse others by itself.
    for (const what of ["netlink", "socket pairs", "clone", "clone3", "memfd_create", "another program"]) {
      const index = calls.findIndex((each) => each.what === what);
      assert.ok(![-EPERM, -ENOSYS].includes(answers[index]!), `${what}: ${answers[index]}`);
    }
  });
});

describe("what became of a hostile call", () => {
  const call = { name: "a call", number: 1, args: [] };
  const landlocked: HostileCall = { layer: "Landlock", what: "it", part: "landlock", call, errors: [EACCES] };
  const filtered: HostileCall = { layer: "network", what: "it", part: "filter", call, errors: [EPERM] };
  const rows: [string, HostileCall, open: number, own: number, all: number | null, Check["outcome"]][] = [
    ["through, stopped, stopped", landlocked, 4, -EACCES, -EPERM, "held"],
    ["through, stopped by another error than its layer's", landlocked, 4, -ENOENT, -EPERM, "open"],
    ["through, through, stopped", landlocked, 4, 4, -EPERM, "open"],
    ["through, stopped, through", landlocked, 4, -EACCES, 4, "open"],
    ["stopped already with no layer", landlocked, -ENOENT, -ENOENT, -EPERM, "weak"],
    ["stopped already with no layer, and through with all", landlocked, -EACCES, -EACCES, 0, "open"],
    ["not tried with all, though it should have been", landlocked, 4, -EACCES, null, "open"],
    ["not tried with all, as it should not be", { ...landlocked, onlyAlone: true }, 4, -EACCES, null, "held"],
    ["by the filter's marked error", filtered, 4, -EPERM - MARK, -EPERM, "held"],
    ["by the filter, also where something else stops it", filtered, -EPERM, -EPERM - MARK, -EPERM, "held"],
    ["by an error that is not the filter's", filtered, -EPERM, -EPERM, -EPERM, "open"],
    ["with all by another error than the filter's", filtered, 4, -EPERM - MARK, -ENOENT, "open"],
  ];
  for (const [what, tried, open, own, all, outcome] of rows) {
    it(`is ${outcome}: ${what}`, () => {
      assert.equal(judgeCall(tried, { open, own, all }).outcome, outcome);
    });
  }
});
