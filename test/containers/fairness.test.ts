import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";

import {
  type Reservation,
  ContainerManager,
  type ContainerManagerOptions,
} from "../../src/containers/container-manager.ts";
import type { Guest } from "../../src/containers/guest/guest.ts";
import type { IsolationGroup } from "../../src/containers/isolation-group.ts";
import { Pool } from "../../src/containers/pool.ts";
import type { TokenChain } from "../../src/containers/token-quotas.ts";
import type { Problem } from "../../src/errors.ts";
import { until } from "../contract/until.ts";
import { FREE, NO_CAPS, groupNamed, token } from "./isolation-groups.ts";
import { IDLE, makeGuest, type Puppet } from "./puppet.ts";

const ALICE = token("alice");
const BOB = token("bob");
const CAROL = token("carol");
const FRESH: IsolationGroup = groupNamed("free", { fresh: true });
const IDLE_MS = 60_000;

function makeManager(t: TestContext, options: Partial<ContainerManagerOptions>): ContainerManager {
  const pool = new Pool(async () => (await makeGuest(t)).guest, 0);
  const manager = new ContainerManager(pool, {
    concurrency: 64,
    maxContainers: 8,
    containerParties: 8,
    idleMs: IDLE_MS,
    memoryReserveBytes: 0,
    caps: NO_CAPS,
    ...options,
  });
  t.after(() => {
    manager.close();
    pool.close();
  });
  return manager;
}

interface Use {
  reservation: Reservation;
  guest: Guest;
}

/** Reserves a slot and takes its guest. The reservation is not released. */
async function hold(
  manager: ContainerManager,
  name: string,
  chain: TokenChain,
  atMs: number,
  group = FREE,
): Promise<Use> {
  const reservation = manager.reserve(name, group, chain, atMs);
  const { guest } = reservation.slot.warm(atMs) ?? (await reservation.slot.arrive());
  return { reservation, guest };
}

async function use(
  manager: ContainerManager,
  name: string,
  chain: TokenChain,
  atMs: number,
  group = FREE,
): Promise<Use> {
  const used = await hold(manager, name, chain, atMs, group);
  manager.release(used.reservation);
  return used;
}

/** Whether the container still has this guest for free code. */
function isWarm(manager: ContainerManager, name: string, chain: TokenChain, atMs: number, guest: Guest): boolean {
  const reservation = manager.reserve(name, FREE, chain, atMs);
  manager.release(reservation);
  return reservation.slot.warm(atMs)?.guest === guest;
}

