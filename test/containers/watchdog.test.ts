import assert from "node:assert/strict";
import { after, before, describe, it, type TestContext } from "node:test";

import { Compartment } from "../../src/containers/compartment.ts";
import { Container } from "../../src/containers/container.ts";
import { Guest } from "../../src/containers/guest.ts";
import { Pool } from "../../src/containers/pool.ts";
import { Watchdog, type WatchdogOptions } from "../../src/containers/watchdog.ts";
import type { Priority } from "../../src/sandbox/sandbox.ts";
import { FROM_GUEST, TO_GUEST } from "../../src/wire/messages.ts";
import { pause, until } from "../contract/until.ts";
import { FREE, holder } from "./parties.ts";
import { IDLE, LIMITS, makeGuest, Puppet } from "./puppet.ts";
import { openRealGuests, type RealGuests, RESOURCES } from "./real-guests.ts";
import { start } from "./recorder.ts";

/** Each test mostly waits for its watchdog; a quarter of them burn a processor meanwhile. */
const AT_ONCE = 4;
const BLOCK_MS = 300;
const MIB = 2 ** 20;
const CONTEXT = JSON.stringify({
  runId: "1",
  container: "demo",
  method: "POST",
  url: "http://localhost/",
  headers: {},
});
const OPTIONS: WatchdogOptions = {
  wallMs: 60_000,
  streamMs: 60_000,
  blockMs: BLOCK_MS,
  memoryBytes: RESOURCES.memoryBytes,
  threads: RESOURCES.threads,
  cpuCores: 1,
  held: { memory: true, cpu: true },
};

let real: RealGuests;

before(async () => {
  real = await openRealGuests();
});
after(() => real.close());

function watch(t: TestContext, guest: Guest, options: Partial<WatchdogOptions> = {}): Guest {
  const watchdog = new Watchdog(new Set([guest]), { ...OPTIONS, ...options });
  t.after(() => watchdog.close());
  return guest;
}

async function makeWatched(t: TestContext, options: Partial<WatchdogOptions> = {}): Promise<Guest> {
  const { wallMs, streamMs } = { ...OPTIONS, ...options };
  return watch(t, await real.make({ wallMs, streamMs }), options);
}

/** A watched guest that was never given a run, and is not asked whether it answers. */
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
  it("comes before what others go on with until it is answered", async (t) => {
    const { guest, puppet } = await makeBlank(t);
    start(guest, "a");
    const { id } = await puppet.next(TO_GUEST.run);
    puppet.say(FROM_GUEST.result, id, "1");
    await until(() => guest.priority === "normal", "it is as others");
    start(guest, "b");
    await pause(200);
    assert.deepEqual(puppet.priorities, ["normal"], "another run changes nothing");
  });

  it("comes before them for a moment and no longer where its answer does not come", async (t) => {
    const { guest, puppet } = await makeBlank(t);
    start(guest, "a");
    await until(() => guest.priority === "normal", "it is as others");
    await pause(200);
    assert.deepEqual(puppet.priorities, ["normal"]);
  });
});

describe("work that a run gave to waitUntil", () => {
  it("ends with the deadline of the run, which has its answer, and its guest takes no new run", async (t) => {
    const guest = await makeWatched(t, { wallMs: 2_000 });
    const code = `module.exports = (context) => {
      context.signal.onabort = () => console.log("aborted");
      context.waitUntil(new Promise(() => {}));
      return 1;
    }`;
    const run = start(guest, code, () => CONTEXT);
    await pause(1_000);
    // Else its guest would have no longer for its last words than the grace after the deadline.
    start(guest, "await new Promise(() => {})");
    await run.isOver.promise;
    await run.toldLate("log 1 aborted");
    assert.deepEqual(run.heard.toSorted(), [
      "log 1 aborted",
      "result 1",
      "unheard what the task gave to waitUntil was not over by the deadline of its run",
    ]);
    assert.ok(guest.draining);
  });
});

