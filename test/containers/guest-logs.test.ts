import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { FROM_GUEST } from "../../src/wire/messages.ts";
import { makeGuest } from "./puppet.ts";
import { start } from "./recorder.ts";

const LIMITS = { bytes: 1_000, linesPerSecond: 20 };
const line = (bytes: number): Uint8Array => new Uint8Array(bytes);

describe("a guest that does not drop log lines above the limits", () => {
  it("has its lines dropped by the service, which logs that once, and the run returns its result", async (t) => {
    const { guest, puppet } = await makeGuest(t, { logs: LIMITS });
    const run = start(guest, "a");
    for (let count = 0; count < 10; count++) puppet.say(FROM_GUEST.log, run.id, line(400));
    puppet.say(FROM_GUEST.result, run.id, "1");
    assert.equal(await run.outcome(), "result 1");
    const accepted = run.events.filter((event) => event.startsWith("log 0"));
    // Twice the limit is accepted, because the guest counts by its own clock.
    assert.equal(accepted.length, 5);
    assert.deepEqual(run.events.slice(5), ["log 2 the run has logged 1000 bytes; the rest is dropped", "result 1"]);
    assert.equal(guest.ended, false);
  });

  it("has its lines dropped also if there are too many in one second", async (t) => {
    const { guest, puppet } = await makeGuest(t, { logs: { ...LIMITS, bytes: 2 ** 20 } });
    const run = start(guest, "a");
    for (let count = 0; count < 200; count++) puppet.say(FROM_GUEST.log, run.id, line(1));
    puppet.say(FROM_GUEST.result, run.id, "1");
    assert.equal(await run.outcome(), "result 1");
    assert.equal(run.events[39], "log 0 ");
    assert.match(run.events[40]!, /^log 2 the run has logged 20 lines in a second/);
    assert.ok(run.events.length < 200, "a busy machine may need more than a second for all of them");
  });

  it("is ended if it floods the service with lines", async (t) => {
    const { guest, puppet } = await makeGuest(t, { logs: LIMITS });
    const run = start(guest, "a");
    for (let count = 0; count < 11_000; count++) puppet.say(FROM_GUEST.log, run.id, line(1));
    assert.equal(await run.outcome(), "task_exited");
    assert.ok(guest.ended);
  });
});

describe("a log line without a run", () => {
  it("belongs to the only run in flight, and is dropped if there are several runs", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    const first = start(guest, "a");
    puppet.say(FROM_GUEST.log, 0, Uint8Array.of(1, 0x68, 0x69));
    await first.received("log 1 hi");
    const second = start(guest, "b");
    puppet.say(FROM_GUEST.log, 0, Uint8Array.of(1, 0x68, 0x6f));
    for (const run of [first, second]) puppet.say(FROM_GUEST.result, run.id, "1");
    await Promise.all([first.ended, second.ended]);
    assert.deepEqual([first.events, second.events], [["log 1 hi", "result 1"], ["result 1"]]);
  });
});

describe("a log line after the answer of its run", () => {
  it("belongs to that run, also after the end of a thousand other runs", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    const first = start(guest, "a");
    puppet.say(FROM_GUEST.result, first.id, "1");
    await first.ended;
    for (let count = 0; count < 1_000; count++) {
      const other = start(guest, "a");
      puppet.say(FROM_GUEST.result, other.id, "1");
      await other.ended;
    }
    puppet.say(FROM_GUEST.log, first.id, Uint8Array.of(1, 0x68, 0x69));
    await first.receivedLate("log 1 hi");
  });
});
