import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";

import type { Guest } from "../../src/containers/guest/guest.ts";
import { Pool, type Taken } from "../../src/containers/pool.ts";
import { makeGuest } from "./puppet.ts";

/** A pool whose launches wait until the test lets them come to something. */
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

  /** The launch that was begun first and has come to nothing yet; waits until there is one. */
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

/** Lets what is due in promises be done. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

describe("a pool", () => {
  it("starts as many blanks as it is to hold, two at once and no more", async (t) => {
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

  it("gives the oldest blank at once, as new, and starts another for it", async (t) => {
    const { pool, launches } = makePool(t, 2);
    pool.fill();
    const oldest = await launches.succeed(t);
    await launches.succeed(t);
    assert.deepEqual(pool.take(false), { guest: oldest, start: "new" });
    await launches.succeed(t);
    assert.equal(launches.total, 3);
  });

  it("gives no blank that has ended while it lay there", async (t) => {
    const { pool, launches } = makePool(t, 2);
    pool.fill();
    const dead = await launches.succeed(t);
    const alive = await launches.succeed(t);
    dead.retire();
    assert.deepEqual(pool.take(false), { guest: alive, start: "new" });
  });

  it("starts one for whoever finds it empty, as cold, first come first served", async (t) => {
    const { pool, launches } = makePool(t, 0);
    const first = pool.take(false);
    const second = pool.take(false);
    const [one, two] = [await launches.succeed(t), await launches.succeed(t)];
    assert.deepEqual(await first, { guest: one, start: "cold" });
    assert.deepEqual(await second, { guest: two, start: "cold" });
    assert.equal(launches.total, 2);
  });

  it("keeps as many for those that lost their guest as lately did, up to half of what it is to hold", async (t) => {
    let nowMs = 0;
    const { pool, launches } = makePool(t, 4, () => nowMs);
    pool.fill();
    const blanks = [];
    for (let n = 0; n < 4; n++) blanks.push(await launches.succeed(t));
    assert.deepEqual(pool.take(true), { guest: blanks[0], start: "new" });
    assert.deepEqual(pool.take(false), { guest: blanks[1], start: "new" });
    assert.deepEqual(pool.take(false), { guest: blanks[2], start: "new" });
    const newcomer = pool.take(false) as Promise<Taken>;
    assert.deepEqual(pool.take(true), { guest: blanks[3], start: "new" });
    const bereft = pool.take(true) as Promise<Taken>;
    const [one, two] = [await launches.succeed(t), await launches.succeed(t)];
    assert.deepEqual(await bereft, { guest: one, start: "cold" }, "it came last, and is first");
    assert.deepEqual(await newcomer, { guest: two, start: "cold" });
    const [last] = [await launches.succeed(t), await launches.succeed(t), await launches.succeed(t)];
    nowMs += 30_001;
    assert.deepEqual(pool.take(false), { guest: last, start: "new" });
    assert.equal((pool.take(false) as Taken).start, "new");
    assert.equal((pool.take(false) as Taken).start, "new", "nothing is kept when none was lost lately");
  });

  it("holds as many as were asked for lately, up to the most that it may, and lets them go when nobody comes", async (t) => {
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

  it("tells one waiter of a start that failed, and goes on for the others", async (t) => {
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

  it("tries again later when a start failed that nobody waited for, and not at once", async (t) => {
    const { pool, launches } = makePool(t, 1);
    pool.fill();
    (await launches.next()).reject(new Error("no more processes"));
    await turn();
    assert.equal(launches.total, 1);
    const guest = await launches.succeed(t);
    assert.deepEqual(pool.take(false), { guest, start: "new" });
  });

  it("is full when so many wait that one more could not be served in a patient client's time", async (t) => {
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

describe("a pool that is closed", () => {
  it("ends its blanks and takes nobody any more", async (t) => {
    const { pool, launches } = makePool(t, 1);
    pool.fill();
    const blank = await launches.succeed(t);
    pool.close();
    assert.ok(blank.ended);
    assert.throws(() => pool.take(false), { code: "sandbox_failed", message: /stopped/ });
  });

  it("tells those that wait, ends a guest whose start it could not stop, and starts no other", async (t) => {
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