describe("a guest that is blocked", { concurrency: AT_ONCE }, () => {
  const ways = {
    "burns its processor": "for (;;);",
    sleeps: "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)",
  };
  for (const [what, code] of Object.entries(ways)) {
    it(`is ended, and of two runs the one that entered last is told that it did it: ${what}`, async (t) => {
      const guest = await makeWatched(t);
      const waits = start(guest, "console.log('entered'); await new Promise(() => {})");
      await waits.told("log 1 entered");
      const blocks = start(guest, code);
      assert.equal(await blocks.outcome(), "task_blocked");
      assert.equal(await waits.outcome(), "container_restarted");
      assert.match(blocks.problems[0]!.message, /300ms/);
      await guest.process.exited;
      assert.equal(await guest.process.inspect(), null);
    });
  }

  it("is not one whose only run waits longer than the limit and lets go of its event loop", async (t) => {
    const guest = await makeWatched(t);
    const run = start(guest, `await new Promise((end) => setTimeout(end, ${4 * BLOCK_MS}, "waited"))`);
    assert.equal(await run.outcome(), 'result "waited"');
    assert.equal(guest.ended, false);
  });

  it("is not one that gets no processor on a busy machine: it is given time until it burns what it gets", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    const silent = Promise.withResolvers<void>();
    let cpuMs = 0;
    let burns = false;
    let looks = 0;
    puppet.status = () => {
      if (++looks === 8) silent.resolve();
      if (burns) cpuMs = performance.now();
      return { ...IDLE, state: "R", cpuMs };
    };
    const run = start(guest, "a");
    watch(t, guest);
    await silent.promise;
    assert.deepEqual([guest.ended, run.heard], [false, []]);
    burns = true;
    assert.equal(await run.outcome(), "task_blocked");
  });

  it("is also one that gets little of the processor, once it has burned what another would have burned at once", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    const sinceMs = performance.now();
    // A tenth of the time, as beside threads of its own.
    puppet.status = () => ({ ...IDLE, state: "R", cpuMs: (performance.now() - sinceMs) / 10 });
    const run = start(guest, "a");
    watch(t, guest);
    assert.equal(await run.outcome(), "task_blocked");
    const { cpuMs } = puppet.status()!;
    assert.ok(cpuMs >= BLOCK_MS / 2, String(cpuMs));
  });

  it("has burned enough under a longer limit once that is more than an honest step takes", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    const sinceMs = performance.now();
    puppet.status = () => ({ ...IDLE, state: "R", cpuMs: (performance.now() - sinceMs) / 4 });
    const run = start(guest, "a");
    watch(t, guest, { blockMs: 800 });
    assert.equal(await run.outcome(), "task_blocked");
    assert.ok(puppet.status()!.cpuMs >= 250);
  });

  it("is not one that is being started on a busy machine: until it is ready no task runs in it", async (t) => {
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

  it("is one that burns all of a small quota, as soon as one that burns a whole processor", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    const sinceMs = performance.now();
    puppet.status = () => ({ ...IDLE, state: "R", cpuMs: (performance.now() - sinceMs) / 10 });
    const run = start(guest, "a");
    const blockMs = 1_000;
    watch(t, guest, { cpuCores: 0.1, blockMs });
    assert.equal(await run.outcome(), "task_blocked");
    assert.ok(puppet.status()!.cpuMs < blockMs / 2, "it had not to burn as much as one with a processor of its own");
  });

  it("is not one that gets a slice of the processor after a long wait: it is judged by the whole of its silence", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    const judged = Promise.withResolvers<void>();
    let looks = 0;
    puppet.status = () => {
      const { pingedMs } = guest.pulse;
      const silentMs = pingedMs === null ? 0 : performance.now() - pingedMs;
      if (silentMs > 3 * BLOCK_MS && ++looks === 8) judged.resolve();
      // All of it at once, and no more than a quarter of the limit.
      return { ...IDLE, state: "R", cpuMs: silentMs > 2 * BLOCK_MS ? BLOCK_MS / 4 : 0 };
    };
    const run = start(guest, "a");
    watch(t, guest);
    await judged.promise;
    assert.deepEqual([guest.ended, run.heard], [false, []]);
  });

  it("is also one that sleeps for most of the time and burns a little between", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    const sinceMs = performance.now();
    let looks = 0;
    puppet.status = () => {
      const cpuMs = (performance.now() - sinceMs) / 20;
      return { ...IDLE, state: ++looks % 3 === 0 ? "R" : "S", cpuMs };
    };
    const run = start(guest, "a");
    watch(t, guest);
    assert.equal(await run.outcome(), "task_blocked");
  });

  it("that got too little to be judged has its share back from a quarter of the limit on, until it has burned enough", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    /** On a busy machine it is as others before it is first looked at. */
    const sinceSetBack = (): Priority[] => puppet.priorities.slice(puppet.priorities.indexOf("low"));
    puppet.status = () => ({ ...IDLE, state: "R", cpuMs: sinceSetBack().includes("normal") ? 260 : 0 });
    const run = start(guest, "a");
    watch(t, guest, { blockMs: 800 });
    assert.equal(await run.outcome(), "task_blocked");
    assert.deepEqual(sinceSetBack(), ["low", "normal", "low"]);
    assert.ok(puppet.priorities.indexOf("low") <= 1);
  });

  it("has the processor after all others from early on, and its share again when it answers in time to be spared", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    puppet.status = () => ({ ...IDLE, state: "R", cpuMs: 0 });
    start(guest, "a");
    watch(t, guest);
    const ping = await puppet.next(TO_GUEST.ping);
    await until(() => guest.priority === "low", "it is set back");
    puppet.say(FROM_GUEST.pong, ping.id);
    await until(() => guest.priority === "normal", "it has its share again");
    assert.equal(guest.ended, false);
  });

  it("is not made to look alive by answers to pings that were not read", async (t) => {
    const guest = await makeWatched(t);
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
    await run.told("log 1 forging");
    assert.equal(await run.outcome(), "task_blocked");
  });

  it("keeps a run that comes meanwhile from being sent to it: the replacement gets it", async (t) => {
    const guests: Guest[] = [];
    const pool = new Pool(async () => {
      // The time between being silent and being blocked is what is looked at.
      const guest = await makeWatched(t, { blockMs: 1_500 });
      guests.push(guest);
      return guest;
    }, 0);
    t.after(() => pool.close());
    const compartment = new Compartment(new Container("demo"), FREE, holder(), pool);
    t.after(() => compartment.close());
    const blocked = start((await compartment.arrive()).guest, "for (;;);");
    const guest = guests[0]!;
    await until(() => guest.pulse.isSilent(performance.now()), "the guest owes an answer");
    assert.equal(compartment.warm(performance.now()), null);
    const arrivals = await Promise.all([compartment.arrive(), compartment.arrive()]);
    assert.equal(await blocked.outcome(), "task_blocked");
    assert.deepEqual(
      arrivals.map((taken) => taken.guest),
      [guests[1], guests[1]],
    );
    assert.equal(await start(guests[1]!, "6 * 7").outcome(), "result 42");
  });

  it("blames nobody when the name that it gives its run is forged, unless there is only one", async (t) => {
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

  it("is not one that answers in the end, however late", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    const looked = Promise.withResolvers<void>();
    puppet.status = () => {
      const { pingedMs } = guest.pulse;
      if (pingedMs !== null && performance.now() - pingedMs >= BLOCK_MS) looked.resolve();
      return { ...IDLE, state: "R" };
    };
    const run = start(guest, "a");
    watch(t, guest);
    await looked.promise;
    puppet.say(FROM_GUEST.pong, (await puppet.next(TO_GUEST.ping)).id);
    // Pinged again: the answer has been taken.
    puppet.say(FROM_GUEST.pong, (await puppet.next(TO_GUEST.ping)).id);
    puppet.say(FROM_GUEST.result, run.id, "1");
    assert.equal(await run.outcome(), "result 1");
    assert.equal(guest.ended, false);
  });
});

