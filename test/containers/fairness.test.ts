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
import { until } from "../contract/until.ts";
import { FREE, NO_CAPS, groupNamed, token } from "./isolation-groups.ts";
import { makeGuest } from "./puppet.ts";

const ALICE = token("alice");
const BOB = token("bob");
const CAROL = token("carol");
const FRESH: IsolationGroup = groupNamed("free", { fresh: true });
const IDLE_MS = 60_000;

function makeRegistry(t: TestContext, options: Partial<ContainerManagerOptions>): ContainerManager {
  const pool = new Pool(async () => (await makeGuest(t)).guest, 0);
  const registry = new ContainerManager(pool, {
    concurrency: 64,
    maxContainers: 8,
    containerParties: 8,
    idleMs: IDLE_MS,
    memoryReserveBytes: 0,
    caps: NO_CAPS,
    ...options,
  });
  t.after(() => {
    registry.close();
    pool.close();
  });
  return registry;
}

interface Use {
  place: Reservation;
  guest: Guest;
}

/** A place that is held in a container, and its guest. */
async function hold(
  registry: ContainerManager,
  name: string,
  who: TokenChain,
  atMs: number,
  group = FREE,
): Promise<Use> {
  const place = registry.reserve(name, group, who, atMs);
  const { guest } = place.slot.warm(atMs) ?? (await place.slot.arrive());
  return { place, guest };
}

async function use(
  registry: ContainerManager,
  name: string,
  who: TokenChain,
  atMs: number,
  group = FREE,
): Promise<Use> {
  const used = await hold(registry, name, who, atMs, group);
  registry.release(used.place);
  return used;
}

/** Whether the container still has this guest for free code. */
function isWarm(registry: ContainerManager, name: string, who: TokenChain, atMs: number, guest: Guest): boolean {
  const place = registry.reserve(name, FREE, who, atMs);
  registry.release(place);
  return place.slot.warm(atMs)?.guest === guest;
}

describe("when a guest has to go", () => {
  it("it is one of the largest holder's: who walks through a thousand names costs no neighbour its warm guest", async (t) => {
    const registry = makeRegistry(t, { maxContainers: 8 });
    const bob = await use(registry, "bobs", BOB, 0);
    const carol = await use(registry, "carols", CAROL, 1);
    for (let walked = 0; walked < 1_000; walked++) await use(registry, `name-${walked}`, ALICE, 10 + walked);
    assert.ok(isWarm(registry, "bobs", BOB, 2_000, bob.guest));
    assert.ok(isWarm(registry, "carols", CAROL, 2_000, carol.guest));
  });

  it("it is the least recently used of that holder, and none at work", async (t) => {
    const registry = makeRegistry(t, { maxContainers: 3 });
    const busy = await hold(registry, "busy", ALICE, 0);
    const older = await use(registry, "older", ALICE, 1);
    const newer = await use(registry, "newer", ALICE, 2);
    await use(registry, "bobs", BOB, 3);
    assert.deepEqual([busy.guest.ended, older.guest.ended, newer.guest.ended], [false, true, false]);
  });

  it("a holder of many that are all at work gets no guest that a smaller one used just now", async (t) => {
    const registry = makeRegistry(t, { maxContainers: 3 });
    await hold(registry, "a", ALICE, 0);
    await hold(registry, "b", ALICE, 0);
    const bob = await use(registry, "bobs", BOB, 1);
    assert.throws(() => registry.reserve("c", FREE, ALICE, 9_000), { code: "overloaded" });
    assert.equal(bob.guest.ended, false);
    // Nobody keeps a machine from work for long by leaving guests idle.
    await hold(registry, "c", ALICE, 10_001);
    assert.equal(bob.guest.ended, true);
  });

  it("a newcomer gets in where everybody has one", async (t) => {
    const registry = makeRegistry(t, { maxContainers: 2 });
    const [alice, bob] = [await use(registry, "a", ALICE, 0), await use(registry, "b", BOB, 1)];
    await use(registry, "c", CAROL, 2);
    assert.deepEqual([alice.guest.ended, bob.guest.ended], [true, false]);
    // And a second one is made room for by its own.
    await use(registry, "d", CAROL, 3);
    assert.equal(bob.guest.ended, false);
  });

  it("a family is as large as all its tokens together", async (t) => {
    const registry = makeRegistry(t, { maxContainers: 4 });
    const [child, other] = [token("child", "alice"), token("other", "alice")];
    const first = await use(registry, "a", child, 0);
    await use(registry, "b", other, 1);
    const bob = await use(registry, "bobs", BOB, 2);
    await use(registry, "c", ALICE, 3);
    await use(registry, "d", other, 4);
    assert.deepEqual([first.guest.ended, bob.guest.ended], [true, false]);
  });

  it("memory that runs short costs the largest holder its idle guests, and nobody gets a new one", async (t) => {
    let available = 1_000;
    const registry = makeRegistry(t, { memoryReserveBytes: 500, availableMemory: () => available });
    const nowMs = performance.now();
    const mine = [await use(registry, "a", ALICE, nowMs), await use(registry, "b", ALICE, nowMs + 1)];
    const bob = await hold(registry, "bobs", BOB, nowMs);
    available = 499;
    await until(() => mine[0]!.guest.ended, "the machine has taken one back");
    await until(() => mine[1]!.guest.ended, "the machine has taken the other back");
    assert.equal(bob.guest.ended, false);
    assert.throws(() => registry.reserve("c", FREE, CAROL, nowMs), { code: "overloaded", message: /memory/ });
    // What lives goes on.
    registry.reserve("bobs", FREE, CAROL, nowMs);
    available = 500;
    await until(() => {
      try {
        registry.reserve("c", FREE, CAROL, performance.now());
        return true;
      } catch {
        return false;
      }
    }, "there is room again");
  });
});

