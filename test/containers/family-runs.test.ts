import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";

import { type Reservation, ContainerManager } from "../../src/containers/container-manager.ts";
import { RecentCallers } from "../../src/containers/family-runs.ts";
import { Pool } from "../../src/containers/pool.ts";
import type { TokenCaps, TokenChain } from "../../src/containers/token-quotas.ts";
import { Problem } from "../../src/errors.ts";
import { FREE, groupNamed, NO_CAPS, token } from "./isolation-groups.ts";
import { makeGuest } from "./puppet.ts";

const HOUR_MS = 3_600_000;
const PLACES = 16;

function makeManager(t: TestContext, caps: Partial<TokenCaps> = {}): ContainerManager {
  const pool = new Pool(async () => (await makeGuest(t)).guest, 0);
  const manager = new ContainerManager(pool, {
    concurrency: PLACES,
    maxContainers: 100,
    containerParties: 100,
    idleMs: 1e9,
    memoryReserveBytes: 0,
    caps: { ...NO_CAPS, ...caps },
  });
  t.after(() => {
    manager.close();
    pool.close();
  });
  return manager;
}

/** Reserves until a refusal. */
function take(reserve: () => Reservation): { held: Reservation[]; problem: Problem } {
  const held: Reservation[] = [];
  for (;;) {
    try {
      held.push(reserve());
    } catch (error) {
      assert.ok(error instanceof Problem);
      return { held, problem: error };
    }
  }
}

/** The chain of the runs of a task of `owner` that a token of another family requests. */
function ofTask(task: string, caller: string): TokenChain {
  return { ...token(task, "owner", `${caller}'s token`, caller), foreign: 2 };
}

describe("the places of a container", () => {
  it("are all for one family as long as no other family asks", (t) => {
    const manager = makeManager(t);
    const { held, problem } = take(() => manager.reserve("a", FREE, token("b1", "bob"), 0));
    assert.deepEqual([held.length, problem.code], [PLACES, "container_busy"]);
    assert.match(problem.message, /^container "a" has 16 runs in flight, which is its limit$/);
  });

  it("are three quarters for a family, and a part of the rest for each further one, once another family has asked", (t) => {
    const manager = makeManager(t);
    const bob = (): Reservation => manager.reserve("a", FREE, token("b1", "bob"), 0);
    const sibling = (): Reservation => manager.reserve("a", FREE, token("b2", "bob"), 0);
    const carol = (): Reservation => manager.reserve("a", FREE, token("carol"), 0);
    const first = take(bob);
    assert.throws(carol, { code: "container_busy", message: /16 runs in flight/ });
    for (const reservation of first.held) manager.release(reservation);
    const again = take(bob);
    assert.equal(again.held.length, 12);
    assert.deepEqual([again.problem.code, again.problem.options.retryAfterMs], ["container_busy", 1_000]);
    assert.match(
      again.problem.message,
      /^your token and its relatives have 12 runs in flight in container "a", and 4 are left for all others$/,
    );
    assert.throws(sibling, { message: /^your token and its relatives have 12 / });
    assert.equal(take(carol).held.length, 3);
    assert.equal(take(() => manager.reserve("a", FREE, token("dave"), 0)).held.length, 1);
  });

  it("are left for a family also while clients without a token ask", (t) => {
    const manager = makeManager(t);
    const client = (): Reservation => manager.reserve("a", FREE, token("task", "owner"), 0, "192.0.2.1");
    manager.release(client());
    assert.equal(take(() => manager.reserve("a", FREE, token("bob"), 1)).held.length, 12);
    client();
  });

  it("are all for one family again an hour after another family has asked", (t) => {
    const manager = makeManager(t);
    manager.reserve("a", FREE, token("carol"), 0);
    const bob = (nowMs: number): Reservation => manager.reserve("a", FREE, token("bob"), nowMs);
    const { held } = take(() => bob(HOUR_MS - 1));
    for (const reservation of held) manager.release(reservation);
    assert.equal(take(() => bob(HOUR_MS)).held.length, PLACES - 1);
    assert.ok(held.length < PLACES - 1);
  });
});

describe("the places of a token that owns tasks", () => {
  it("are a quarter for its own family, and shared by the families of other callers", (t) => {
    const manager = makeManager(t, { concurrency: 16 });
    let container = 0;
    const name = (): string => `c${container++ % 4}`;
    const bob = take(() => manager.reserve(name(), FREE, ofTask("task", "bob"), 0));
    assert.equal(bob.held.length, 9);
    assert.match(
      bob.problem.message,
      /^your token and its relatives have 9 runs in flight in the tasks of this owner, and 3 are left for all others$/,
    );
    const carol = take(() => manager.reserve(name(), FREE, ofTask("task", "carol"), 0));
    assert.equal(carol.held.length, 3);
    assert.match(carol.problem.message, /^other callers have 12 runs of the tasks of this owner in flight, /);
    const client = (): Reservation => manager.reserve("c5", FREE, token("task", "owner"), 0, "192.0.2.1");
    assert.throws(client, { message: /^other callers have 12 runs / });
    assert.equal(take(() => manager.reserve(name(), FREE, token("task", "owner"), 0)).held.length, 4);
    // The runs of Bob's own code do not count for the owner.
    manager.reserve("b", FREE, token("bob's token", "bob"), 0);
    for (const reservation of bob.held) manager.release(reservation);
    manager.release(manager.reserve(name(), FREE, ofTask("task", "carol"), 0));
  });

  it("are shared in guests, too: a caller of another family cannot occupy all guests of the owner", (t) => {
    const manager = makeManager(t, { containers: 16 });
    const fresh = groupNamed("fresh", { fresh: true });
    const bob = take(() => manager.reserve("a", fresh, ofTask("task", "bob"), 0));
    assert.equal(bob.held.length, 9);
    assert.match(bob.problem.message, /^your token and its relatives have 9 guests at work in the tasks of this owner/);
    manager.reserve("a", fresh, ofTask("task", "carol"), 0);
    manager.reserve("a", FREE, token("owner"), 0);
  });
});

it("a caller is never another caller for itself", () => {
  const recent = new RecentCallers();
  assert.deepEqual(
    [
      ["bob", 0],
      ["bob", 1],
      ["carol", 2],
      ["carol", 3],
      ["bob", 4],
      ["bob", HOUR_MS + 2],
      ["bob", HOUR_MS + 3],
      ["carol", HOUR_MS + 4],
    ].map(([family, nowMs]) => recent.asked(family as string, nowMs as number)),
    [false, false, true, true, true, true, false, true],
  );
});
