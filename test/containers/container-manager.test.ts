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
import { FREE, NO_CAPS, token } from "./isolation-groups.ts";
import { makeGuest } from "./puppet.ts";

const ALICE = token("alice");
const OPTIONS: ContainerManagerOptions = {
  concurrency: 64,
  maxContainers: 8,
  containerParties: 8,
  idleMs: 60_000,
  memoryReserveBytes: 0,
  caps: NO_CAPS,
};

function makeRegistry(t: TestContext, options: Partial<ContainerManagerOptions>): ContainerManager {
  const pool = new Pool(async () => (await makeGuest(t)).guest, 0);
  const registry = new ContainerManager(pool, { ...OPTIONS, ...options });
  t.after(() => {
    registry.close();
    pool.close();
  });
  return registry;
}

/** Free code of one token. */
function reserve(registry: ContainerManager, name: string, atMs: number): Reservation {
  return registry.reserve(name, FREE, ALICE, atMs);
}

/** A container that was used at a time, and its guest. */
async function used(
  registry: ContainerManager,
  name: string,
  atMs: number,
): Promise<{ slot: GuestSlot; guest: Guest }> {
  const place = reserve(registry, name, atMs);
  const { guest } = await place.slot.arrive();
  registry.release(place);
  return { slot: place.slot, guest };
}

it("a name is one container for as long as it lives, and the places in it are its own", (t) => {
  const registry = makeRegistry(t, { concurrency: 2 });
  const demo = reserve(registry, "demo", 0);
  assert.equal(reserve(registry, "demo", 1).slot, demo.slot);
  assert.throws(() => reserve(registry, "demo", 2), { code: "container_busy", status: 429, message: /"demo" has 2 / });
  assert.notEqual(reserve(registry, "other", 3).slot, demo.slot);
  assert.equal(registry.taken, 3);
  registry.release(demo);
  assert.equal(reserve(registry, "demo", 4).slot, demo.slot);
  assert.equal(registry.taken, 3);
});

it("a refusal takes no place, and says when to come back", (t) => {
  const registry = makeRegistry(t, { concurrency: 1, maxContainers: 1 });
  const demo = reserve(registry, "demo", 0);
  for (const [name, code] of [
    ["demo", "container_busy"],
    ["other", "overloaded"],
  ] as const) {
    assert.throws(
      () => reserve(registry, name, 1),
      (problem: { code: string; options: { retryAfterMs?: number } }) =>
        problem.code === code && problem.options.retryAfterMs! > 0,
    );
  }
  assert.equal(registry.taken, 1);
  registry.release(demo);
  reserve(registry, "other", 2);
  assert.equal(registry.taken, 1);
});

it("one container too many takes the room of the one that was not used for longest", async (t) => {
  const registry = makeRegistry(t, { maxContainers: 3 });
  const [a, b, c] = [await used(registry, "a", 1), await used(registry, "b", 2), await used(registry, "c", 3)];
  await used(registry, "a", 4);
  await used(registry, "d", 5);
  assert.deepEqual([a.guest.ended, b.guest.ended, c.guest.ended], [false, true, false]);
  assert.equal(reserve(registry, "a", 6).slot, a.slot);
  assert.notEqual(reserve(registry, "b", 7).slot, b.slot);
  assert.deepEqual([a.guest.ended, c.guest.ended], [false, true]);
});

it("no container is closed for another while a run holds a place in it, however long ago that began", async (t) => {
  const registry = makeRegistry(t, { maxContainers: 2 });
  const held = reserve(registry, "held", 0);
  const { guest } = await held.slot.arrive();
  const idle = await used(registry, "idle", 1_000);
  reserve(registry, "new", 2_000);
  assert.deepEqual([guest.ended, idle.guest.ended], [false, true]);
  assert.throws(() => reserve(registry, "newer", 3_000), { code: "overloaded", status: 503 });
  assert.equal(guest.ended, false);
});

it("a container that nobody uses is closed after its idle time, and one in use is not", async (t) => {
  const registry = makeRegistry(t, { idleMs: 20 });
  const held = reserve(registry, "held", performance.now());
  const { guest: busy } = await held.slot.arrive();
  const idle = await used(registry, "idle", performance.now());
  await idle.guest.process.exited;
  assert.ok(idle.guest.ended);
  assert.equal(busy.ended, false);
  registry.release(held);
  await busy.process.exited;
  assert.ok(busy.ended);
});

it("a container that would have to wait behind too many others is refused, one that has its guest is not", async (t) => {
  const starting = new Pool(() => new Promise(() => {}), 0);
  const registry = new ContainerManager(starting, { ...OPTIONS, concurrency: 2, maxContainers: 300 });
  t.after(() => registry.close());
  const waiting = Array.from({ length: 256 }, (_, index) => {
    return assert.rejects(reserve(registry, `waits-${index}`, 0).slot.arrive(), { code: "sandbox_failed" });
  });
  assert.throws(() => reserve(registry, "late", 1), { code: "overloaded", status: 503 });
  assert.equal(reserve(registry, "waits-7", 1).slot.taken, 2);
  assert.equal(registry.taken, 257);
  starting.close();
  await Promise.all(waiting);
});

it("a registry that drains takes no run, and lets those go on that hold a place", async (t) => {
  const registry = makeRegistry(t, {});
  const container = reserve(registry, "demo", 0);
  const { guest } = await container.slot.arrive();
  registry.drain();
  assert.throws(() => reserve(registry, "demo", 1), { code: "draining", status: 503 });
  assert.throws(() => reserve(registry, "other", 1), { code: "draining" });
  assert.deepEqual([registry.taken, guest.ended], [1, false]);
  registry.release(container);
  assert.equal(registry.taken, 0);
});

it("a registry that is closed ends every guest", async (t) => {
  const registry = makeRegistry(t, {});
  const [a, b] = [await used(registry, "a", 1), await used(registry, "b", 2)];
  registry.close();
  assert.ok(a.guest.ended && b.guest.ended);
});

it("a run that is refused for want of guests costs no other container its own", async (t) => {
  const pool = new Pool(() => new Promise(() => {}), 0);
  t.after(() => pool.close());
  const warm = (await makeGuest(t)).guest;
  let given = false;
  const take = pool.take.bind(pool);
  pool.take = () => (given ? take(false) : ((given = true), { guest: warm, start: "new" as const }));
  const registry = new ContainerManager(pool, { ...OPTIONS, maxContainers: 1 });
  t.after(() => registry.close());
  const { slot, guest } = await used(registry, "settled", 0);
  while (!pool.full) void Promise.resolve(pool.take(false)).catch(() => {});
  assert.throws(() => reserve(registry, "newcomer", 1), { code: "overloaded" });
  assert.equal(guest.ended, false);
  assert.equal(reserve(registry, "settled", 2).slot, slot);
});

it("a container whose guest has ended needs another, and says so", async (t) => {
  const registry = makeRegistry(t, {});
  const { slot, guest } = await used(registry, "demo", 0);
  assert.equal(slot.isCold, false);
  guest.retire();
  assert.equal(slot.isCold, true);
});
