import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";

import type { Cgroups } from "../../src/sandbox/cgroup/cgroup.ts";
import { GuestChild, spawnGuest } from "../../src/sandbox/guest-child.ts";
import type { Priority } from "../../src/sandbox/sandbox.ts";
import { pause, until } from "../contract/until.ts";

async function nothing(): Promise<void> {}

/** A process that does nothing, as a guest, whose control group is what a test makes of it. */
async function makeChild(t: TestContext, setPriority: (priority: Priority) => Promise<void>): Promise<GuestChild> {
  const command = { program: process.execPath, words: ["-e", "setInterval(() => {}, 1e6)"], more: [], identity: {} };
  const child = spawnGuest({ ...command, environment: {}, cwd: "/" }, "pipe");
  const cgroups: Cgroups = {
    version: 1,
    limitsCpu: true,
    create: async () => ({ add: nothing, setPriority, ranOutOfMemory: async () => false, remove: nothing }),
    prefer: nothing,
    begin: nothing,
    close: nothing,
  };
  const guest = new GuestChild(child, Promise.resolve(child.pid!), cgroups, "guest-1");
  t.after(async () => {
    guest.kill();
    await guest.exited;
  });
  return guest;
}

describe("the priority of a guest", () => {
  it("is the last that was asked for, without those that were asked for meanwhile", async (t) => {
    const moves: Priority[] = [];
    const first = Promise.withResolvers<void>();
    const guest = await makeChild(t, async (priority) => {
      moves.push(priority);
      await first.promise;
    });
    await guest.seal();
    for (const priority of ["low", "busy", "low", "normal"] as const) guest.setPriority(priority);
    await until(() => moves.length === 1, "the first is under way");
    first.resolve();
    await until(() => moves.length === 2, "the last follows");
    await pause(50);
    assert.deepEqual(moves, ["low", "normal"]);
  });

  it("is tried again when it could not be set, or there was no group yet", async (t) => {
    const moves: Priority[] = [];
    const guest = await makeChild(t, async (priority) => {
      moves.push(priority);
      if (moves.length === 1) throw new Error("too many open files");
    });
    guest.setPriority("low");
    await guest.seal();
    await until(() => moves.length === 2, "it was tried again");
    assert.deepEqual(moves, ["low", "low"]);
  });
});
