import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, it } from "node:test";

import { executePlan } from "../../src/sandbox/plan/execute-plan.ts";
import { type GuestPolicy, guestPlan } from "../../src/sandbox/plan/guest-plan.ts";
import { isPrivileged } from "../../src/sandbox/privilege.ts";
import type { Architecture } from "../../src/sandbox/seccomp/system-calls.ts";
import type { Check } from "../../src/sandbox/self-test/check.ts";
import { judgeReports } from "../../src/sandbox/self-test/judge-report.ts";
import { type KernelReport, readKernelReport } from "../../src/sandbox/self-test/kernel-report.ts";
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

describe(
  "the self-test detects a missing restriction of a confined guest:",
  { skip: process.platform !== "linux" },
  () => {
    let report: KernelReport;
    let guest: KernelReport;
    before(async () => {
      report = await readKernelReport("self");
      guest = { ...report, uids: [7, 7, 7, 7], gids: [7, 7, 7, 7], limits: { ...report.limits, ...LIMITS } };
    });

    const judge = (changed: Partial<KernelReport>): Check[] =>
      judgeReports(
        { guest: { ...guest, ...changed }, neighbour: report, own: { ...report, gids: [0, 0, 0, 0, 27] } },
        PROMISED,
      );

    it("the guest has kept a group of the service", () => {
      assert.deepEqual(openOnes(judge({}), "its groups"), []);
      assert.deepEqual(openOnes(judge({ gids: [0, 0, 0, 0] }), "its groups"), ["kept 0"]);
      assert.deepEqual(openOnes(judge({ gids: [7, 7, 7, 7, 27] }), "its groups"), ["kept 27"]);
    });

    for (const name of Object.keys(LIMITS)) {
      it(`the guest has no limit for ${name}`, () => {
        assert.deepEqual(openOnes(judge({}), "limits of the process"), []);
        assert.deepEqual(openOnes(judge({ limits: { ...guest.limits, [name]: Infinity } }), "limits of the process"), [
          name,
        ]);
      });
    }
  },
);

describe(
  "a guest that can read another guest's files",
  { skip: !isPrivileged() && "only root can change users" },
  () => {
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

    it("is detected by the test of the layers", { skip: abi === 0 && "there is no Landlock" }, async () => {
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
          executeUnderAll: (calls) => executePlan(folder.stub, architecture, guestPlan(policy), calls),
        });
        assert.deepEqual(openOnes(checks, "by native code"), found);
      }
    });
  },
);
