import assert from "node:assert/strict";
import { after, before, describe, it, type TestContext } from "node:test";

import type { Guest } from "../../src/containers/guest.ts";
import { Watchdog } from "../../src/containers/watchdog.ts";
import type { GuestStatus } from "../../src/sandbox/sandbox.ts";
import { FROM_GUEST, TO_GUEST } from "../../src/wire/messages.ts";
import { pause, until } from "../contract/until.ts";
import { IDLE, makeGuest, type Puppet } from "./puppet.ts";
import { openRealGuests, type RealGuests, RESOURCES } from "./real-guests.ts";
import { start } from "./recorder.ts";

let real: RealGuests;

before(async () => {
  real = await openRealGuests();
});
after(() => real.close());

function watch(t: TestContext, guest: Guest, cpuCores = 1): void {
  const watchdog = new Watchdog(new Set([guest]), {
    ...{ wallMs: 60_000, streamMs: 60_000, blockMs: 30_000, cpuCores, kernelHoldsResources: true },
    ...{ memoryBytes: RESOURCES.memoryBytes, threads: RESOURCES.threads },
  });
  t.after(() => watchdog.close());
}

/** A guest that answers its pings at once, and what it uses of a processor. */
async function lively(t: TestContext): Promise<{ guest: Guest; puppet: Puppet; uses: (share: number) => void }> {
  const { guest, puppet } = await makeGuest(t);
  let [sinceMs, usedMs, share] = [performance.now(), 0, 0];
  const processCpuMs = (): number => usedMs + (performance.now() - sinceMs) * share;
  puppet.status = (): GuestStatus => ({ ...IDLE, state: "R", processCpuMs: processCpuMs() });
  puppet.take = ({ type, id }) => {
    if (type !== TO_GUEST.ping) return false;
    puppet.say(FROM_GUEST.pong, id);
    return true;
  };
  const uses = (now: number): void => {
    [usedMs, sinceMs, share] = [processCpuMs(), performance.now(), now];
  };
  return { guest, puppet, uses };
}

describe("a guest that goes on using most of a processor", () => {
  it("is busy, has a chance now and then, and is busy again until it needs less", async (t) => {
    const { guest, puppet, uses } = await lively(t);
    uses(0.8);
    start(guest, "a");
    watch(t, guest);
    await until(() => puppet.priorities.length === 3, "it was busy, had its chance, and is busy again");
    assert.deepEqual(puppet.priorities, ["busy", "normal", "busy"]);
    uses(0.1);
    await until(() => guest.priority === "normal", "it is as others");
    await pause(600);
    assert.deepEqual(puppet.priorities, ["busy", "normal", "busy", "normal"]);
  });

  it("is busy where it uses most of a small quota", async (t) => {
    const { guest, uses } = await lively(t);
    uses(0.2);
    start(guest, "a");
    watch(t, guest, 0.25);
    await until(() => guest.priority === "busy", "it is busy");
  });

  it("is busy though it lets go of its event loop, and though only its other threads burn", async (t) => {
    const ways = [
      "for (const end = Date.now() + 3_000; Date.now() < end; ) await new Promise(setImmediate)",
      `const { Worker } = require("node:worker_threads");
       const worker = new Worker("for (;;);", { eval: true });
       await new Promise((end) => setTimeout(end, 3_000));
       await worker.terminate()`,
    ];
    for (const code of ways) {
      const guest = await real.make();
      watch(t, guest);
      const run = start(guest, code);
      await until(() => guest.priority === "busy", "it is busy");
      assert.equal(await run.outcome(), "result null");
      await until(() => guest.priority === "normal", "it is as others");
    }
  });

  it("is busy also when its answer came first", async (t) => {
    const { guest, puppet, uses } = await lively(t);
    uses(0.9);
    const run = start(guest, "a");
    let looks = 0;
    const { status } = puppet;
    puppet.status = () => {
      // The first is for what it weighs. By the third its run is over.
      if (++looks === 2) puppet.say(FROM_GUEST.result, run.id, "1");
      return status();
    };
    watch(t, guest);
    assert.equal(await run.outcome(), "result 1");
    await until(() => guest.priority === "busy", "it is busy");
  });
});

describe("a guest that waits", () => {
  it("is looked at less and less often, and is as others", async (t) => {
    const { guest, puppet, uses } = await lively(t);
    uses(0.3);
    let looks = 0;
    const { status } = puppet;
    puppet.status = () => {
      looks++;
      return status();
    };
    start(guest, "a");
    watch(t, guest);
    // The first is for what it weighs; the fifth comes after six tenths of a second.
    await until(() => looks === 4, "it was looked at");
    await pause(500);
    assert.equal(looks, 4);
    assert.deepEqual(puppet.priorities, []);
  });

  it("is not looked at where it has no run", async (t) => {
    const { guest, puppet, uses } = await lively(t);
    uses(0.9);
    let looks = 0;
    puppet.status = () => {
      looks++;
      return IDLE;
    };
    watch(t, guest);
    await pause(500);
    // For what it weighs.
    assert.deepEqual([looks, puppet.priorities], [1, []]);
  });
});