describe("the caps of one token", () => {
  it("a container too many takes the room of its own least recently used one, never of a neighbour's", async (t) => {
    const registry = makeRegistry(t, { caps: { ...NO_CAPS, containers: 2 } });
    const bob = await use(registry, "bobs", BOB, 0);
    const [first, second] = [await use(registry, "a", ALICE, 1), await use(registry, "b", ALICE, 2)];
    await use(registry, "c", ALICE, 3);
    assert.deepEqual([first.guest.ended, second.guest.ended, bob.guest.ended], [true, false, false]);
  });

  it("a container too many is refused while all its own are at work, and nothing has changed then", async (t) => {
    const registry = makeRegistry(t, { caps: { ...NO_CAPS, containers: 2, newContainers: 3 } });
    const a = await hold(registry, "a", ALICE, 1);
    await hold(registry, "b", ALICE, 2);
    const bob = await use(registry, "bobs", BOB, 3);
    for (let tries = 0; tries < 5; tries++) {
      assert.throws(() => registry.reserve("c", FREE, ALICE, 4), {
        code: "container_busy",
        message: /has 2 containers alive, all at work/,
      });
    }
    assert.deepEqual([registry.taken, a.guest.ended, bob.guest.ended], [2, false, false]);
    registry.release(a.place);
    // It was not counted as one that came alive: this is the third.
    registry.reserve("c", FREE, ALICE, 5);
    assert.throws(() => registry.reserve("d", FREE, ALICE, 6), { message: /may start 3 containers a minute/ });
  });

  it("what it may hold in a neighbour's container counts as the neighbour's, until that one has left it", async (t) => {
    const registry = makeRegistry(t, { caps: { ...NO_CAPS, containers: 1 } });
    await use(registry, "shared", BOB, 0);
    // Alice only looks in: her own container stays.
    const alice = await use(registry, "hers", ALICE, 1);
    await use(registry, "shared", ALICE, 2);
    assert.equal(alice.guest.ended, false);
    // Bob has not come back for the idle time, but she may have no other.
    await use(registry, "shared", ALICE, IDLE_MS + 1);
    const shared = await use(registry, "shared", CAROL, IDLE_MS + 2);
    const carol = await hold(registry, "carols", CAROL, IDLE_MS + 3);
    // Carol took it over, and so it made room for hers.
    assert.deepEqual([shared.guest.ended, carol.guest.ended], [true, false]);
    // Bob holds nothing any more: his next one takes nobody's room.
    await use(registry, "bobs", BOB, IDLE_MS + 4);
    assert.deepEqual([alice.guest.ended, carol.guest.ended], [false, false]);
  });

  it("runs in flight are bounded over all containers, and given back", async (t) => {
    const registry = makeRegistry(t, { caps: { ...NO_CAPS, concurrency: 2 } });
    const places = [registry.reserve("a", FREE, ALICE, 0), registry.reserve("b", FRESH, ALICE, 0)];
    assert.throws(() => registry.reserve("a", FREE, ALICE, 1), { code: "container_busy", message: /2 runs in flight/ });
    registry.reserve("a", FREE, BOB, 1);
    for (const place of places) registry.release(place);
    registry.reserve("a", FREE, ALICE, 2);
    registry.reserve("a", FREE, ALICE, 2);
    assert.throws(() => registry.reserve("a", FREE, ALICE, 2), { code: "container_busy" });
  });
});