describe("the evicted guest", () => {
  it("belongs to the owner with the most guests: a token that uses a thousand names costs no other token its warm guest", async (t) => {
    const manager = makeManager(t, { maxContainers: 8 });
    const bob = await use(manager, "bobs", BOB, 0);
    const carol = await use(manager, "carols", CAROL, 1);
    for (let walked = 0; walked < 1_000; walked++) await use(manager, `name-${walked}`, ALICE, 10 + walked);
    assert.ok(isWarm(manager, "bobs", BOB, 2_000, bob.guest));
    assert.ok(isWarm(manager, "carols", CAROL, 2_000, carol.guest));
  });

  it("is the least recently used guest of that owner without runs", async (t) => {
    const manager = makeManager(t, { maxContainers: 3 });
    const busy = await hold(manager, "busy", ALICE, 0);
    const older = await use(manager, "older", ALICE, 1);
    const newer = await use(manager, "newer", ALICE, 2);
    await use(manager, "bobs", BOB, 3);
    assert.deepEqual([busy.guest.ended, older.guest.ended, newer.guest.ended], [false, true, false]);
  });

  it("is not a guest that an owner with fewer guests used just now, if the requester's own guests are all at work", async (t) => {
    const manager = makeManager(t, { maxContainers: 3 });
    await hold(manager, "a", ALICE, 0);
    await hold(manager, "b", ALICE, 0);
    const bob = await use(manager, "bobs", BOB, 1);
    assert.throws(() => manager.reserve("c", FREE, ALICE, 9_000), { code: "overloaded" });
    assert.equal(bob.guest.ended, false);
    // A guest that is idle for ten seconds is evicted, so idle guests do not keep a machine from work for long.
    await hold(manager, "c", ALICE, 10_001);
    assert.equal(bob.guest.ended, true);
  });

  it("makes room for a new token if each other token has one guest", async (t) => {
    const manager = makeManager(t, { maxContainers: 2 });
    const [alice, bob] = [await use(manager, "a", ALICE, 0), await use(manager, "b", BOB, 1)];
    await use(manager, "c", CAROL, 2);
    assert.deepEqual([alice.guest.ended, bob.guest.ended], [true, false]);
    // A second guest of the new token replaces its own guest.
    await use(manager, "d", CAROL, 3);
    assert.equal(bob.guest.ended, false);
  });

  it("is chosen by the number of guests of a whole token family", async (t) => {
    const manager = makeManager(t, { maxContainers: 4 });
    const [child, other] = [token("child", "alice"), token("other", "alice")];
    const first = await use(manager, "a", child, 0);
    await use(manager, "b", other, 1);
    const bob = await use(manager, "bobs", BOB, 2);
    await use(manager, "c", ALICE, 3);
    await use(manager, "d", other, 4);
    assert.deepEqual([first.guest.ended, bob.guest.ended], [true, false]);
  });

  it("is an idle guest of the largest owner if memory is short, and no new guest is started then", async (t) => {
    let available = 1_000;
    const manager = makeManager(t, { memoryReserveBytes: 500, availableMemory: () => available });
    const nowMs = performance.now();
    const mine = [await use(manager, "a", ALICE, nowMs), await use(manager, "b", ALICE, nowMs + 1)];
    const bob = await hold(manager, "bobs", BOB, nowMs);
    available = 499;
    await until(() => mine[0]!.guest.ended, "the manager has ended the first guest");
    await until(() => mine[1]!.guest.ended, "the manager has ended the second guest");
    assert.equal(bob.guest.ended, false);
    assert.throws(() => manager.reserve("c", FREE, CAROL, nowMs), { code: "overloaded", message: /memory/ });
    // Live containers take further runs.
    manager.reserve("bobs", FREE, CAROL, nowMs);
    available = 500;
    await until(() => {
      try {
        manager.reserve("c", FREE, CAROL, performance.now());
        return true;
      } catch {
        return false;
      }
    }, "there is room again");
  });
});

/** The manager of a machine that is short of memory from the first measurement on. */
function makeShort(t: TestContext): { manager: ContainerManager; becomeShort: () => void } {
  let available = 1_000;
  const manager = makeManager(t, { memoryReserveBytes: 500, availableMemory: () => available });
  return { manager, becomeShort: () => (available = 499) };
}

/** Takes a guest in each of the containers, and lets each hold memory. The runs go on. */
async function fill(
  manager: ContainerManager,
  names: readonly string[],
  chain: TokenChain,
  mib: number,
): Promise<Use[]> {
  const uses: Use[] = [];
  for (const name of names) {
    const held = await hold(manager, name, chain, performance.now());
    (held.guest.process as Puppet).status = () => ({ ...IDLE, memoryBytes: mib * 2 ** 20 });
    uses.push(held);
  }
  return uses;
}

const isRefused = (manager: ContainerManager, name: string, chain: TokenChain): boolean => {
  try {
    manager.release(manager.reserve(name, FREE, chain, performance.now()));
    return false;
  } catch (error) {
    assert.equal((error as { code: string }).code, "overloaded");
    return true;
  }
};

