import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { CpuHogs, type HogState } from "../../../src/containers/watch/cpu-hogs.ts";
import { FROM_GUEST } from "../../../src/wire/messages.ts";
import { pause, until } from "../../contract/until.ts";
import { IDLE, makeGuest } from "../puppet.ts";
import { start } from "../recorder.ts";
import { type HandGuest, HandMonitor, HELD, sampleAt } from "./hand-watched.ts";
import { watch, WatchedGuests } from "./watched-guests.ts";

/** Longer than any test here, because a guest may answer late on a busy machine and no test here is about blocks. */
const BLOCK_MS = 30_000;
const real = new WatchedGuests();

/** A guest whose processor time grows by a share of the elapsed time. */
class Busy {
  readonly hand: HandMonitor;
  readonly guest: HandGuest;

  constructor(cpuCores = 1) {
    this.hand = new HandMonitor({ ...HELD, cpuCores });
    this.guest = this.hand.add({ priority: "normal" });
  }

  /** Lets the guest use a share of the processor. @returns the ms until it was in the awaited state, or null if it never was. */
  async uses(share: number, state: "R" | "S", forMs: number, awaited?: "hog" | "no hog"): Promise<number | null> {
    const { guest, hand } = this;
    for (let ms = 0; ms < forMs; ms += 25) {
      const processCpuMs = (guest.status?.processCpuMs ?? 0) + 25 * share;
      guest.status = { ...IDLE, state, processCpuMs };
      await hand.tick();
      if (awaited && this.isHog === (awaited === "hog")) return ms + 25;
    }
    return null;
  }

  get isHog(): boolean {
    return this.hand.monitor.isHog(this.guest.guest);
  }
}

describe("a guest that keeps using the processor", () => {
  const table = [
    { what: "that uses half of a processor", share: 0.5, state: "S", cpuCores: 1, ms: 175 },
    { what: "that uses less", share: 0.49, state: "S", cpuCores: 1, ms: null },
    { what: "that uses half of its small quota", share: 0.125, state: "S", cpuCores: 0.25, ms: 625 },
    { what: "that uses half of a large quota's one processor", share: 0.5, state: "S", cpuCores: 4, ms: 175 },
    { what: "that gets little, and is runnable in five samples", share: 0.2, state: "R", cpuCores: 1, ms: 775 },
  ] as const;
  for (const { what, share, state, cpuCores, ms } of table) {
    it(`is ${ms ? `a hog after ${ms} ms` : "no hog"}: one ${what}`, async () => {
      assert.equal(await new Busy(cpuCores).uses(share, state, 5_000, "hog"), ms);
    });
  }

  it("is a hog until it uses little and is not runnable, however little it gets meanwhile", async () => {
    const busy = new Busy();
    assert.ok(await busy.uses(0.8, "R", 1_000, "hog"));
    assert.equal(await busy.uses(0.05, "R", 5_000, "no hog"), null);
    assert.ok((await busy.uses(0.4, "S", 400, "no hog"))! > 150, "one sample is not enough");
    assert.equal(await busy.uses(0.4, "S", 5_000, "hog"), null);
  });

  it("is a hog after its answer until it rests, and is then not sampled again", async () => {
    const busy = new Busy();
    busy.guest.inFlight = { ...busy.guest.inFlight, size: 0 };
    assert.ok(await busy.uses(0.9, "S", 1_000, "hog"));
    assert.ok(await busy.uses(0, "S", 1_000, "no hog"));
    await busy.uses(0, "S", 1_000);
    const { samples } = busy.guest;
    await busy.uses(0, "S", 5_000);
    assert.equal(busy.guest.samples, samples);
  });

  it("is found although its event loop turns, and although only its other threads burn", async (t) => {
    const ways = [
      "while (!globalThis.found) await new Promise(setImmediate)",
      // The run must not end before: a full machine may give its thread so little at first that the guest seems calm.
      `const { Worker } = require("node:worker_threads");
       const worker = new Worker("for (;;);", { eval: true });
       while (!globalThis.found) await new Promise((end) => setTimeout(end, 10));
       await worker.terminate();
       return null`,
    ];
    for (const code of ways) {
      const guest = await real.make(t, { blockMs: BLOCK_MS });
      const run = start(guest, code);
      await until(() => guest.priority === "busy", "it has the priority of a hog");
      assert.equal(await start(guest, "globalThis.found = true").outcome(), "result true");
      assert.equal(await run.outcome(), "result null");
      await until(() => guest.priority === "normal", "it has the priority of others");
    }
  });

  it("gets the priority of a hog, and keeps it after its answer until it rests", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    // Another test covers the effects of a late answer to a ping.
    guest.ping = () => {};
    let burns = true;
    let processCpuMs = 0;
    let atMs = performance.now();
    puppet.status = () => {
      if (burns) processCpuMs += performance.now() - atMs;
      atMs = performance.now();
      return { ...IDLE, processCpuMs };
    };
    const run = start(guest, "a");
    puppet.say(FROM_GUEST.result, run.id, "1");
    assert.equal(await run.outcome(), "result 1");
    watch(t, guest, { blockMs: BLOCK_MS });
    await until(() => guest.priority === "busy", "it has the priority of a hog");
    burns = false;
    await until(() => guest.priority === "normal", "it has the priority of others");
    await pause(300);
    assert.deepEqual(
      puppet.priorities.filter((each) => each !== "normal"),
      ["busy"],
    );
  });
});

