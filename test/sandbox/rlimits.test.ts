import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { describe, it } from "node:test";

import type { Cgroups } from "../../src/sandbox/cgroup/cgroup.ts";
import { guestLimits, underLimits } from "../../src/sandbox/rlimits.ts";
import { RESOURCES } from "../containers/real-guests.ts";

async function unexpected(): Promise<never> {
  assert.fail("the groups are not used");
}

function groups(limitsCpu: boolean): Cgroups {
  return { version: 2, limitsCpu, create: unexpected, prefer: unexpected, begin: unexpected, close: unexpected };
}

describe("the limits of a guest's process", () => {
  for (const [title, cgroups, limitsMemory, isNice] of [
    ["replace nothing if control groups limit memory, threads and CPU", groups(true), false, false],
    ["include a lower priority if control groups limit only memory and threads", groups(false), false, true],
    ["include the data segment and a lower priority if there are no control groups", null, true, true],
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

  it("ask for no niceness below that of the service, which a user without privileges may not get", () => {
    const code = `import { setPriority } from "node:os";
      import { guestLimits } from "${new URL("../../src/sandbox/rlimits.ts", import.meta.url).href}";
      setPriority(15);
      console.log(guestLimits(${JSON.stringify(RESOURCES)}, null, false).niceness);`;
    // In a separate process, because a user may not lower the niceness again.
    const words = ["--disable-warning=ExperimentalWarning", "--input-type=module", "-e", code];
    assert.equal(execFileSync(process.execPath, words, { encoding: "utf8" }), "15\n");
  });
});