describe("a machine that is short of memory", () => {
  it("ends a guest at work of a family that holds far more, so that it takes all memory from no other", async (t) => {
    const { manager, becomeShort } = makeShort(t);
    const [warm] = await fill(manager, ["bobs"], BOB, 80);
    manager.release(warm!.reservation);
    const [small, large] = [await fill(manager, ["a", "b"], ALICE, 140), await fill(manager, ["c"], ALICE, 190)];
    becomeShort();
    await until(() => large[0]!.guest.ended, "the largest guest has ended");
    assert.deepEqual([warm!.guest.ended, small[0]!.guest.ended, small[1]!.guest.ended], [false, false, false]);
  });

  it("gives a family without a guest the memory of a guest at work, and the large family gets no other", async (t) => {
    const { manager, becomeShort } = makeShort(t);
    const alice = await fill(manager, ["a", "b"], ALICE, 150);
    await fill(manager, ["bobs"], BOB, 80);
    becomeShort();
    await until(() => isRefused(manager, "c", ALICE), "the family that holds the most is refused");
    assert.ok(alice.every(({ guest }) => !guest.ended));
    await until(() => !isRefused(manager, "carols", CAROL), "the guests have been measured");
    assert.equal(alice.filter(({ guest }) => guest.ended).length, 1);
    const [ended] = alice.filter(({ guest }) => guest.ended);
    manager.release(ended!.reservation);
    assert.equal(isRefused(manager, ended!.reservation.slot.container.name, ALICE), true, "nor in the same container");
  });

  it("ends no guest at work of a family that holds not much more", async (t) => {
    const { manager, becomeShort } = makeShort(t);
    const alice = await fill(manager, ["a", "b", "c"], ALICE, 60);
    becomeShort();
    await until(() => isRefused(manager, "carols", CAROL), "a new guest is refused");
    assert.deepEqual(
      alice.map(({ guest }) => guest.ended),
      [false, false, false],
    );
  });

  it("answers the runs of an ended guest with the reason", async (t) => {
    const { manager, becomeShort } = makeShort(t);
    const [bob] = await fill(manager, ["bobs"], BOB, 60);
    manager.release(bob!.reservation);
    const [alice] = await fill(manager, ["a"], ALICE, 250.3);
    const ended: Problem[] = [];
    alice!.guest.crash = (problem: Problem) => void ended.push(problem);
    becomeShort();
    await until(() => ended.length > 0, "the guest has ended");
    assert.equal(ended[0]!.code, "task_memory");
    assert.match(
      ended[0]!.message,
      /^the machine is short of memory, and the containers of the token .* hold 250MiB of it/,
    );
  });
});

describe("the limits of one token", () => {
  it("a container above the limit replaces the token's own least recently used container, and no other", async (t) => {
    const manager = makeManager(t, { caps: { ...NO_CAPS, containers: 2 } });
    const bob = await use(manager, "bobs", BOB, 0);
    const [first, second] = [await use(manager, "a", ALICE, 1), await use(manager, "b", ALICE, 2)];
    await use(manager, "c", ALICE, 3);
    assert.deepEqual([first.guest.ended, second.guest.ended, bob.guest.ended], [true, false, false]);
  });

  it("a container above the limit is refused while all containers of the token are at work, and nothing changes", async (t) => {
    const manager = makeManager(t, { caps: { ...NO_CAPS, containers: 2, newContainers: 3 } });
    const a = await hold(manager, "a", ALICE, 1);
    await hold(manager, "b", ALICE, 2);
    const bob = await use(manager, "bobs", BOB, 3);
    for (let tries = 0; tries < 5; tries++) {
      assert.throws(() => manager.reserve("c", FREE, ALICE, 4), {
        code: "container_busy",
        message: /has 2 containers alive, all at work/,
      });
    }
    assert.deepEqual([manager.taken, a.guest.ended, bob.guest.ended], [2, false, false]);
    manager.release(a.reservation);
    // The refused containers were not counted as started: this is the third start.
    manager.reserve("c", FREE, ALICE, 5);
    assert.throws(() => manager.reserve("d", FREE, ALICE, 6), { message: /may start 3 containers a minute/ });
  });

  it("a guest in another token's container counts for that token, until that token has left the container", async (t) => {
    const manager = makeManager(t, { caps: { ...NO_CAPS, containers: 1 } });
    await use(manager, "shared", BOB, 0);
    // Alice uses Bob's container once: her own container stays.
    const alice = await use(manager, "hers", ALICE, 1);
    await use(manager, "shared", ALICE, 2);
    assert.equal(alice.guest.ended, false);
    // Bob has not used it for the idle time, but Alice is at her limit.
    await use(manager, "shared", ALICE, IDLE_MS + 1);
    const shared = await use(manager, "shared", CAROL, IDLE_MS + 2);
    const carol = await hold(manager, "carols", CAROL, IDLE_MS + 3);
    // The shared container counts for Carol since then, so it makes room for her new container.
    assert.deepEqual([shared.guest.ended, carol.guest.ended], [true, false]);
    // No container counts for Bob now, so a new container of Bob replaces no other.
    await use(manager, "bobs", BOB, IDLE_MS + 4);
    assert.deepEqual([alice.guest.ended, carol.guest.ended], [false, false]);
  });

  it("runs in flight are limited over all containers, until they are released", async (t) => {
    const manager = makeManager(t, { caps: { ...NO_CAPS, concurrency: 2 } });
    const reservations = [manager.reserve("a", FREE, ALICE, 0), manager.reserve("b", FRESH, ALICE, 0)];
    assert.throws(() => manager.reserve("a", FREE, ALICE, 1), { code: "container_busy", message: /2 runs in flight/ });
    manager.reserve("a", FREE, BOB, 1);
    for (const reservation of reservations) manager.release(reservation);
    manager.reserve("a", FREE, ALICE, 2);
    manager.reserve("a", FREE, ALICE, 2);
    assert.throws(() => manager.reserve("a", FREE, ALICE, 2), { code: "container_busy" });
  });
});

