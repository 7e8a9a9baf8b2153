import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate } from "node:timers/promises";

import { TICK_MS } from "../../../src/containers/watch/resource-monitor.ts";
import type { GuestStatus } from "../../../src/sandbox/sandbox.ts";
import { IDLE } from "../puppet.ts";
import { type HandGuest, HandMonitor, HELD, MIB, UNHELD } from "./hand-watched.ts";

function samplesOf(guests: readonly HandGuest[]): number {
  return guests.reduce((sum, { samples }) => sum + samples, 0);
}

function priorities(guests: readonly HandGuest[]): string {
  return guests.map(({ priority }) => priority).join(" ");
}

describe("one tick", () => {
  it("takes at most fifty samples, and samples all guests in order", async () => {
    const hand = new HandMonitor(UNHELD);
    const guests = Array.from({ length: 210 }, () => hand.add());
    for (let tick = 1; tick <= 50; tick++) {
      const before = samplesOf(guests);
      await hand.tick();
      assert.ok(samplesOf(guests) - before <= 50);
    }
    const least = Math.min(...guests.map(({ samples }) => samples));
    assert.ok(least >= 9, `a guest had ${least} samples in 50 ticks`);
  });

  it("samples each of a few guests that have runs, if no control group enforces memory", async () => {
    const hand = new HandMonitor(UNHELD);
    const guests = Array.from({ length: 20 }, () => hand.add());
    for (let tick = 1; tick <= 10; tick++) await hand.tick();
    assert.deepEqual(new Set(guests.map(({ samples }) => samples)), new Set([10]));
  });

  it("takes one sample of a guest that is due for all judges", async () => {
    const hand = new HandMonitor(HELD);
    const made = hand.add({ status: { ...IDLE, state: "R" } });
    made.heartbeat.ping(hand.nowMs);
    // The first sample after a ping, for hogs and for limits are all due now.
    await hand.tick(150);
    assert.equal(made.samples, 1);
    assert.equal(made.priority, "low", "the block detector has seen the sample");
  });

  it("takes no second sample of a guest before the first has arrived", async () => {
    const hand = new HandMonitor(UNHELD);
    const made = hand.add();
    const answers: ((status: GuestStatus) => void)[] = [];
    made.process.inspect = () => new Promise((resolve) => answers.push(resolve));
    for (let tick = 1; tick <= 3; tick++) await hand.tick();
    assert.equal(answers.length, 1);
    answers[0]!(IDLE);
    await setImmediate();
    await hand.tick();
    assert.equal(answers.length, 2);
  });

  it("samples no ended guest, and does not judge a guest that ended or answered meanwhile", async () => {
    const hand = new HandMonitor(UNHELD);
    const [gone, ends, answers] = [hand.add({ ended: true }), hand.add(), hand.add()];
    const tooMuch = { ...IDLE, memoryBytes: 101 * MIB };
    ends.process.inspect = () => {
      ends.ended = true;
      return Promise.resolve(tooMuch);
    };
    answers.heartbeat.ping(hand.nowMs);
    answers.process.inspect = () => {
      answers.heartbeat.end();
      return Promise.resolve(IDLE);
    };
    await hand.tick(150);
    assert.equal(gone.samples, 0);
    assert.equal(ends.crashCause, null);
    assert.equal(answers.priority, "high");
  });

  it("samples a guest only once while it has no run, if control groups enforce its limits", async () => {
    const hand = new HandMonitor(HELD);
    const blank = hand.add({ runs: 0, inFlight: { size: 0, only: null, get: () => null } });
    for (let tick = 1; tick <= 1_000; tick++) await hand.tick();
    assert.equal(blank.samples, 1);
  });
});

