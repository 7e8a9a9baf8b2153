import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";

import { GuestSlot, Container } from "../../../src/containers/guest-slot.ts";
import { Guest } from "../../../src/containers/guest/guest.ts";
import { Pool } from "../../../src/containers/pool.ts";
import type { Priority } from "../../../src/sandbox/sandbox.ts";
import { FROM_GUEST, TO_GUEST } from "../../../src/wire/messages.ts";
import { pause, until } from "../../contract/until.ts";
import { FREE, owner } from "../isolation-groups.ts";
import { IDLE, LIMITS, makeGuest, Puppet } from "../puppet.ts";
import { start } from "../recorder.ts";
import { BLOCK_MS, watch, WatchedGuests } from "./watched-guests.ts";

/** The number of concurrent tests. Most tests wait for their watchdog, and a quarter of them use a processor meanwhile. */
const AT_ONCE = 4;
const MIB = 2 ** 20;
const guests = new WatchedGuests();

/** Returns a watched guest that never received a run, and is not pinged. */
async function makeBlank(t: TestContext): Promise<{ guest: Guest; puppet: Puppet }> {
  const made = await makeGuest(t);
  const { guest } = made;
  guest.ping = () => {};
  watch(t, guest);
  await pause(300);
  assert.equal(guest.priority, "high", "a blank keeps it, however long it waits");
  return made;
}

describe("the first run of a guest", { concurrency: AT_ONCE }, () => {
  it("has a higher priority than the runs of other guests until its answer", async (t) => {
    const { guest, puppet } = await makeBlank(t);
    start(guest, "a");
    const { id } = await puppet.next(TO_GUEST.run);
    puppet.say(FROM_GUEST.result, id, "1");
    await until(() => guest.priority === "normal", "it is as others");
    start(guest, "b");
    await pause(200);
    assert.deepEqual(puppet.priorities, ["normal"], "another run changes nothing");
  });

  it("has the higher priority only for a short time if its answer does not arrive", async (t) => {
    const { guest, puppet } = await makeBlank(t);
    start(guest, "a");
    await until(() => guest.priority === "normal", "it is as others");
    await pause(200);
    assert.deepEqual(puppet.priorities, ["normal"]);
  });
});

