import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";

import type { Guest } from "../../src/containers/guest/guest.ts";
import { Pool, type Taken, type Taker } from "../../src/containers/pool.ts";
import { makeGuest } from "./puppet.ts";

const NEW: Taker = { holder: null, isPublic: false, replaces: false };
const REPLACED: Taker = { ...NEW, replaces: true };

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
  it("starts as many spares as its size, at most as many at once as it may", async (t) => {
    const launches = new Launches();
    const pool = new Pool(launches.launch, 3, { startsAtOnce: 2 });
    t.after(() => pool.close());
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
    assert.deepEqual(pool.take(NEW), { guest: oldest, start: "new" });
    await launches.succeed(t);
    assert.equal(launches.total, 3);
  });

  it("returns no spare that has ended in the pool", async (t) => {
    const { pool, launches } = makePool(t, 2);
    pool.fill();
    const dead = await launches.succeed(t);
    const alive = await launches.succeed(t);
    dead.retire();
    assert.deepEqual(pool.take(NEW), { guest: alive, start: "new" });
  });

  it("starts a guest for each caller if it is empty, as cold, in the order of the calls", async (t) => {
    const { pool, launches } = makePool(t, 0);
    const first = pool.take(NEW);
    const second = pool.take(NEW);
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
    assert.deepEqual(pool.take(REPLACED), { guest: spares[0], start: "new" });
    assert.deepEqual(pool.take(NEW), { guest: spares[1], start: "new" });
    assert.deepEqual(pool.take(NEW), { guest: spares[2], start: "new" });
    const newcomer = pool.take(NEW) as Promise<Taken>;
    assert.deepEqual(pool.take(REPLACED), { guest: spares[3], start: "new" });
    const replacement = pool.take(REPLACED) as Promise<Taken>;
    const [one, two] = [await launches.succeed(t), await launches.succeed(t)];
    assert.deepEqual(await replacement, { guest: one, start: "cold" }, "the replacement came last, and is first");
    assert.deepEqual(await newcomer, { guest: two, start: "cold" });
    const [last] = [await launches.succeed(t), await launches.succeed(t), await launches.succeed(t)];
    nowMs += 30_001;
    assert.deepEqual(pool.take(NEW), { guest: last, start: "new" });
    assert.equal((pool.take(NEW) as Taken).start, "new");
    assert.equal((pool.take(NEW) as Taken).start, "new", "nothing is reserved if no guest was lost lately");
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
    const takes = Array.from({ length: 9 }, async () => pool.take(NEW));
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
    assert.deepEqual(pool.take(NEW), { guest: ready[0], start: "new" });
  });

  it("starts no guest while a spare that was taken a moment ago owes its first answer, if enough spares are left", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    let nowMs = 0;
    const pass = (ms: number): void => {
      for (let at = 0; at < ms; at += 10) {
        nowMs += 10;
        t.mock.timers.tick(10);
      }
    };
    const { pool, launches } = makePool(t, 4, () => nowMs);
    pool.fill();
    const spares = [];
    for (let n = 0; n < 4; n++) spares.push(await launches.succeed(t));
    void pool.take(NEW);
    pass(30);
    assert.equal(launches.total, 4);
    spares[0]!.answered = 1;
    pass(10);
    assert.equal(launches.total, 5, "it has answered");
    await launches.succeed(t);
    void pool.take(NEW);
    pass(40);
    assert.equal(launches.total, 5);
    pass(40);
    assert.equal(launches.total, 6, "it takes too long");
    await launches.succeed(t);
    for (let n = 0; n < 3; n++) void pool.take(NEW);
    pass(10);
    assert.equal(launches.total, 8, "one spare is left, and two may start at once");
  });

  it("rejects one waiter for a start that failed, and continues for the others", async (t) => {
    const { pool, launches } = makePool(t, 0);
    const first = assert.rejects(async () => pool.take(NEW), /no more processes/);
    const second = pool.take(NEW);
    const third = pool.take(NEW);
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
    assert.deepEqual(pool.take(NEW), { guest, start: "new" });
  });

  it("is full when 256 callers wait", async (t) => {
    const { pool, launches } = makePool(t, 0);
    const taken = Array.from({ length: 256 }, () => {
      assert.equal(pool.isFull(null), false);
      return pool.take(NEW);
    });
    assert.equal(pool.isFull(null), true);
    const guest = await launches.succeed(t);
    assert.equal((await taken[0])?.guest, guest);
    assert.equal(pool.isFull(null), false);
    const stopped = taken.slice(1).map((each) => assert.rejects(async () => each, { code: "sandbox_failed" }));
    pool.close();
    await Promise.all(stopped);
  });
});

function of(holder: object, changes: Partial<Taker> = {}): Taker {
  return { ...NEW, holder, ...changes };
}

