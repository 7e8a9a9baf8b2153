import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";

import { Container, GuestSlot } from "../../src/containers/guest-slot.ts";
import type { Guest } from "../../src/containers/guest/guest.ts";
import { Pool } from "../../src/containers/pool.ts";
import { Problem } from "../../src/errors.ts";
import { FREE, owner } from "./isolation-groups.ts";
import { IDLE, makeGuest } from "./puppet.ts";
import { start } from "./recorder.ts";

const MAX_AGE_MS = 20 * 60_000;
const TIMEOUT = new Problem("task_timeout", "too late");

function makeSlot(t: TestContext, launch: () => Promise<Guest> = async () => (await makeGuest(t)).guest): GuestSlot {
  const pool = new Pool(launch, 0);
  t.after(() => pool.close());
  return new GuestSlot(new Container("demo"), FREE, owner(), pool);
}

it("a slot has no guest before its first run, and keeps the guest that arrived", async (t) => {
  const slot = makeSlot(t);
  assert.equal(slot.warm(performance.now()), null);
  const { guest, start: kind } = await slot.arrive();
  assert.equal(kind, "cold");
  assert.deepEqual(slot.warm(performance.now()), { guest, start: "warm" });
});

it("runs that arrive while the guest is started wait for the same guest", async (t) => {
  let launches = 0;
  const slot = makeSlot(t, async () => {
    launches++;
    return (await makeGuest(t)).guest;
  });
  const taken = await Promise.all([slot.arrive(), slot.arrive(), slot.arrive()]);
  assert.equal(new Set(taken.map(({ guest }) => guest)).size, 1);
  assert.equal(launches, 1);
});

it("runs that only waited begin in another guest if abandoned runs have ended the guest for which they waited", async (t) => {
  const slot = makeSlot(t);
  const waiting = Array.from({ length: 70 }, (_, index) =>
    slot.whenArrived(({ guest }) => {
      const run = start(guest, "a");
      if (index < 65) guest.inFlight.abandon(run.id);
      return { guest, run };
    }),
  );
  const begun = await Promise.all(waiting);
  assert.ok(begun[63]!.guest.ended);
  const { guest } = begun[64]!;
  for (const each of begun.slice(64)) assert.equal(each.guest, guest);
  assert.equal(guest.ended, false);
  assert.deepEqual(
    begun.slice(65).flatMap(({ run }) => run.events),
    [],
  );
});

it("a run whose guests always end does not wait for ever", async (t) => {
  const slot = makeSlot(t, async () => {
    const { guest } = await makeGuest(t);
    guest.end(new Problem("sandbox_failed", "no"));
    return guest;
  });
  await assert.rejects(
    slot.whenArrived(({ guest }) => start(guest, "a")),
    { code: "sandbox_failed" },
  );
});

it("a guest that could not be started is reported to all waiting runs, and the next run tries again", async (t) => {
  let fails = true;
  const slot = makeSlot(t, async () => {
    if (fails) throw new Problem("sandbox_failed", "no");
    return (await makeGuest(t)).guest;
  });
  const waiting = [slot.arrive(), slot.arrive()];
  for (const each of waiting) await assert.rejects(each, { code: "sandbox_failed" });
  fails = false;
  assert.equal((await slot.arrive()).guest.ended, false);
});

it("a guest that drains or has ended takes no run, and another guest replaces it", async (t) => {
  const slot = makeSlot(t);
  const { guest } = await slot.arrive();
  start(guest, "a");
  guest.retire();
  assert.equal(guest.ended, false);
  assert.equal(slot.warm(performance.now()), null);
  assert.notEqual((await slot.arrive()).guest, guest);
});

it("the draining guests of all slots of a token family are few: the oldest ends with its runs", async (t) => {
  const family = owner();
  const pool = new Pool(async () => (await makeGuest(t)).guest, 0);
  t.after(() => pool.close());
  const drained: Guest[] = [];
  for (let index = 0; index < 10; index++) {
    const slot = new GuestSlot(new Container(`c-${index}`), FREE, family, pool);
    const { guest } = await slot.arrive();
    start(guest, "a");
    guest.retire();
    assert.notEqual((await slot.arrive()).guest, guest);
    drained.push(guest);
  }
  assert.deepEqual(
    drained.map(({ ended }) => ended),
    [true, true, ...Array.from({ length: 8 }, () => false)],
  );
});

/** Returns a slot that two guests with a run each drain from, these guests, and a third guest with two runs. */
async function drainingTwo(t: TestContext) {
  const slot = makeSlot(t);
  const drained: Guest[] = [];
  for (let index = 0; index < 2; index++) {
    const { guest } = await slot.arrive();
    start(guest, "other");
    guest.expire(start(guest, "late").id, TIMEOUT);
    assert.equal(slot.warm(performance.now()), null);
    drained.push(guest);
  }
  const { guest } = await slot.arrive();
  return { slot, drained, guest, other: start(guest, "other"), late: start(guest, "late") };
}

