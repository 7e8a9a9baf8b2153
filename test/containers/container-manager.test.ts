import assert from "node:assert/strict";
import { it, type TestContext } from "node:test";

import {
  type Reservation,
  ContainerManager,
  type ContainerManagerOptions,
} from "../../src/containers/container-manager.ts";
import type { GuestSlot } from "../../src/containers/guest-slot.ts";
import type { Guest } from "../../src/containers/guest/guest.ts";
import { Pool } from "../../src/containers/pool.ts";
import type { Problem } from "../../src/errors.ts";
import { FREE, NO_CAPS, token } from "./isolation-groups.ts";
import { makeGuest } from "./puppet.ts";
import { start } from "./recorder.ts";

const ALICE = token("alice");
const OPTIONS: ContainerManagerOptions = {
  concurrency: 64,
  maxContainers: 8,
  containerParties: 8,
  idleMs: 60_000,
  memoryReserveBytes: 0,
  caps: NO_CAPS,
};

function makeManager(t: TestContext, options: Partial<ContainerManagerOptions>): ContainerManager {
  const pool = new Pool(async () => (await makeGuest(t)).guest, 0);
  const manager = new ContainerManager(pool, { ...OPTIONS, ...options });
  t.after(() => {
    manager.close();
    pool.close();
  });
  return manager;
}

/** Reserves a slot for free code of one token. */
function reserve(manager: ContainerManager, name: string, atMs: number): Reservation {
  return manager.reserve(name, FREE, ALICE, atMs);
}

/** Runs once in a container at the given time. Returns its slot and its guest. */
async function used(manager: ContainerManager, name: string, atMs: number): Promise<{ slot: GuestSlot; guest: Guest }> {
  const reservation = reserve(manager, name, atMs);
  const { guest } = await reservation.slot.arrive();
  manager.release(reservation);
  return { slot: reservation.slot, guest };
}

it("a name means one container while it lives, and each container has its own concurrency", (t) => {
  const manager = makeManager(t, { concurrency: 2 });
  const demo = reserve(manager, "demo", 0);
  assert.equal(reserve(manager, "demo", 1).slot, demo.slot);
  assert.throws(() => reserve(manager, "demo", 2), { code: "container_busy", status: 429, message: /"demo" has 2 / });
  assert.notEqual(reserve(manager, "other", 3).slot, demo.slot);
  assert.equal(manager.taken, 3);
  manager.release(demo);
  assert.equal(reserve(manager, "demo", 4).slot, demo.slot);
  assert.equal(manager.taken, 3);
});

it("a refused run holds no reservation, and the refusal names the wait", (t) => {
  const manager = makeManager(t, { concurrency: 1, maxContainers: 1 });
  const demo = reserve(manager, "demo", 0);
  for (const [name, code] of [
    ["demo", "container_busy"],
    ["other", "overloaded"],
  ] as const) {
    assert.throws(
      () => reserve(manager, name, 1),
      (problem: { code: string; options: { retryAfterMs?: number } }) =>
        problem.code === code && problem.options.retryAfterMs! > 0,
    );
  }
  assert.equal(manager.taken, 1);
  manager.release(demo);
  reserve(manager, "other", 2);
  assert.equal(manager.taken, 1);
});

it("a container above the maximum replaces the least recently used container", async (t) => {
  const manager = makeManager(t, { maxContainers: 3 });
  const [a, b, c] = [await used(manager, "a", 1), await used(manager, "b", 2), await used(manager, "c", 3)];
  await used(manager, "a", 4);
  await used(manager, "d", 5);
  assert.deepEqual([a.guest.ended, b.guest.ended, c.guest.ended], [false, true, false]);
  assert.equal(reserve(manager, "a", 6).slot, a.slot);
  assert.notEqual(reserve(manager, "b", 7).slot, b.slot);
  assert.deepEqual([a.guest.ended, c.guest.ended], [false, true]);
});

it("a container with a reservation is not closed for another container, however old the reservation is", async (t) => {
  const manager = makeManager(t, { maxContainers: 2 });
  const held = reserve(manager, "held", 0);
  const { guest } = await held.slot.arrive();
  const idle = await used(manager, "idle", 1_000);
  reserve(manager, "new", 2_000);
  assert.deepEqual([guest.ended, idle.guest.ended], [false, true]);
  assert.throws(() => reserve(manager, "newer", 3_000), { code: "overloaded", status: 503 });
  assert.equal(guest.ended, false);
});