describe("the parties of a container", () => {
  it("have guests of their own, each with the network that its tokens leave, and share its places", async (t) => {
    const registry = makeRegistry(t, { concurrency: 2 });
    const free = await hold(registry, "a", ALICE, 0);
    const pinned = await hold(registry, "a", BOB, 0, groupNamed("pinned", { net: ["a.example"] }));
    assert.notEqual(free.guest, pinned.guest);
    assert.deepEqual([free.guest.net, pinned.guest.net], [null, ["a.example"]]);
    assert.throws(() => registry.reserve("a", groupNamed("third"), CAROL, 1), { message: /"a" has 2 runs in flight/ });
    registry.release(pinned.place);
    assert.equal((await hold(registry, "a", BOB, 1, groupNamed("pinned"))).guest, pinned.guest);
  });

  it("count as containers of their tokens, and no container holds more of them than it may", async (t) => {
    const registry = makeRegistry(t, { maxContainers: 4, containerParties: 2 });
    const free = await use(registry, "a", ALICE, 0);
    const pinned = await hold(registry, "a", BOB, 1, groupNamed("pinned"));
    await hold(registry, "a", CAROL, 2, groupNamed("third"));
    assert.deepEqual([free.guest.ended, pinned.guest.ended], [true, false]);
    assert.throws(() => registry.reserve("a", FREE, ALICE, 3), {
      code: "container_busy",
      message: /serves 2 isolation groups/,
    });
    await hold(registry, "b", BOB, 4);
    await hold(registry, "c", BOB, 5);
    assert.throws(() => registry.reserve("d", FREE, ALICE, 6), { code: "overloaded" });
  });

  it("that are fresh get a blank guest a run, which counts while the run is in flight and ends with it", async (t) => {
    const registry = makeRegistry(t, { maxContainers: 2, caps: { ...NO_CAPS, newContainers: 2 } });
    const [one, two] = [await hold(registry, "a", ALICE, 0, FRESH), await hold(registry, "a", ALICE, 1, FRESH)];
    assert.notEqual(one.guest, two.guest);
    assert.throws(() => registry.reserve("a", FRESH, BOB, 2), { code: "overloaded" });
    registry.release(one.place);
    assert.deepEqual([one.guest.ended, two.guest.ended], [true, false]);
    // Both together counted once, for the name of the container: this is the second that came alive.
    const kept = await use(registry, "a", ALICE, 3);
    registry.release(two.place);
    assert.ok(isWarm(registry, "a", ALICE, 4, kept.guest));
    const third = await hold(registry, "a", ALICE, 5, FRESH);
    assert.notEqual(third.guest, kept.guest);
  });
});

