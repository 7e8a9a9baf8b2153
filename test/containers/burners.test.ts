import assert from "node:assert/strict";
import { after, before, describe, it, type TestContext } from "node:test";

import type { Guest } from "../../src/containers/guest.ts";
import { Watchdog } from "../../src/containers/watchdog.ts";
import type { GuestStatus } from "../../src/sandbox/sandbox.ts";
import { FROM_GUEST } from "../../src/wire/messages.ts";
import { pause, until } from "../contract/until.ts";
import { IDLE, makeGuest, type Puppet } from "./puppet.ts";
import { openRealGuests, type RealGuests, RESOURCES } from "./real-guests.ts";
import { start } from "./recorder.ts";

/** Each mostly waits for its watchdog. */
const AT_ONCE = { concurrency: true };

let real: RealGuests;

before(async () => {
  real = await openRealGuests();
});
after(() => real.close());

function watch(t: TestContext, guest: Guest, cpuCores = 1): void {
  const watchdog = new Watchdog(new Set([guest]), {
    ...{ wallMs: 60_000, streamMs: 60_000, blockMs: 30_000, cpuCores, held: { memory: true, cpu: true } },
    ...{ memoryBytes: RESOURCES.memoryBytes, threads: RESOURCES.threads },
  });
  t.after(() => watchdog.close());
}

/** A guest that is never asked whether it answers: what a busy machine does to that is another test's. */
class Lively {
  readonly guest: Guest;
  readonly puppet: Puppet;
  /** How often the kernel was asked of it. The first time is the scales'. */
  looks = 0;
  #state = "S";
  #share = 0;
  #sinceMs = 0;
  #usedMs = 0;

  constructor({ guest, puppet }: { guest: Guest; puppet: Puppet }) {
    this.guest = guest;
    this.puppet = puppet;
    guest.ping = () => {};
    puppet.status = (): GuestStatus => {
      this.looks++;
      return { ...IDLE, state: this.#state, processCpuMs: this.#processCpuMs() };
    };
  }

  /** @param share of a processor that it has from now on. */
  uses(share: number, state: "R" | "S"): void {
    this.#usedMs = this.#processCpuMs();
    this.#sinceMs = performance.now();
    this.#share = share;
    this.#state = state;
  }

  #processCpuMs(): number {
    return this.#usedMs + (performance.now() - this.#sinceMs) * this.#share;
  }
}

async function lively(t: TestContext): Promise<Lively> {
  return new Lively(await makeGuest(t));
}

describe("a guest that goes on using the processor", AT_ONCE, () => {
  it("is busy until it neither uses much nor wants more, however little it gets meanwhile", async (t) => {
    const one = await lively(t);
    one.uses(0.8, "R");
    start(one.guest, "a");
    watch(t, one.guest);
    await until(() => one.guest.priority === "busy", "it is busy");
    one.uses(0.05, "R");
    const soFar = [...one.puppet.priorities];
    // On a busy machine it is as others for no time at all before.
    assert.deepEqual(
      soFar.filter((each) => each !== "normal"),
      ["busy"],
    );
    await pause(1_000);
    assert.deepEqual(one.puppet.priorities, soFar);
    one.uses(0.4, "S");
    await until(() => one.guest.priority === "normal", "it is as others");
    await pause(600);
    assert.deepEqual(one.puppet.priorities, [...soFar, "normal"]);
  });

  it("is busy on a full machine, too, where it gets little: by wanting it all the time", async (t) => {
    const one = await lively(t);
    one.uses(0.2, "R");
    start(one.guest, "a");
    watch(t, one.guest);
    await until(() => one.guest.priority === "busy", "it is busy");
  });

  it("is busy where it uses most of a small quota", async (t) => {
    const one = await lively(t);
    one.uses(0.2, "S");
    start(one.guest, "a");
    watch(t, one.guest, 0.25);
    await until(() => one.guest.priority === "busy", "it is busy");
  });

  it("is busy behind its answer, until it is done", async (t) => {
    const one = await lively(t);
    one.uses(0.9, "S");
    const run = start(one.guest, "a");
    one.puppet.say(FROM_GUEST.result, run.id, "1");
    assert.equal(await run.outcome(), "result 1");
    watch(t, one.guest);
    await until(() => one.guest.priority === "busy", "it is busy");
    one.uses(0, "S");
    await until(() => one.guest.priority === "normal", "it is as others");
    const { looks } = one;
    await pause(600);
    assert.ok(one.looks <= looks + 1, "nobody looks at it any more");
  });

  it("is busy though it lets go of its event loop, and though only its other threads burn", async (t) => {
    const ways = [
      "while (!globalThis.stop) await new Promise(setImmediate)",
      `const { Worker } = require("node:worker_threads");
       const worker = new Worker("for (;;);", { eval: true });
       while (!globalThis.stop) await new Promise((resolve) => setTimeout(resolve, 50));
       worker.terminate();`,
    ];
    for (const code of ways) {
      const guest = await real.make();
      watch(t, guest);
      const run = start(guest, code);
      await until(() => guest.priority === "busy", "it is busy");
      assert.equal(await start(guest, "globalThis.stop = true").outcome(), "result true");
      assert.equal(await run.outcome(), "result null");
      await until(() => guest.priority === "normal", "it is as others");
    }
  });
});

describe("a guest that needs the processor now and then", AT_ONCE, () => {
  it("is as others with less than half of one", async (t) => {
    const one = await lively(t);
    one.uses(0.4, "S");
    start(one.guest, "a");
    watch(t, one.guest);
    await pause(1_200);
    assert.deepEqual(one.puppet.priorities, ["normal"]);
  });

  it("is not taken for another with a small quota, for the ten milliseconds that the kernel counts by", async (t) => {
    const one = await lively(t);
    let looks = 0;
    one.puppet.status = () => ({ ...IDLE, processCpuMs: 10 * ++looks });
    start(one.guest, "a");
    watch(t, one.guest, 0.1);
    await until(() => looks >= 4, "it was looked at");
    assert.deepEqual(one.puppet.priorities, ["normal"]);
  });

  it("is looked at less and less often while it waits, and at once when it begins to burn", async (t) => {
    const one = await lively(t);
    start(one.guest, "a");
    watch(t, one.guest);
    const sinceMs = performance.now();
    await pause(2_000);
    // After 0.05, 0.2, 0.5 s and then each half second, and once by the scales.
    const most = 4 + Math.ceil((performance.now() - sinceMs) / 500);
    assert.ok(one.looks <= most, `${one.looks} of ${most}`);
    one.uses(0.9, "R");
    await until(() => one.guest.priority === "busy", "it is busy");
  });

  it("is not looked at while it has no run, and not any more when it is calm after one", async (t) => {
    const one = await lively(t);
    watch(t, one.guest);
    await pause(400);
    assert.equal(one.looks, 1);
    const run = start(one.guest, "a");
    one.puppet.say(FROM_GUEST.result, run.id, "1");
    await run.outcome();
    await until(() => one.looks === 3, "it was looked at twice");
    await pause(400);
    assert.equal(one.looks, 3);
  });
});