describe("the isolation groups of a container", () => {
  it("have separate guests, each with the egress that its tokens allow, and share the concurrency", async (t) => {
    const manager = makeManager(t, { concurrency: 2 });
    const free = await hold(manager, "a", ALICE, 0);
    const pinned = await hold(manager, "a", BOB, 0, groupNamed("pinned", { net: ["a.example"] }));
    assert.notEqual(free.guest, pinned.guest);
    assert.deepEqual([free.guest.net, pinned.guest.net], [null, ["a.example"]]);
    assert.throws(() => manager.reserve("a", groupNamed("third"), CAROL, 1), { message: /"a" has 2 runs in flight/ });
    manager.release(pinned.reservation);
    assert.equal((await hold(manager, "a", BOB, 1, groupNamed("pinned"))).guest, pinned.guest);
  });

  it("count as containers of their tokens, up to a maximum in each container", async (t) => {
    const manager = makeManager(t, { maxContainers: 4, containerParties: 2 });
    const free = await use(manager, "a", ALICE, 0);
    const pinned = await hold(manager, "a", BOB, 1, groupNamed("pinned"));
    await hold(manager, "a", CAROL, 2, groupNamed("third"));
    assert.deepEqual([free.guest.ended, pinned.guest.ended], [true, false]);
    assert.throws(() => manager.reserve("a", FREE, ALICE, 3), {
      code: "container_busy",
      message: /serves 2 isolation groups/,
    });
    await hold(manager, "b", BOB, 4);
    await hold(manager, "c", BOB, 5);
    assert.throws(() => manager.reserve("d", FREE, ALICE, 6), { code: "overloaded" });
  });

  it("that are fresh get an unused guest for each run, which counts while the run is in flight and ends with it", async (t) => {
    const manager = makeManager(t, { maxContainers: 2, caps: { ...NO_CAPS, newContainers: 2 } });
    const [one, two] = [await hold(manager, "a", ALICE, 0, FRESH), await hold(manager, "a", ALICE, 1, FRESH)];
    assert.notEqual(one.guest, two.guest);
    assert.throws(() => manager.reserve("a", FRESH, BOB, 2), { code: "overloaded" });
    manager.release(one.reservation);
    assert.deepEqual([one.guest.ended, two.guest.ended], [true, false]);
    // Both together counted as one start, for the name of the container: this is the second start.
    const warm = await use(manager, "a", ALICE, 3);
    manager.release(two.reservation);
    assert.ok(isWarm(manager, "a", ALICE, 4, warm.guest));
    const third = await hold(manager, "a", ALICE, 5, FRESH);
    assert.notEqual(third.guest, warm.guest);
  });
});

describe("a container whose guests die at once, again and again", () => {
  it("waits for its next guest, and the refusal names the wait; other containers and isolation groups do not wait", async (t) => {
    const manager = makeManager(t, {});
    const dies = async (): Promise<void> => {
      // In the future by the longest wait, so that the run is not refused.
      const { guest } = await use(manager, "a", ALICE, performance.now() + 5_000);
      // The process ends, and the service has not ended the guest.
      guest.process.kill();
      await until(() => guest.crashedMs !== null, "the guest has died");
    };
    for (let death = 0; death < 5; death++) await dies();
    const refused = (): unknown => manager.reserve("a", FREE, ALICE, performance.now());
    assert.throws(refused, (problem: { code: string; message: string; options: { retryAfterMs: number } }) => {
      assert.deepEqual([problem.code, problem.message.includes('"a" ended again and again')], ["container_busy", true]);
      return problem.options.retryAfterMs > 0 && problem.options.retryAfterMs <= 5_000;
    });
    await use(manager, "a", BOB, performance.now(), groupNamed("pinned"));
    await use(manager, "b", ALICE, performance.now());
    await use(manager, "a", ALICE, performance.now() + 5_000);
  });

  it("does not include a container whose guests the service replaced", async (t) => {
    const manager = makeManager(t, {});
    for (let turn = 0; turn < 20; turn++) {
      const { guest } = await use(manager, "a", ALICE, turn);
      guest.retire();
      assert.deepEqual([guest.ended, guest.crashedMs], [true, null]);
    }
  });
});