describe("a run past its deadline", { concurrency: AT_ONCE }, () => {
  it("ends alone: its signal aborts, the others come to their results, and then the guest goes", async (t) => {
    const wallMs = 700;
    const guest = await makeWatched(t, { wallMs });
    const late = start(
      guest,
      `(context) => new Promise(() => context.signal.addEventListener("abort", () => { globalThis.told = true }))`,
      () => CONTEXT,
    );
    // Begun later, so that its own deadline comes later.
    const began = start(guest, `await new Promise((end) => setTimeout(end, ${wallMs / 2}))`);
    assert.equal(await began.outcome(), "result null");
    const other = start(
      guest,
      `await new Promise((end) => { const timer = setInterval(() => globalThis.told && end(clearInterval(timer)), 5) });
       return "told"`,
    );
    assert.equal(await late.outcome(), "task_timeout");
    assert.match(late.problems[0]!.message, /within 700ms/);
    assert.deepEqual([guest.draining, guest.ended], [true, false]);
    assert.equal(await other.outcome(), 'result "told"');
    await guest.process.exited;
    assert.deepEqual(late.heard, ["task_timeout"]);
  });

  it("is cut when it streams for longer than a stream may, though its head came in time", async (t) => {
    const guest = await makeWatched(t, { streamMs: 400 });
    const run = start(guest, `new Response(new ReadableStream({ start(c) { c.enqueue(new Uint8Array(3)) } }))`);
    assert.equal(await run.outcome(), "task_timeout");
    assert.deepEqual(run.heard, ["head 200", "data 3", "task_timeout"]);
    assert.match(run.problems[0]!.message, /streaming after 400ms/);
    await guest.process.exited;
  });
});

