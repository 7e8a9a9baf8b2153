import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";

import type { Guest } from "../../src/containers/guest/guest.ts";
import { Pool, type Taken } from "../../src/containers/pool.ts";
import { makeGuest } from "./puppet.ts";

/** Returns a pool whose launches wait until the test resolves or rejects them. */
function makePool(t: TestContext, size: number, now?: () => number): { pool: Pool; launches: Launches } {
  const launches = new Launches();
  const pool = new Pool(launches.launch, size, { most: 4 * size, now });
  t.after(() => pool.close());
  return { pool, launches };
}

class Launches {
  readonly open: PromiseWithResolvers<Guest>[] = [];
  total = 0;
  #changed: PromiseWithResolvers<void> = Promise.withResolvers();

  readonly launch = (): Promise<Guest> => {
    const launch = Promise.withResolvers<Guest>();
    this.open.push(launch);
    this.total++;
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
    return launch.promise;
  };

  /** Returns the first launch that is pending, and waits until there is one. */
  async next(): Promise<PromiseWithResolvers<Guest>> {
    while (this.open.length === 0) await this.#changed.promise;
    return this.open.shift()!;
  }

  async succeed(t: TestContext): Promise<Guest> {
    const launch = await this.next();
    const { guest } = await makeGuest(t);
    launch.resolve(guest);
    await turn();
    return guest;
  }
}

/** Waits for a turn of the event loop, so that pending promise callbacks run. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

describe("a pool", () => {
  it("starts as many spares as its size, at most two at once", async (t) => {
    const { pool, launches } = makePool(t, 3);
    pool.fill();
    pool.fill();
    assert.equal(launches.total, 2);
    await launches.succeed(t);
    assert.equal(launches.total, 3);
    await launches.succeed(t);
    await launches.succeed(t);
    assert.equal(launches.total, 3);
  });

  it("returns the oldest spare at once, as new, and starts another guest for it", async (t) => {
    const { pool, launches } = makePool(t, 2);
    pool.fill();
    const oldest = await launches.succeed(t);
    await launches.succeed(t);
    assert.deepEqual(pool.take(false), { guest: oldest, start: "new" });
    await launches.succeed(t);
    assert.equal(launches.total, 3);
  });

  it("returns no spare that has ended in the pool", async (t) => {
    const { pool, launches } = makePool(t, 2);
    pool.fill();
    const dead = await launches.succeed(t);
    const alive = await launches.succeed(t);
    dead.retire();
    assert.deepEqual(pool.take(false), { guest: alive, start: "new" });
  });

  it("starts a guest for each caller if it is empty, as cold, in the order of the calls", async (t) => {
    const { pool, launches } = makePool(t, 0);
    const first = pool.take(false);
    const second = pool.take(false);
    const [one, two] = [await launches.succeed(t), await launches.succeed(t)];
    assert.deepEqual(await first, { guest: one, start: "cold" });
    assert.deepEqual(await second, { guest: two, start: "cold" });
    assert.equal(launches.total, 2);
  });

  it("reserves as many spares for replacements as were lately taken, up to half of its size", async (t) => {
    let nowMs = 0;
    const { pool, launches } = makePool(t, 4, () => nowMs);
    pool.fill();
    const spares = [];
    for (let n = 0; n < 4; n++) spares.push(await launches.succeed(t));
    assert.deepEqual(pool.take(true), { guest: spares[0], start: "new" });
    assert.deepEqual(pool.take(false), { guest: spares[1], start: "new" });
    assert.deepEqual(pool.take(false), { guest: spares[2], start: "new" });
    const newcomer = pool.take(false) as Promise<Taken>;
    assert.deepEqual(pool.take(true), { guest: spares[3], start: "new" });
    const replacement = pool.take(true) as Promise<Taken>;
    const [one, two] = [await launches.succeed(t), await launches.succeed(t)];
    assert.deepEqual(await replacement, { guest: one, start: "cold" }, "the replacement came last, and is first");
    assert.deepEqual(await newcomer, { guest: two, start: "cold" });
    const [last] = [await launches.succeed(t), await launches.succeed(t), await launches.succeed(t)];
    nowMs += 30_001;
    assert.deepEqual(pool.take(false), { guest: last, start: "new" });
    assert.equal((pool.take(false) as Taken).start, "new");
    assert.equal((pool.take(false) as Taken).start, "new", "nothing is reserved if no guest was lost lately");
  });

  it("grows to the recent demand, up to its maximum, and ends spares when the demand has passed", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    let nowMs = 0;
    const pass = async (ms: number): Promise<void> => {
      nowMs += ms;
      t.mock.timers.tick(ms);
      await turn();
    };
    const { pool, launches } = makePool(t, 1, () => nowMs);
    const takes = Array.from({ length: 9 }, async () => pool.take(false));
    for (const each of takes) {
      await launches.succeed(t);
      await each;
    }
    const ready = await Promise.all(Array.from({ length: 4 }, () => launches.succeed(t)));
    await pass(100);
    assert.equal(launches.total, 13);
    await pass(30_000);
    assert.deepEqual(
      ready.map(({ ended }) => ended),
      [false, true, true, true],
    );
    assert.deepEqual(pool.take(false), { guest: ready[0], start: "new" });
  });

  it("rejects one waiter for a start that failed, and continues for the others", async (t) => {
    const { pool, launches } = makePool(t, 0);
    const first = assert.rejects(async () => pool.take(false), /no more processes/);
    const second = pool.take(false);
    const third = pool.take(false);
    (await launches.next()).reject(new Error("no more processes"));
    await first;
    await launches.succeed(t);
    const last = await launches.succeed(t);
    await second;
    assert.equal((await third).guest, last);
  });

  it("tries again later, and not at once, if a start failed while no caller waited", async (t) => {
    const { pool, launches } = makePool(t, 1);
    pool.fill();
    (await launches.next()).reject(new Error("no more processes"));
    await turn();
    assert.equal(launches.total, 1);
    const guest = await launches.succeed(t);
    assert.deepEqual(pool.take(false), { guest, start: "new" });
  });

  it("is full when 256 callers wait", async (t) => {
    const { pool, launches } = makePool(t, 0);
    const taken = Array.from({ length: 256 }, () => {
      assert.equal(pool.full, false);
      return pool.take(false);
    });
    assert.equal(pool.full, true);
    const guest = await launches.succeed(t);
    assert.equal((await taken[0])?.guest, guest);
    assert.equal(pool.full, false);
    const stopped = taken.slice(1).map((each) => assert.rejects(async () => each, { code: "sandbox_failed" }));
    pool.close();
    await Promise.all(stopped);
  });
});

describe("a closed pool", () => {
  it("ends its spares and refuses further callers", async (t) => {
    const { pool, launches } = makePool(t, 1);
    pool.fill();
    const spare = await launches.succeed(t);
    pool.close();
    assert.ok(spare.ended);
    assert.throws(() => pool.take(false), { code: "sandbox_failed", message: /stopped/ });
  });

  it("rejects the waiters, ends a guest whose start it could not stop, and starts no other", async (t) => {
    const { pool, launches } = makePool(t, 3);
    const waiting = assert.rejects(async () => pool.take(false), { code: "sandbox_failed", message: /stopped/ });
    pool.close();
    await waiting;
    const late = await launches.succeed(t);
    assert.ok(late.ended);
    (await launches.next()).reject(new Error("too late"));
    await turn();
    assert.equal(launches.total, 2);
  });
});