describe("clients without a token", () => {
  it("get at most half of the places of a container, so that its owner can still use it", (t) => {
    const manager = makeManager(t, { concurrency: 5 });
    const reservePublic = from(manager, "a", groupNamed("task"));
    const [first] = [reservePublic("192.0.2.1"), reservePublic("192.0.2.2")];
    const third = (): Reservation => reservePublic("192.0.2.3");
    assert.throws(third, { code: "container_busy", message: /"a" has 2 runs of clients without a token/ });
    const own = [1, 2, 3].map((atMs) => manager.reserve("a", FREE, ALICE, atMs));
    assert.throws(() => manager.reserve("a", FREE, ALICE, 4), { message: /"a" has 5 runs in flight/ });
    manager.release(own[0]!);
    assert.throws(third, { message: /"a" has 2 runs of clients without a token/ });
    manager.release(first);
    manager.release(third());
  });

  it("get at most half of the runs of a token, in all its containers together", (t) => {
    const manager = makeManager(t, { caps: { ...NO_CAPS, concurrency: 4 } });
    const below = token("below", "alice");
    const reservePublic = (name: string): Reservation => manager.reserve(name, FREE, below, 0, `network of ${name}`);
    const [first] = [reservePublic("a"), reservePublic("b")];
    assert.throws(() => reservePublic("c"), { code: "container_busy", message: /the token has 2 runs of clients/ });
    manager.reserve("d", FREE, ALICE, 0);
    manager.release(first);
    reservePublic("c");
  });

  it("get at most half of the guests of a token; an idle one makes room for the next", async (t) => {
    const manager = makeManager(t, { caps: { ...NO_CAPS, containers: 4 } });
    const fresh = groupNamed("task", { fresh: true });
    const idle = manager.reserve("a", FREE, ALICE, 0, "192.0.2.1");
    const { guest } = await idle.slot.arrive();
    manager.release(idle);
    const reserveFresh = from(manager, "a", fresh);
    reserveFresh("192.0.2.1");
    const second = reserveFresh("192.0.2.2");
    assert.equal(guest.ended, true);
    const third = (): Reservation => reserveFresh("192.0.2.3");
    assert.throws(third, { code: "container_busy", message: /2 guests .* without a token/ });
    manager.reserve("b", FREE, ALICE, 0);
    manager.reserve("c", FREE, ALICE, 0);
    assert.throws(() => manager.reserve("d", FREE, ALICE, 0), { message: /4 containers alive, all at work/ });
    manager.release(second);
    third();
  });

  it("occupy at most half of the guests of a token, also if the token opened these guests", (t) => {
    const manager = makeManager(t, { caps: { ...NO_CAPS, containers: 4 } });
    for (const name of ["a", "b", "c", "d"]) manager.release(manager.reserve(name, FREE, ALICE, 0));
    const reservePublic = (name: string): Reservation => manager.reserve(name, FREE, ALICE, 1, `network of ${name}`);
    const [first] = [reservePublic("a"), reservePublic("b")];
    const third = (): Reservation => reservePublic("c");
    assert.throws(third, { code: "container_busy", message: /2 guests .* without a token/ });
    // Another run in the same guest occupies no other guest.
    manager.release(manager.reserve("b", FREE, ALICE, 1, "192.0.2.9"));
    manager.release(first);
    manager.release(third());
  });

  it("get one place if there is only one", (t) => {
    const manager = makeManager(t, { concurrency: 1, caps: { containers: 1, concurrency: 1, newContainers: 9 } });
    manager.release(manager.reserve("a", FREE, ALICE, 0, "192.0.2.1"));
    manager.release(manager.reserve("a", FREE, ALICE, 0));
  });
});