describe("a code that answers by something else than its value", () => {
  it("is told at its deadline what it has perhaps left out", async (t) => {
    const guest = await makeWatched(t, { wallMs: 2_000, streamMs: 2_000 });
    const runs = [
      "(context, cb) => {}",
      "(context, req, res) => {}",
      "(context, req, res) => { res.write('half') }",
      "new Promise(() => {})",
    ].map((text) => start(guest, text, () => CONTEXT));
    const outcomes = await Promise.all(runs.map((run) => run.outcome()));
    assert.deepEqual(new Set(outcomes), new Set(["task_timeout"]));
    const hints = runs.map(({ problems }) => problems[0]!.options.hint);
    assert.match(hints[0]!, /^cb was never called/);
    assert.match(hints[1]!, /^res\.end\(\) was never called/);
    assert.match(hints[2]!, /when it calls res\.end\(\)/);
    assert.equal(hints[3], undefined);
  });
});

describe("where no control group holds a guest", { concurrency: AT_ONCE }, () => {
  const unheld = { held: { memory: false, cpu: false } };

  it("the watchdog ends one that takes more memory than it may", async (t) => {
    const guest = await makeWatched(t, { ...unheld, memoryBytes: 90 * MIB });
    const run = start(guest, "const kept = Buffer.alloc(50 << 20, 1); await new Promise(() => {}); kept");
    assert.equal(await run.outcome(), "task_memory");
    assert.match(run.problems[0]!.message, /90MiB/);
    assert.match(run.problems[0]!.options.hint!, /--memory-limit/);
    await guest.process.exited;
  });

  it("the watchdog ends one whose threads use more processors than it has for long, and none of one busy thread", async (t) => {
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

  it("the watchdog ends one that starts more threads than it may, and blames none of several runs", async (t) => {
    const guest = await real.make();
    const { threads } = (await guest.process.inspect())!;
    watch(t, guest, { ...unheld, threads: threads + 2 });
    const waits = start(guest, "await new Promise(() => {})");
    const greedy = start(
      guest,
      `const { Worker } = require("node:worker_threads");
       for (let n = 0; n < 4; n++) new Worker("setInterval(() => {}, 1000)", { eval: true });
       await new Promise(() => {})`,
    );
    for (const run of [waits, greedy]) assert.equal(await run.outcome(), "container_restarted");
    // Where no control group could be made, the data limit is in force, and a worker finds no room for its code range.
    assert.match(greedy.problems[0]!.message, real.sandbox.facts.held.memory ? /threads/ : /threads|memory/);
    await guest.process.exited;
  });

  it("one that has grown past half its limit is replaced once its run has its result", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    let memoryBytes = 40 * MIB;
    puppet.status = () => {
      memoryBytes = Math.min(memoryBytes + 10 * MIB, 120 * MIB);
      return { ...IDLE, memoryBytes };
    };
    const run = start(guest, "a");
    watch(t, guest, { ...unheld, blockMs: 60_000 });
    await until(() => guest.draining, "the guest is retired");
    assert.deepEqual([guest.ended, run.heard], [false, []]);
    puppet.say(FROM_GUEST.result, run.id, "1");
    assert.equal(await run.outcome(), "result 1");
    await puppet.exited;
  });
});