describe("a guest with a run past the limit for all runs, when two guests of its slot drain already", () => {
  it("keeps taking runs, so that no guest ends with the runs of others", async (t) => {
    const { slot, drained, guest, other, late } = await drainingTwo(t);
    guest.expire(late.id, TIMEOUT);
    assert.equal(await late.outcome(), "task_timeout");
    assert.equal(slot.warm(performance.now())?.guest, guest);
    assert.deepEqual(
      [...drained, guest].map(({ ended }) => ended),
      [false, false, false],
    );
    assert.deepEqual(other.events, []);
  });

  it("is replaced once another of them has ended", async (t) => {
    const { slot, drained, guest, late } = await drainingTwo(t);
    guest.expire(late.id, TIMEOUT);
    drained[1]!.end(TIMEOUT);
    assert.equal(slot.warm(performance.now()), null);
    assert.deepEqual([guest.draining, guest.ended, drained[0]!.ended], [true, false, false]);
    assert.notEqual((await slot.arrive()).guest, guest);
  });

  it("ends once no run is in flight", async (t) => {
    const { slot, guest, other, late } = await drainingTwo(t);
    guest.inFlight.kill(late.id, TIMEOUT);
    assert.equal(slot.warm(performance.now())?.guest, guest);
    guest.inFlight.fail(other.id, TIMEOUT);
    await Promise.resolve();
    assert.ok(guest.ended);
    assert.equal(slot.warm(performance.now()), null);
  });
});

it("the memory of a slot is that of its guests and of their files in memory", async (t) => {
  const { guest, puppet } = await makeGuest(t);
  const slot = makeSlot(t, async () => guest);
  await slot.arrive();
  puppet.filesBytes = 60 * 2 ** 20;
  await slot.measure();
  assert.equal(slot.memoryBytes, IDLE.memoryBytes + puppet.filesBytes);
});

it("a guest that replaces a lost guest is requested as a replacement, and the first guest is not", async (t) => {
  const requests: boolean[] = [];
  const pool = new Pool(async () => (await makeGuest(t)).guest, 0);
  t.after(() => pool.close());
  const take = pool.take.bind(pool);
  pool.take = (taker) => (requests.push(taker.replaces), take(taker));
  const slot = new GuestSlot(new Container("demo"), FREE, owner(), pool);
  const { guest } = await slot.arrive();
  guest.retire();
  await slot.arrive();
  assert.deepEqual(requests, [false, true]);
});

it("a guest is replaced after twenty minutes, once its runs have ended", async (t) => {
  const slot = makeSlot(t);
  const { guest } = await slot.arrive();
  assert.equal(slot.warm(guest.startedMs + MAX_AGE_MS)?.guest, guest);
  start(guest, "a");
  assert.equal(slot.warm(guest.startedMs + MAX_AGE_MS + 1), null);
  assert.deepEqual([guest.draining, guest.ended], [true, false]);
});

it("a guest is replaced after a hundred thousand runs", async (t) => {
  const slot = makeSlot(t);
  const { guest } = await slot.arrive();
  guest.runs = 99_999;
  assert.equal(slot.warm(guest.startedMs)?.guest, guest);
  guest.runs++;
  assert.equal(slot.warm(guest.startedMs), null);
  assert.ok(guest.ended);
});

it("a closed slot ends its guest, and its runs receive container_restarted", async (t) => {
  const slot = makeSlot(t);
  const { guest } = await slot.arrive();
  const run = start(guest, "a");
  slot.close();
  assert.equal(await run.outcome(), "container_restarted");
  assert.ok(guest.ended);
  assert.equal(slot.warm(performance.now()), null);
});

it("a guest with an overdue ping gets no run until it has answered", async (t) => {
  const slot = makeSlot(t);
  const { guest } = await slot.arrive();
  const nowMs = performance.now();
  guest.ping(nowMs);
  assert.equal(slot.warm(nowMs)?.guest, guest);
  assert.equal(slot.warm(nowMs + 251), null);
  let waited = false;
  const waiting = slot.arrive().then((taken) => {
    waited = true;
    return taken;
  });
  await new Promise(setImmediate);
  assert.equal(waited, false);
  guest.heartbeat.end();
  assert.equal((await waiting).guest, guest);
  assert.equal(slot.warm(performance.now())?.guest, guest);
});

it("a guest that died by its tasks counts for the wait, and a replaced guest does not", async (t) => {
  const slot = makeSlot(t);
  const nowMs = performance.now();
  for (let turn = 0; turn < 10; turn++) {
    (await slot.arrive()).guest.retire();
    assert.equal(slot.backOffMs(nowMs), 0);
  }
  for (let turn = 0; turn < 5; turn++) {
    (await slot.arrive()).guest.crash(new Problem("task_exited", "died"));
  }
  assert.equal(slot.isCold, true);
  assert.ok(slot.backOffMs(performance.now()) > 0);
  assert.equal(slot.backOffMs(performance.now() + 5_000), 0);
});