describe("a guest that is blocked", { concurrency: AT_ONCE }, () => {
  const ways = {
    "burns its processor": "for (;;);",
    sleeps: "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)",
  };
  for (const [what, code] of Object.entries(ways)) {
    it(`is ended, and the run that entered last of two receives task_blocked: ${what}`, async (t) => {
      const guest = await guests.make(t);
      const waits = start(guest, "console.log('entered'); await new Promise((never) => setTimeout(never, 60_000))");
      await waits.received("log 1 entered");
      const blocks = start(guest, code);
      assert.equal(await blocks.outcome(), "task_blocked");
      assert.equal(await waits.outcome(), "container_restarted");
      assert.match(blocks.problems[0]!.message, /300ms/);
      await guest.process.exited;
      assert.equal(await guest.process.inspect(), null);
    });
  }

  it("is not a guest whose only run waits for longer than the limit while its event loop turns", async (t) => {
    const guest = await guests.make(t);
    const run = start(guest, `await new Promise((end) => setTimeout(end, ${4 * BLOCK_MS}, "waited"))`);
    assert.equal(await run.outcome(), 'result "waited"');
    assert.equal(guest.ended, false);
  });

  it("is not a guest that gets no processor on a busy machine: it has more time until it burns enough", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    const silent = Promise.withResolvers<void>();
    let cpuMs = 0;
    let burns = false;
    let samples = 0;
    puppet.status = () => {
      if (++samples === 8) silent.resolve();
      if (burns) cpuMs = performance.now();
      return { ...IDLE, state: "R", cpuMs };
    };
    const run = start(guest, "a");
    watch(t, guest);
    await silent.promise;
    assert.deepEqual([guest.ended, run.events], [false, []]);
    burns = true;
    assert.equal(await run.outcome(), "task_blocked");
  });

  it("is also a guest that gets little processor time, when it has burned what another guest would burn at once", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    const sinceMs = performance.now();
    // A tenth of the time, as if its own threads compete with it.
    puppet.status = () => ({ ...IDLE, state: "R", cpuMs: (performance.now() - sinceMs) / 10 });
    const run = start(guest, "a");
    watch(t, guest);
    assert.equal(await run.outcome(), "task_blocked");
    const { cpuMs } = puppet.status()!;
    assert.ok(cpuMs >= BLOCK_MS / 2, String(cpuMs));
  });

  it("receives a hint at its memory if it holds much: V8 may collect garbage all the time before the memory is used up", async (t) => {
    for (const [mib, expected] of [
      [70, /held 70MiB of the 128MiB of memory/],
      [60, /^Perhaps one call/],
    ] as const) {
      const { guest, puppet } = await makeGuest(t);
      puppet.status = () => ({ ...IDLE, state: "R", cpuMs: performance.now(), memoryBytes: mib * 2 ** 20 });
      const run = start(guest, "a");
      watch(t, guest);
      assert.equal(await run.outcome(), "task_blocked");
      assert.match(run.problems[0]!.options.hint!, expected);
    }
  });

  it("has burned enough under a longer limit if it has burned more than an honest step takes", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    const sinceMs = performance.now();
    puppet.status = () => ({ ...IDLE, state: "R", cpuMs: (performance.now() - sinceMs) / 4 });
    const run = start(guest, "a");
    watch(t, guest, { blockMs: 800 });
    assert.equal(await run.outcome(), "task_blocked");
    assert.ok(puppet.status()!.cpuMs >= 250);
  });

  it("is not a guest that is being started on a busy machine, because no task runs in it until it is ready", async (t) => {
    const puppet = await Puppet.make(t);
    const guest = new Guest(puppet, LIMITS);
    puppet.status = () => ({ ...IDLE, state: "R", cpuMs: performance.now() });
    watch(t, guest);
    await pause(3 * BLOCK_MS);
    assert.equal(guest.ended, false);
    puppet.say(FROM_GUEST.ready, 0);
    await guest.ready();
    assert.equal(await start(guest, "a").outcome(), "task_blocked");
  });

  it("is a guest that burns all of a small quota, as soon as a guest that burns a whole processor", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    const sinceMs = performance.now();
    puppet.status = () => ({ ...IDLE, state: "R", cpuMs: (performance.now() - sinceMs) / 10 });
    const run = start(guest, "a");
    const blockMs = 1_000;
    watch(t, guest, { cpuCores: 0.1, blockMs });
    assert.equal(await run.outcome(), "task_blocked");
    assert.ok(puppet.status()!.cpuMs < blockMs / 2, "it need not burn as much as a guest with a whole processor");
  });

  it("is not a guest that gets processor time after a long wait, because it is judged by its whole silence", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    const judged = Promise.withResolvers<void>();
    let samples = 0;
    puppet.status = () => {
      const { pingedMs } = guest.heartbeat;
      const silentMs = pingedMs === null ? 0 : performance.now() - pingedMs;
      if (silentMs > 3 * BLOCK_MS && ++samples === 8) judged.resolve();
      // A quarter of the limit, all at once.
      return { ...IDLE, state: "R", cpuMs: silentMs > 2 * BLOCK_MS ? BLOCK_MS / 4 : 0 };
    };
    const run = start(guest, "a");
    watch(t, guest);
    await judged.promise;
    assert.deepEqual([guest.ended, run.events], [false, []]);
  });

  it("is also a guest that sleeps for most of the time and burns a little meanwhile", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    const sinceMs = performance.now();
    let samples = 0;
    puppet.status = () => {
      const cpuMs = (performance.now() - sinceMs) / 20;
      return { ...IDLE, state: ++samples % 3 === 0 ? "R" : "S", cpuMs };
    };
    const run = start(guest, "a");
    watch(t, guest);
    assert.equal(await run.outcome(), "task_blocked");
  });

  it("gets its share back from a quarter of the limit on if it got too little to be judged, until it has burned enough", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    /** On a busy machine it may have the normal priority before its first sample. */
    const sinceSetBack = (): Priority[] => puppet.priorities.slice(puppet.priorities.indexOf("low"));
    // Its threads compete with it.
    puppet.status = () => {
      const cpuMs = sinceSetBack().includes("normal") ? 260 : 0;
      return { ...IDLE, state: "R", cpuMs, processCpuMs: performance.now() };
    };
    const run = start(guest, "a");
    watch(t, guest, { blockMs: 800 });
    assert.equal(await run.outcome(), "task_blocked");
    // At last it prints where it is blocked.
    assert.deepEqual(sinceSetBack(), ["low", "normal", "low", "high"]);
    assert.ok(puppet.priorities.indexOf("low") <= 1);
  });

  it("has the lowest priority early, and the normal priority again if it answers in time", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    puppet.status = () => ({ ...IDLE, state: "R", cpuMs: 0, processCpuMs: performance.now() });
    start(guest, "a");
    watch(t, guest);
    const ping = await puppet.next(TO_GUEST.ping);
    await until(() => guest.priority === "low", "it is set back");
    puppet.say(FROM_GUEST.pong, ping.id);
    await until(() => guest.priority === "normal", "it has its share again");
    assert.equal(guest.ended, false);
  });

  it("does not seem alive because of answers to pings that were not read", async (t) => {
    const guest = await guests.make(t);
    const run = start(
      guest,
      `const { Worker } = require("node:worker_threads");
       const up = new Int32Array(new SharedArrayBuffer(4));
       new Worker(\`
         const { writeSync } = require("node:fs");
         const pong = Buffer.from([5, 0, 0, 0, 70, 0, 0, 0, 0]);
         const forge = () => {
           try { writeSync(3, pong) } catch (error) { if (error.code !== "EAGAIN") throw error }
           Atomics.store(require("node:worker_threads").workerData, 0, 1);
           Atomics.notify(require("node:worker_threads").workerData, 0);
         };
         setInterval(forge, 5);
       \`, { eval: true, workerData: up });
       await new Promise((end) => { const timer = setInterval(() => Atomics.load(up, 0) && end(clearInterval(timer)), 5) });
       console.log("forging");
       await new Promise((end) => setTimeout(end, 1));
       for (;;);`,
    );
    await run.received("log 1 forging");
    assert.equal(await run.outcome(), "task_blocked");
  });

  it("receives no new run: its replacement receives the run", async (t) => {
    const made: Guest[] = [];
    const pool = new Pool(async () => {
      // This test needs the time between silence and block.
      const guest = await guests.make(t, { blockMs: 1_500 });
      made.push(guest);
      return guest;
    }, 0);
    t.after(() => pool.close());
    const slot = new GuestSlot(new Container("demo"), FREE, owner(), pool);
    t.after(() => slot.close());
    const blocked = start((await slot.arrive()).guest, "for (;;);");
    const guest = made[0]!;
    await until(() => guest.heartbeat.isOverdue(performance.now()), "the guest owes an answer");
    assert.equal(slot.warm(performance.now()), null);
    const arrivals = await Promise.all([slot.arrive(), slot.arrive()]);
    assert.equal(await blocked.outcome(), "task_blocked");
    assert.deepEqual(
      arrivals.map((taken) => taken.guest),
      [made[1], made[1]],
    );
    assert.equal(await start(made[1]!, "6 * 7").outcome(), "result 42");
  });

  it("blames no run if its title is forged, unless there is only one run", async (t) => {
    for (const [runs, outcome] of [
      [2, "container_restarted"],
      [1, "task_blocked"],
    ] as const) {
      const { guest, puppet } = await makeGuest(t);
      puppet.status = () => ({ ...IDLE, title: "rzzzzz)" });
      const all = Array.from({ length: runs }, () => start(guest, "a"));
      watch(t, guest);
      for (const run of all) assert.equal(await run.outcome(), outcome);
    }
  });

  it("is not a guest that answers after all, however late", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    const looked = Promise.withResolvers<void>();
    puppet.status = () => {
      const { pingedMs } = guest.heartbeat;
      if (pingedMs !== null && performance.now() - pingedMs >= BLOCK_MS) looked.resolve();
      return { ...IDLE, state: "R" };
    };
    const run = start(guest, "a");
    watch(t, guest);
    await looked.promise;
    puppet.say(FROM_GUEST.pong, (await puppet.next(TO_GUEST.ping)).id);
    // It was pinged again, so the service has read the answer.
    puppet.say(FROM_GUEST.pong, (await puppet.next(TO_GUEST.ping)).id);
    puppet.say(FROM_GUEST.result, run.id, "1");
    assert.equal(await run.outcome(), "result 1");
    assert.equal(guest.ended, false);
  });
});