describe("guests that all want the processor and owe an answer", () => {
  const RUNS: GuestStatus = { ...IDLE, state: "R" };

  /** Returns a guest that has owed an answer for this time. */
  function addSilent(hand: HandMonitor, forMs: number): HandGuest {
    const made = hand.add({ status: RUNS });
    made.heartbeat.ping(hand.nowMs - forMs);
    return made;
  }

  it("have turns, the longest silent first, as many at a time as there are processors", async () => {
    const hand = new HandMonitor(HELD, { processors: 2 });
    const guests = [700, 900, 600, 800].map((forMs) => addSilent(hand, forMs));
    await hand.tick(0);
    assert.equal(priorities(guests), "low low low low", "their first samples");
    await hand.tick();
    assert.equal(priorities(guests), "low normal low normal");
    guests[1]!.status = { ...RUNS, cpuMs: 250 };
    await hand.tick();
    await hand.tick();
    assert.equal(priorities(guests), "normal low low normal", "the second has burned enough, and its turn is over");
    guests[3]!.heartbeat.end();
    await hand.tick();
    assert.equal(priorities(guests.slice(0, 3)), "normal low normal", "the fourth has answered");
    assert.deepEqual(new Set(guests.map(({ ended }) => ended)), new Set([false]));
  });

  it("keep their share until they have used more than a short run does, however many others are silent for longer", async () => {
    const hand = new HandMonitor(HELD, { processors: 1 });
    const [quiet, ...blockers] = Array.from({ length: 5 }, () => hand.add({ status: RUNS }));
    await hand.tick();
    for (const each of blockers) each.heartbeat.ping(hand.nowMs);
    quiet!.heartbeat.ping(hand.nowMs + TICK_MS);
    for (let ms = 0; ms < 1_000; ms += TICK_MS) {
      for (const each of blockers) each.status = { ...RUNS, processCpuMs: 25 + ms / 10 };
      await hand.tick();
      assert.equal(quiet!.priority, "high", `after ${ms} ms`);
    }
    assert.deepEqual(priorities(blockers).split(" ").toSorted(), ["low", "low", "low", "normal"]);
    quiet!.status = { ...RUNS, processCpuMs: 25 };
    await hand.tick();
    await hand.tick();
    assert.notEqual(quiet!.priority, "high", "it is as the others now");
  });

  it("lose their share at their first sample if they have used more since the one before", async () => {
    const hand = new HandMonitor(HELD, { processors: 1 });
    const [burns, sleeps] = [hand.add({ status: RUNS }), hand.add({ status: RUNS })];
    await hand.tick();
    for (const each of [burns, sleeps]) each.heartbeat.ping(hand.nowMs);
    burns.status = { ...RUNS, processCpuMs: 90 };
    sleeps.status = { ...RUNS, state: "S", processCpuMs: 90 };
    await hand.tick(100);
    assert.equal(priorities([burns, sleeps]), "low low");
  });

  it("keep their share while their main thread sleeps, until their other threads have used more than a short run", async () => {
    const hand = new HandMonitor(HELD, { processors: 1 });
    const sleeps = hand.add({ status: { ...RUNS, state: "S", processCpuMs: 40 } });
    sleeps.heartbeat.ping(hand.nowMs);
    await hand.tick(100);
    assert.equal(priorities([sleeps]), "high");
    sleeps.status = { ...RUNS, state: "S", processCpuMs: 64 };
    await hand.tick(100);
    await hand.tick();
    assert.equal(priorities([sleeps]), "high");
    sleeps.status = { ...RUNS, state: "S", processCpuMs: 65 };
    await hand.tick(100);
    // Priorities change in the tick after a sample.
    await hand.tick();
    assert.equal(priorities([sleeps]), "low");
  });

  it("are not blocked before they have burned enough, however long their turns have lasted", async () => {
    const hand = new HandMonitor(HELD, { processors: 2 });
    const [loops, imports] = [addSilent(hand, 5_000), addSilent(hand, 5_000)];
    await hand.tick(0);
    for (const guest of [loops, imports]) guest.status = { ...RUNS, cpuMs: 240 };
    for (let ms = 0; ms < 5 * HELD.blockMs; ms += TICK_MS) await hand.tick();
    assert.equal(priorities([loops, imports]), "normal normal");
    assert.deepEqual([loops.ended, imports.ended], [false, false]);
    loops.status = { ...RUNS, cpuMs: 250 };
    imports.heartbeat.end();
    await hand.tick();
    await hand.tick();
    assert.deepEqual([loops.ended, imports.ended], [true, false]);
    assert.match(loops.culpritCause!.message, /blocked its event loop for 2s/);
  });

  it("are ended in the first tick after their limit if they burn all that they get", async () => {
    const hand = new HandMonitor(HELD);
    const made = addSilent(hand, 0);
    let ms = 0;
    while (!made.ended && ms < 10_000) {
      await hand.tick();
      ms += TICK_MS;
      made.status = { ...RUNS, cpuMs: ms };
    }
    assert.equal(ms, HELD.blockMs);
  });

  it("have the normal priority again after their answer", async () => {
    const hand = new HandMonitor(HELD, { processors: 1 });
    const made = addSilent(hand, 1_000);
    await hand.tick();
    await hand.tick();
    assert.equal(made.priority, "normal");
    made.status = { ...RUNS, processCpuMs: 100 };
    made.heartbeat.end();
    made.heartbeat.ping(hand.nowMs);
    // A turn belongs to the answered ping: after the next ping the guest has no turn.
    await hand.tick(100);
    assert.equal(made.priority, "low");
    await hand.tick();
    assert.equal(made.priority, "low");
  });
});

describe("a guest over a limit that no control group enforces", () => {
  const table = {
    memory: { status: { memoryBytes: 101 * MIB }, cause: /needs more than the 100MiB of its container/ },
    threads: { status: { threads: 11 }, cause: /started more than the 10 threads of its container/ },
  };
  for (const [what, { status, cause }] of Object.entries(table)) {
    it(`is ended by the first sample: ${what}`, async () => {
      const hand = new HandMonitor(UNHELD);
      const made = hand.add();
      await hand.tick();
      assert.equal(made.ended, false);
      made.status = { ...IDLE, ...status };
      await hand.tick();
      assert.match(made.crashCause!.message, new RegExp(`used more than its ${what}`));
      assert.match(made.culpritCause!.message, cause);
    });
  }

  it("is ended after a window in which it used more processors than its limit", async () => {
    const hand = new HandMonitor({ ...UNHELD, cpuWindowMs: 200 });
    const [one, two] = [hand.add(), hand.add()];
    for (let ms = 0; ms <= 500; ms += TICK_MS) {
      one.status = { ...IDLE, processCpuMs: ms };
      two.status = { ...IDLE, processCpuMs: 2 * ms };
      await hand.tick();
    }
    assert.equal(one.ended, false);
    assert.match(two.culpritCause!.message, /used more than 1 processors for 200ms/);
  });

  it("blames no run if there are several", async () => {
    const hand = new HandMonitor(UNHELD);
    const made = hand.add({ inFlight: { size: 2, only: null, get: () => null } });
    made.status = { ...IDLE, memoryBytes: 101 * MIB };
    await hand.tick();
    assert.deepEqual([made.ended, made.culpritCause], [true, null]);
  });
});
