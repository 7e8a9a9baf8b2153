import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { Cgroups } from "../../src/sandbox/cgroup/cgroup.ts";
import { guestLimits, underLimits } from "../../src/sandbox/rlimits.ts";
import { RESOURCES } from "../containers/real-guests.ts";

async function unasked(): Promise<never> {
  assert.fail("nothing is asked of them");
}

function groups(limitsCpu: boolean): Cgroups {
  return { version: 2, limitsCpu, create: unasked, prefer: unasked, begin: unasked, close: unasked };
}

describe("what stands in for control groups", () => {
  for (const [title, cgroups, limitsMemory, isNice] of [
    ["that limit everything is nothing", groups(true), false, false],
    ["that limit memory and threads alone is a lower priority", groups(false), false, true],
    ["of which there is none is a limit of what may be mapped, and a lower priority", null, true, true],
  ] as const) {
    it(title, () => {
      const { rlimits, niceness } = guestLimits(RESOURCES, cgroups, false);
      assert.equal("data" in rlimits, limitsMemory);
      assert.equal(niceness !== undefined, isNice);
      const command = underLimits(RESOURCES, cgroups).join(" ");
      assert.equal(command.includes("ulimit -d"), limitsMemory);
      assert.equal(command.includes("exec nice"), isNice);
    });
  }
});