describe("one network of clients without a token", () => {
  it("gets at most a quarter of what these clients get of a container, so that other networks still get in", (t) => {
    const manager = makeManager(t, { concurrency: 16 });
    const reservePublic = from(manager, "a", groupNamed("task"));
    const held = [reservePublic("192.0.2.1"), reservePublic("192.0.2.1")];
    const third = (): Reservation => reservePublic("192.0.2.1");
    assert.throws(third, {
      code: "container_busy",
      message:
        /^container "a" has 2 runs of clients without a token in your network, which is the limit of one network$/,
    });
    for (const other of ["192.0.2.2", "2001:db8::/64"])
      for (const run of [1, 2]) assert.ok(reservePublic(other), `${run}`);
    manager.reserve("a", groupNamed("task"), ALICE, 0);
    manager.release(held.pop()!);
    held.push(third());
    assert.throws(third, { code: "container_busy" });
  });

  it("gets no more with further networks of its site than half of these runs, and three quarters of these guests", (t) => {
    const manager = makeManager(t, { concurrency: 16, caps: { ...NO_CAPS, containers: 8 } });
    const runs = from(manager, "a", groupNamed("task"));
    for (const at of [1, 1, 2, 2]) runs(`2001:db8:1:${at}::/64`);
    assert.throws(() => runs("2001:db8:1:3::/64"), { message: /^container "a" has 4 runs of .* in your network/ });
    runs("2001:db8:2:3::/64");
    const guests = from(manager, "b", groupNamed("task", { fresh: true }));
    for (const at of [4, 5]) guests(`2001:db8:1:${at}::/64`);
    assert.throws(() => guests("2001:db8:1:6::/64"), { message: /^the token has 3 guests of .* in your network/ });
    guests("192.0.2.1");
  });

  it("gets at most a quarter of what these clients get of a token, in all containers of its family together", (t) => {
    const manager = makeManager(t, { caps: { ...NO_CAPS, concurrency: 16 } });
    const [left, right] = [token("left", "alice"), token("right", "alice")];
    const reservePublic = (name: string, chain: TokenChain): Reservation =>
      manager.reserve(name, FREE, chain, 0, "192.0.2.1");
    const [first] = [reservePublic("a", left), reservePublic("b", right)];
    assert.throws(() => reservePublic("c", left), {
      message: /^the token has 2 runs of clients without a token in your network, /,
    });
    manager.reserve("c", FREE, left, 0, "192.0.2.2");
    manager.reserve("c", FREE, BOB, 0, "192.0.2.1");
    manager.release(first);
    reservePublic("c", left);
  });

  it("occupies at most half of the guests that these clients get of a token", (t) => {
    const manager = makeManager(t, { caps: { ...NO_CAPS, containers: 8 } });
    const fresh = groupNamed("task", { fresh: true });
    const reserveFresh = from(manager, "a", fresh);
    const held = [reserveFresh("192.0.2.1"), reserveFresh("192.0.2.1")];
    const third = (): Reservation => reserveFresh("192.0.2.1");
    assert.throws(third, { message: /^the token has 2 guests of clients without a token in your network, / });
    assert.throws(() => manager.reserve("b", FREE, ALICE, 0, "192.0.2.1"), {
      message: /2 guests of .* in your network/,
    });
    reserveFresh("192.0.2.2");
    for (const each of held) manager.release(each);
    // A second run in a guest that the network already occupies takes no other guest.
    for (let run = 0; run < 4; run++) manager.reserve("b", FREE, ALICE, 0, "192.0.2.1");
  });

  it("is forgotten with its last run, after refusals too", (t) => {
    const manager = makeManager(t, { concurrency: 16, caps: { ...NO_CAPS, containers: 4, concurrency: 12 } });
    const names = ["a", "b", "c", "d", "e"];
    for (const name of names) manager.release(manager.reserve(name, FREE, ALICE, 0));
    const held: Reservation[] = [];
    let refused = 0;
    for (let at = 0; at < 2_000; at++) {
      if (held.length > 0 && at % 3 === 0) manager.release(held.splice(at % held.length, 1)[0]!);
      try {
        held.push(manager.reserve(names[at % 5]!, at % 7 ? FREE : FRESH, ALICE, 0, `network ${at % 11}`));
      } catch (error) {
        assert.equal((error as { code: string }).code, "container_busy");
        refused++;
      }
    }
    assert.ok(refused > 100, `${refused} were refused`);
    const [{ lineage }] = held as [Reservation];
    for (const each of held) manager.release(each);
    const uses = [lineage.head.publicUse, ...held.map(({ slot }) => slot.container.publicUse)];
    for (const { runs, guests, networks } of uses) assert.deepEqual([runs, guests, networks], [0, 0, 0]);
    assert.equal(lineage.head.inFlight, 0);
  });
});

/** Returns a function that reserves a slot for a run of a network without a token. */
function from(manager: ContainerManager, name: string, group: IsolationGroup): (network: string) => Reservation {
  return (network) => manager.reserve(name, group, ALICE, 0, network);
}
