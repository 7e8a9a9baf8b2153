import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";

import type { Cgroups } from "../../src/sandbox/cgroup/cgroup.ts";
import { GuestChild, spawnGuest } from "../../src/sandbox/guest-child.ts";
import type { Priority } from "../../src/sandbox/sandbox.ts";
import { pause, until } from "../contract/until.ts";

async function nothing(): Promise<void> {}

/** Starts an idle process as a guest, with a fake control group. */
async function makeChild(t: TestContext, setPriority: (priority: Priority) => Promise<void>): Promise<GuestChild> {
  const command = {
    program: process.execPath,
    args: ["-e", "setInterval(() => {}, 1e6)"],
    extraStdio: [],
    identity: {},
  };
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
  it("is set to the last requested value; values requested during a change are skipped", async (t) => {
    const moves: Priority[] = [];
    const first = Promise.withResolvers<void>();
    const guest = await makeChild(t, async (priority) => {
      moves.push(priority);
      await first.promise;
    });
    await guest.seal();
    for (const priority of ["low", "busy", "low", "normal"] as const) guest.setPriority(priority);
    await until(() => moves.length === 1, "the first change has begun");
    first.resolve();
    await until(() => moves.length === 2, "the last change has begun");
    await pause(50);
    assert.deepEqual(moves, ["low", "normal"]);
  });

  it("is tried again if it could not be set, or if the guest had no group yet", async (t) => {
    const moves: Priority[] = [];
    const guest = await makeChild(t, async (priority) => {
      moves.push(priority);
      if (moves.length === 1) throw new Error("too many open files");
    });
    guest.setPriority("low");
    await guest.seal();
    await until(() => moves.length === 2, "the change was tried again");
    assert.deepEqual(moves, ["low", "low"]);
  });
});