describe("a guest that needs the processor now and then", () => {
  it("is not taken for a hog under a small quota, although the kernel counts in units of ten milliseconds", async () => {
    const busy = new Busy(0.1);
    for (let sample = 1; sample <= 4; sample++) {
      busy.guest.status = { ...IDLE, processCpuMs: 10 * sample };
      await busy.hand.tick(1_500);
    }
    assert.deepEqual([busy.guest.samples, busy.isHog], [4, false]);
  });

  it("is sampled less and less often while it waits, and is found soon when it begins to burn", async () => {
    const busy = new Busy();
    const atMs: number[] = [];
    const beganMs = busy.hand.nowMs;
    busy.guest.process.inspect = () => {
      atMs.push(busy.hand.nowMs - beganMs);
      return Promise.resolve(busy.guest.status);
    };
    await busy.uses(0, "S", 2_200);
    assert.deepEqual(atMs, [25, 175, 475, 975, 1_475, 1_975]);
    assert.ok((await busy.uses(0.9, "R", 5_000, "hog"))! <= 500);
  });

  it("is not sampled while it has no run, and not again when it is calm after one", async () => {
    const busy = new Busy();
    Object.assign(busy.guest, { runs: 0, inFlight: { ...busy.guest.inFlight, size: 0 } });
    await busy.uses(0, "S", 1_000);
    assert.equal(busy.guest.samples, 1, "the first sample is for its limits");
    busy.guest.runs = 1;
    await busy.uses(0, "S", 1_000);
    assert.equal(busy.guest.samples, 3);
  });
});

describe("the figures of a hog", () => {
  const hogs = new CpuHogs(1);
  const first = hogs.afterSample(null, sampleAt(1_000), "normal");
  const calm = hogs.afterSample(first, sampleAt(1_150), "normal");

  it("are ignored while the guest comes after all others", () => {
    const hog: HogState = { ...first, isHog: true, resting: 1 };
    const low = hogs.afterSample(hog, sampleAt(1_150, { processCpuMs: 0 }), "low");
    assert.deepEqual([low.isHog, low.resting, low.atMs], [true, 1, 1_150]);
    const used = hogs.afterSample(first, sampleAt(1_150, { processCpuMs: 150 }), "low");
    assert.deepEqual([used.isHog, used.usedMs], [false, 150]);
  });

  it("are not averaged over a long rest", () => {
    assert.equal(calm.isCalm, true);
    const rested = hogs.afterSample(calm, sampleAt(60_000, { processCpuMs: 150 }), "normal");
    assert.deepEqual([rested.isHog, rested.isCalm, rested.everyMs], [false, false, 150]);
    const burned = hogs.afterSample(rested, sampleAt(60_150, { processCpuMs: 250 }), "normal");
    assert.equal(burned.isHog, true);
  });
});