it("an unused container is closed after its idle time, and a container with a run is not", async (t) => {
  const manager = makeManager(t, { idleMs: 20 });
  const held = reserve(manager, "held", performance.now());
  const { guest: busy } = await held.slot.arrive();
  const idle = await used(manager, "idle", performance.now());
  await idle.guest.process.exited;
  assert.ok(idle.guest.ended);
  assert.equal(busy.ended, false);
  manager.release(held);
  await busy.process.exited;
  assert.ok(busy.ended);
});

it("a run that needs a new guest is refused if too many wait, and a run that has requested its guest is not", async (t) => {
  const starting = new Pool(() => new Promise(() => {}), 0);
  const manager = new ContainerManager(starting, { ...OPTIONS, concurrency: 2, maxContainers: 300 });
  t.after(() => manager.close());
  const waiting = Array.from({ length: 256 }, (_, index) => {
    return assert.rejects(reserve(manager, `waits-${index}`, 0).slot.arrive(), { code: "sandbox_failed" });
  });
  assert.throws(() => reserve(manager, "late", 1), { code: "overloaded", status: 503 });
  assert.equal(reserve(manager, "waits-7", 1).slot.taken, 2);
  assert.equal(manager.taken, 257);
  starting.close();
  await Promise.all(waiting);
});

it("a draining manager refuses new runs, and runs with a reservation continue", async (t) => {
  const manager = makeManager(t, {});
  const container = reserve(manager, "demo", 0);
  const { guest } = await container.slot.arrive();
  manager.drain();
  assert.throws(() => reserve(manager, "demo", 1), { code: "draining", status: 503 });
  assert.throws(() => reserve(manager, "other", 1), { code: "draining" });
  assert.deepEqual([manager.taken, guest.ended], [1, false]);
  manager.release(container);
  assert.equal(manager.taken, 0);
});

it("a closed manager ends every guest", async (t) => {
  const manager = makeManager(t, {});
  const [a, b] = [await used(manager, "a", 1), await used(manager, "b", 2)];
  manager.close();
  assert.ok(a.guest.ended && b.guest.ended);
});

it("a run that is refused because too many wait for guests does not close another container", async (t) => {
  const pool = new Pool(() => new Promise(() => {}), 0);
  t.after(() => pool.close());
  const warm = (await makeGuest(t)).guest;
  let isTaken = false;
  const take = pool.take.bind(pool);
  pool.take = (taker) => (isTaken ? take(taker) : ((isTaken = true), { guest: warm, start: "new" as const }));
  const manager = new ContainerManager(pool, { ...OPTIONS, maxContainers: 1 });
  t.after(() => manager.close());
  const { slot, guest } = await used(manager, "settled", 0);
  while (!pool.isFull({}))
    void Promise.resolve(pool.take({ holder: {}, isPublic: false, replaces: false })).catch(() => {});
  assert.throws(() => reserve(manager, "newcomer", 1), { code: "overloaded" });
  assert.equal(guest.ended, false);
  assert.equal(reserve(manager, "settled", 2).slot, slot);
});

it("a slot whose guest has ended is cold", async (t) => {
  const manager = makeManager(t, {});
  const { slot, guest } = await used(manager, "demo", 0);
  assert.equal(slot.isCold, false);
  guest.retire();
  assert.equal(slot.isCold, true);
});

it("a caller that leaves many runs behind waits while another caller uses the guest, and not if it is alone", async (t) => {
  const manager = makeManager(t, {});
  const [bob, carol] = [token("b1", "bob"), token("carol")];
  const nowMs = performance.now();
  const first = manager.reserve("a", FREE, bob, nowMs);
  const { guest } = await first.slot.arrive();
  for (let left = 0; left < 16; left++) guest.inFlight.abandon(start(guest, "bob's", undefined, { caller: "bob" }).id);
  manager.release(manager.reserve("a", FREE, bob, nowMs));
  manager.release(manager.reserve("a", FREE, carol, nowMs));
  assert.throws(
    () => manager.reserve("a", FREE, token("b2", "bob"), performance.now()),
    (problem: Problem) => {
      assert.deepEqual(
        [problem.code, problem.message],
        ["container_busy", 'you have left many runs in container "a" before their code had ended'],
      );
      const { retryAfterMs } = problem.options;
      return retryAfterMs! > 20_000 && retryAfterMs! <= 30_000;
    },
  );
  manager.release(manager.reserve("a", FREE, carol, nowMs));
  manager.release(manager.reserve("a", FREE, bob, performance.now() + 30_000));
  assert.equal(guest.ended, false);
  manager.release(first);
});