describe("a container whose guests die at once, again and again", () => {
  it("waits for the next, with the wait told, while its neighbours and its other parties do not", async (t) => {
    const registry = makeRegistry(t, {});
    const dies = async (): Promise<void> => {
      // As if each had waited for as long as it may have to.
      const { guest } = await use(registry, "a", ALICE, performance.now() + 5_000);
      // By itself, and not by the service's hand.
      guest.process.kill();
      await until(() => guest.crashedMs !== null, "the guest has died");
    };
    for (let death = 0; death < 5; death++) await dies();
    const refused = (): unknown => registry.reserve("a", FREE, ALICE, performance.now());
    assert.throws(refused, (problem: { code: string; message: string; options: { retryAfterMs: number } }) => {
      assert.deepEqual([problem.code, problem.message.includes('"a" ended again and again')], ["container_busy", true]);
      return problem.options.retryAfterMs > 0 && problem.options.retryAfterMs <= 5_000;
    });
    await use(registry, "a", BOB, performance.now(), groupNamed("pinned"));
    await use(registry, "b", ALICE, performance.now());
    await use(registry, "a", ALICE, performance.now() + 5_000);
  });

  it("is not one whose guests were replaced by the service", async (t) => {
    const registry = makeRegistry(t, {});
    for (let turn = 0; turn < 20; turn++) {
      const { guest } = await use(registry, "a", ALICE, turn);
      guest.retire();
      assert.deepEqual([guest.ended, guest.crashedMs], [true, null]);
    }
  });
});

describe("clients without a token", () => {
  it("get at most half of the places of a container, so that its owner can still use it", (t) => {
    const registry = makeRegistry(t, { concurrency: 5 });
    const reservePublic = (): Reservation => registry.reserve("a", groupNamed("task"), ALICE, 0, true);
    const [first] = [reservePublic(), reservePublic()];
    assert.throws(reservePublic, { code: "container_busy", message: /"a" has 2 runs of clients without a token/ });
    const own = [1, 2, 3].map((atMs) => registry.reserve("a", FREE, ALICE, atMs));
    assert.throws(() => registry.reserve("a", FREE, ALICE, 4), { message: /"a" has 5 runs in flight/ });
    registry.release(own[0]!);
    assert.throws(reservePublic, { message: /"a" has 2 runs of clients without a token/ });
    registry.release(first);
    registry.release(reservePublic());
  });

  it("get at most half of the runs of a token, in all its containers together", (t) => {
    const registry = makeRegistry(t, { caps: { ...NO_CAPS, concurrency: 4 } });
    const below = token("below", "alice");
    const reservePublic = (name: string): Reservation => registry.reserve(name, FREE, below, 0, true);
    const [first] = [reservePublic("a"), reservePublic("b")];
    assert.throws(() => reservePublic("c"), { code: "container_busy", message: /the token has 2 runs of clients/ });
    registry.reserve("d", FREE, ALICE, 0);
    registry.release(first);
    reservePublic("c");
  });

  it("get at most half of the guests of a token; an idle one makes room for the next", async (t) => {
    const registry = makeRegistry(t, { caps: { ...NO_CAPS, containers: 4 } });
    const fresh = groupNamed("task", { fresh: true });
    const reservePublic = (name: string, group: IsolationGroup): Reservation =>
      registry.reserve(name, group, ALICE, 0, true);
    const idle = reservePublic("a", FREE);
    const { guest } = await idle.slot.arrive();
    registry.release(idle);
    reservePublic("a", fresh);
    const second = reservePublic("a", fresh);
    assert.equal(guest.ended, true);
    assert.throws(() => reservePublic("a", fresh), { code: "container_busy", message: /2 guests .* without a token/ });
    registry.reserve("b", FREE, ALICE, 0);
    registry.reserve("c", FREE, ALICE, 0);
    assert.throws(() => registry.reserve("d", FREE, ALICE, 0), { message: /4 containers alive, all at work/ });
    registry.release(second);
    reservePublic("a", fresh);
  });

  it("get one place if there is only one", (t) => {
    const registry = makeRegistry(t, { concurrency: 1, caps: { containers: 1, concurrency: 1, newContainers: 9 } });
    registry.release(registry.reserve("a", FREE, ALICE, 0, true));
    registry.release(registry.reserve("a", FREE, ALICE, 0));
  });
});
