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
import { judgeCall, type LayerTestOptions, MARK, testLayers } from "../../src/sandbox/self-test/layers.ts";
import { prepareRunFolder, type RunFolder } from "../../src/sandbox/temp/run-folder.ts";

const architecture = process.arch as Architecture;
const isRoot = process.getuid?.() === 0;
const { EPERM, EACCES, ENOSYS, ENOENT } = constants.errno;
const BARE: GuestPolicy = { architecture, closeFrom: 4 };

let folder: RunFolder;
let policy: GuestPolicy;

/** Tests the layers of the policy without other restrictions around them. */
async function test(changed: Partial<LayerTestOptions> = {}): Promise<Check[]> {
  const executeUnderAll: LayerTestOptions["executeUnderAll"] = (calls) =>
    executePlan(folder.stub, architecture, guestPlan(policy), calls);
  return testLayers({ stub: folder.stub, policy, executeUnderAll, threads: null, ...changed });
}

/** Returns a program that runs a script before the stub. */
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

  it("each stop their calls, alone and together", { skip: !isRoot && "only root has all layers" }, async () => {
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

  it("are open if they do not hold together, and the result names the calls", async () => {
    const checks = await test({
      executeUnderAll: (calls) => executePlan(folder.stub, architecture, guestPlan(BARE), calls),
    });
    const open = checks.filter(({ outcome }) => outcome === "open");
    const layers = new Set(open.map(({ layer }) => layer));
    for (const layer of ["network", "processes", "system calls", "descriptors"] as const)
      assert.ok(layers.has(layer), layer);
    assert.match(open.find(({ layer }) => layer === "network")!.found, /netlink got through/);
  });

  it("are open if one of them cannot be applied", async () => {
    const unusable: GuestPolicy = { ...BARE, rlimits: { nofile: 2 ** 40 } };
    const checks = await test({ policy: unusable });
    assert.deepEqual(
      checks.filter(({ outcome }) => outcome === "open").map(({ found }) => found),
      ["a layer could not be tried: limit of nofile"],
    );
  });

  it("are weak if a restriction around them stops a call, because that proves nothing", async () => {
    const checks = await test({ stub: await stubAfter("ulimit -S -n 32; exec") });
    const descriptors = checks.find(({ layer, tried }) => layer === "descriptors" && tried === "by native code");
    assert.deepEqual([descriptors?.outcome, descriptors?.found], ["weak", "cannot be proven here: number 64"]);
  });

  it("prove the filter even then, by its marked errors", { skip: !isRoot }, async () => {
    const unprivileged = await stubAfter(
      "exec setpriv --bounding-set -all --inh-caps -all --reuid 65534 --clear-groups",
    );
    const filtered: GuestPolicy = { ...BARE, filter: policy.filter! };
    const checks = await test({ stub: unprivileged, policy: filtered });
    assert.equal(outcomes(checks)["system calls: by native code"], "held");
    const answers = await executePlan(
      unprivileged,
      architecture,
      guestPlan(BARE),
      filteredCalls(TARGETS).map(({ call }) => call),
    );
    const refused = answers.results.filter((answer) => answer === -EPERM);
    assert.ok(refused.length >= 3, "the kernel itself refuses some of the calls for this user");
  });

  it("are open if no plan can be executed at all", async () => {
    const nothing: PlanResult = { fault: "exit code 1: bwrap: no", results: [] };
    const checks = await test({ executeUnderAll: () => Promise.resolve(nothing) });
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

describe("the calls that the filter must stop", { skip: process.platform !== "linux" }, () => {
  it("succeed or fail with another error without the filter, so that a refusal proves the filter", async () => {
    const run = await prepareRunFolder();
    const calls = filteredCalls(TARGETS);
    const { results: answers } = await executePlan(
      run.stub,
      architecture,
      guestPlan(BARE),
      calls.map(({ call }) => call),
    );
    await run.remove();
    // The host itself may refuse other calls.
    for (const what of ["netlink", "socket pairs", "clone", "clone3", "memfd_create", "another program"]) {
      const index = calls.findIndex((each) => each.what === what);
      assert.ok(![-EPERM, -ENOSYS].includes(answers[index]!), `${what}: ${answers[index]}`);
    }
  });
});

describe("the outcome of a hostile call", () => {
  const call = { name: "a call", number: 1, args: [] };
  const landlocked: HostileCall = { layer: "Landlock", what: "it", part: "landlock", call, errors: [EACCES] };
  const filtered: HostileCall = { layer: "network", what: "it", part: "filter", call, errors: [EPERM] };
  const rows: [string, HostileCall, open: number, own: number, all: number | null, Check["outcome"]][] = [
    ["only the layers stop it", landlocked, 4, -EACCES, -EPERM, "held"],
    ["its layer stops it with an unexpected error", landlocked, 4, -ENOENT, -EPERM, "open"],
    ["its layer does not stop it", landlocked, 4, 4, -EPERM, "open"],
    ["all layers together do not stop it", landlocked, 4, -EACCES, 4, "open"],
    ["it fails without layers", landlocked, -ENOENT, -ENOENT, -EPERM, "weak"],
    ["it fails without layers, but succeeds under all", landlocked, -EACCES, -EACCES, 0, "open"],
    ["it was not tried under all layers, but should have been", landlocked, 4, -EACCES, null, "open"],
    ["it is tried only under its layer", { ...landlocked, onlyAlone: true }, 4, -EACCES, null, "held"],
    ["the filter stops it with a marked error", filtered, 4, -EPERM - MARK, -EPERM, "held"],
    ["the filter stops it, and so does the host", filtered, -EPERM, -EPERM - MARK, -EPERM, "held"],
    ["its error is not the filter's", filtered, -EPERM, -EPERM, -EPERM, "open"],
    ["its error under all layers is not the filter's", filtered, 4, -EPERM - MARK, -ENOENT, "open"],
  ];
  for (const [what, tried, open, own, all, outcome] of rows) {
    it(`is ${outcome} if ${what}`, () => {
      assert.equal(judgeCall(tried, { open, own, all }).outcome, outcome);
    });
  }
});
