import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, it } from "node:test";

import { executePlan } from "../../src/sandbox/plan/execute-plan.ts";
import { type GuestPolicy, guestPlan } from "../../src/sandbox/plan/guest-plan.ts";
import { isPrivileged } from "../../src/sandbox/privilege.ts";
import type { Architecture } from "../../src/sandbox/seccomp/system-calls.ts";
import { type Account, readAccount } from "../../src/sandbox/self-test/account.ts";
import type { Check } from "../../src/sandbox/self-test/check.ts";
import { judgeAccount } from "../../src/sandbox/self-test/kernel.ts";
import { testLayers } from "../../src/sandbox/self-test/layers.ts";
import { prepareRunFolder, type RunFolder } from "../../src/sandbox/temp/run-folder.ts";
import { ownLandlock } from "./landlock.ts";

const architecture = process.arch as Architecture;
const abi = process.platform === "linux" ? await ownLandlock() : 0;
const PROMISED = {
  level: "confined",
  memoryBytes: 1,
  threads: 8,
  cpuCores: 1,
  tmpBytes: 2 ** 24,
  held: { memory: false, cpu: false },
} as const;
const LIMITS = {
  "core file size": 0,
  "file size": 2 ** 24,
  "locked memory": 0,
  "msgqueue size": 0,
  "pending signals": 64,
};

function openOnes(checks: readonly Check[], tried: string): string[] {
  return checks.filter((check) => check.tried === tried && check.outcome === "open").map(({ found }) => found);
}

describe("a confinement that lacks something", { skip: process.platform !== "linux" }, () => {
  let account: Account;
  let guest: Account;
  before(async () => {
    account = await readAccount("self");
    guest = { ...account, uids: [7, 7, 7, 7], gids: [7, 7, 7, 7], limits: { ...account.limits, ...LIMITS } };
  });

  const judge = (changed: Partial<Account>): Check[] =>
    judgeAccount(
      { guest: { ...guest, ...changed }, neighbour: account, own: { ...account, gids: [0, 0, 0, 0, 27] } },
      PROMISED,
    );

  it("is found out by a group that it has kept", () => {
    assert.deepEqual(openOnes(judge({}), "its groups"), []);
    assert.deepEqual(openOnes(judge({ gids: [0, 0, 0, 0] }), "its groups"), ["kept 0"]);
    assert.deepEqual(openOnes(judge({ gids: [7, 7, 7, 7, 27] }), "its groups"), ["kept 27"]);
  });

  for (const name of Object.keys(LIMITS)) {
    it(`is found out by no limit of ${name}`, () => {
      assert.deepEqual(openOnes(judge({}), "limits of the process"), []);
      assert.deepEqual(openOnes(judge({ limits: { ...guest.limits, [name]: Infinity } }), "limits of the process"), [
        name,
      ]);
    });
  }
});

describe("a guest that reaches another's files", { skip: !isPrivileged() && "only root has users to give" }, () => {
  let folder: RunFolder;
  let neighbour: string;
  before(async () => {
    folder = await prepareRunFolder();
    neighbour = await mkdtemp(path.join(tmpdir(), "caisson-neighbour-"));
  });
  after(async () => {
    await folder.remove();
    await rm(neighbour, { recursive: true });
  });

  it("is found out", { skip: abi === 0 && "there is no Landlock" }, async () => {
    const filter = { pid: "own", ownsFiles: true } as const;
    const own: GuestPolicy = { architecture, closeFrom: 4, landlock: { abi, rules: [] }, filter };
    const wide: GuestPolicy = {
      ...own,
      landlock: { abi, rules: [{ path: path.dirname(neighbour), rights: "write" }] },
    };
    for (const [policy, found] of [
      [own, []],
      [wide, ["listing another guest's files got through"]],
    ] as const) {
      const checks = await testLayers({
        stub: folder.stub,
        policy,
        neighbour,
        threads: null,
        playAmongAll: (calls) => executePlan(folder.stub, architecture, guestPlan(policy), calls),
      });
      assert.deepEqual(openOnes(checks, "by native code"), found);
    }
  });
});