/** Calls back when a run has its guest. Runs that still wait at the end of the test get none. */
function got(pool: Pool, taker: Taker, onGuest: () => void): void {
  void Promise.resolve(pool.take(taker)).then(onGuest, () => {});
}

describe("families that wait for guests", () => {
  const [loud, quiet, third] = [{ name: "loud" }, { name: "quiet" }, { name: "third" }];

  it("take turns, however many runs of one family wait or come again", async (t) => {
    const { pool, launches } = makePool(t, 0);
    const order: string[] = [];
    const wait = (holder: { name: string }, again = 0): void => {
      got(pool, of(holder), () => {
        order.push(holder.name);
        if (again > 0) wait(holder, again - 1);
      });
    };
    for (let at = 0; at < 16; at++) wait(loud, 5);
    await launches.succeed(t);
    await launches.succeed(t);
    for (const holder of [quiet, quiet, third]) wait(holder);
    for (let at = 0; at < 6; at++) await launches.succeed(t);
    assert.deepEqual(
      order.slice(2).filter((name) => name !== "loud"),
      ["quiet", "third", "quiet"],
    );
    assert.ok(order.lastIndexOf("quiet") <= 6, order.join(" "));
  });

  it("cannot pass others with replacements, which go first within a turn only", async (t) => {
    const { pool, launches } = makePool(t, 0);
    const order: string[] = [];
    const wait = (taker: Taker, name: string): void => got(pool, taker, () => order.push(name));
    for (let at = 0; at < 4; at++) wait(of(loud), "loud new");
    for (let at = 0; at < 3; at++) wait(of(loud, { replaces: true }), "loud lost");
    wait(of(quiet), "quiet new");
    wait(of(quiet, { replaces: true }), "quiet lost");
    for (let at = 0; at < 5; at++) await launches.succeed(t);
    assert.deepEqual(order, ["loud lost", "quiet lost", "loud lost", "quiet new", "loud lost"]);
  });

  it("share a turn between clients with and without a token", async (t) => {
    const { pool, launches } = makePool(t, 0);
    const order: string[] = [];
    for (const name of ["stranger", "stranger", "stranger", "owner", "owner"]) {
      got(pool, of(loud, { isPublic: name === "stranger" }), () => order.push(name));
    }
    for (let at = 0; at < 4; at++) await launches.succeed(t);
    assert.deepEqual(order, ["owner", "stranger", "owner", "stranger"]);
  });

  it("leave a spare to a family that has taken few, also while runs of the others wait", async (t) => {
    const { pool, launches } = makePool(t, 2);
    pool.fill();
    for (let at = 0; at < 2; at++) await launches.succeed(t);
    const waiting = Array.from({ length: 10 }, async () => pool.take(of(loud)));
    for (let at = 0; at < 5; at++) await launches.succeed(t);
    assert.equal((pool.take(of(quiet)) as Taken).start, "new");
    const second = pool.take(of(third)) as Promise<Taken>;
    await launches.succeed(t);
    assert.equal((await second).start, "cold", "the next start is for the newcomer");
    await launches.succeed(t);
    assert.equal((pool.take(of(quiet)) as Taken).start, "new", "the spare is there again");
    pool.close();
    await Promise.allSettled(waiting);
  });

  it("may always wait with their share, also when others fill the line", (t) => {
    const { pool } = makePool(t, 0);
    const take = (holder: object): void => got(pool, of(holder), () => {});
    for (let family = 0; family < 16; family++) {
      const holder = {};
      for (let at = 0; at < 16; at++) take(holder);
      if (family === 15) assert.equal(pool.isFull(holder), true);
    }
    let own = 0;
    for (; !pool.isFull(quiet); own++) take(quiet);
    assert.equal(own, 16);
    let all = 272;
    for (; !pool.isFull({}); all++) take({});
    assert.equal(all, 1_024);
  });
});

describe("a closed pool", () => {
  it("ends its spares and refuses further callers", async (t) => {
    const { pool, launches } = makePool(t, 1);
    pool.fill();
    const spare = await launches.succeed(t);
    pool.close();
    assert.ok(spare.ended);
    assert.throws(() => pool.take(NEW), { code: "sandbox_failed", message: /stopped/ });
  });

  it("rejects the waiters, ends a guest whose start it could not stop, and starts no other", async (t) => {
    const { pool, launches } = makePool(t, 3);
    const waiting = assert.rejects(async () => pool.take(NEW), { code: "sandbox_failed", message: /stopped/ });
    pool.close();
    await waiting;
    const late = await launches.succeed(t);
    assert.ok(late.ended);
    (await launches.next()).reject(new Error("too late"));
    await turn();
    assert.equal(launches.total, 2);
  });
});