describe("without control groups", { concurrency: AT_ONCE }, () => {
  const unheld = { held: { memory: false, cpu: false } };

  it("the watchdog ends a guest that uses more memory than its limit", async (t) => {
    // To fill memory may take longer than the time after which a guest is blocked.
    const guest = await guests.make(t, { ...unheld, memoryBytes: 90 * MIB, blockMs: 60_000 });
    const run = start(
      guest,
      "const kept = Buffer.alloc(50 << 20, 1); await new Promise((never) => setTimeout(never, 60_000)); kept",
    );
    assert.equal(await run.outcome(), "task_memory");
    assert.match(run.problems[0]!.message, /90MiB/);
    assert.match(run.problems[0]!.options.hint!, /--memory-limit/);
    await guest.process.exited;
  });

  it("the watchdog ends a guest whose threads use more processors than its limit for long, and not a guest with one busy thread", async (t) => {
    const window = { held: { memory: true, cpu: false }, cpuWindowMs: 200 };
    const outcomes = [1, 2].map(async (cores) => {
      const { guest, puppet } = await makeGuest(t);
      const sinceMs = performance.now();
      puppet.take = (frame) => {
        if (frame.type === TO_GUEST.ping) puppet.say(FROM_GUEST.pong, frame.id);
        return true;
      };
      puppet.status = () => ({ ...IDLE, processCpuMs: (performance.now() - sinceMs) * cores });
      const run = start(guest, "a");
      watch(t, guest, window);
      return { guest, run };
    });
    const [one, two] = await Promise.all(outcomes);
    assert.equal(await two!.run.outcome(), "task_exited");
    assert.match(two!.run.problems[0]!.message, /more than 1 processors for 200ms/);
    assert.equal(one!.guest.ended, false);
  });

  it("the watchdog ends a guest that starts more threads than its limit, and blames none of several runs", async (t) => {
    const guest = await guests.real.make();
    const { threads } = (await guest.process.inspect())!;
    watch(t, guest, { ...unheld, threads: threads + 2 });
    const waits = start(guest, "await new Promise((never) => setTimeout(never, 60_000))");
    const greedy = start(
      guest,
      `const { Worker } = require("node:worker_threads");
       for (let n = 0; n < 4; n++) new Worker("setInterval(() => {}, 1000)", { eval: true });
       await new Promise((never) => setTimeout(never, 60_000))`,
    );
    for (const run of [waits, greedy]) assert.equal(await run.outcome(), "container_restarted");
    // Without control groups, the data limit applies, and a worker finds no room for its code range.
    assert.match(greedy.problems[0]!.message, guests.real.sandbox.facts.held.memory ? /threads/ : /threads|memory/);
    await guest.process.exited;
  });

  it("a guest that has grown by more than half its limit is replaced after the result of its run", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    let memoryBytes = 40 * MIB;
    puppet.status = () => {
      memoryBytes = Math.min(memoryBytes + 10 * MIB, 120 * MIB);
      return { ...IDLE, memoryBytes };
    };
    const run = start(guest, "a");
    watch(t, guest, { ...unheld, blockMs: 60_000 });
    await until(() => guest.draining, "the guest is retired");
    assert.deepEqual([guest.ended, run.events], [false, []]);
    puppet.say(FROM_GUEST.result, run.id, "1");
    assert.equal(await run.outcome(), "result 1");
    await puppet.exited;
  });
});
