import assert from "node:assert/strict";
import { it, type TestContext } from "node:test";

import { Container } from "../../src/containers/container.ts";
import type { Guest } from "../../src/containers/guest.ts";
import { Pool } from "../../src/containers/pool.ts";
import { Problem } from "../../src/errors.ts";
import { makeGuest } from "./puppet.ts";
import { start } from "./recorder.ts";

const MAX_AGE_MS = 20 * 60_000;

function makeContainer(
  t: TestContext,
  launch: () => Promise<Guest> = async () => (await makeGuest(t)).guest,
): Container {
  const pool = new Pool(launch, 0);
  t.after(() => pool.close());
  return new Container("demo", pool);
}

it("a container has no guest before its first run, and keeps the one that arrived", async (t) => {
  const container = makeContainer(t);
  assert.equal(container.warm(performance.now()), null);
  const { guest, start: how } = await container.arrive();
  assert.equal(how, "cold");
  assert.deepEqual(container.warm(performance.now()), { guest, start: "warm" });
});

it("runs that come while its guest arrives wait for the same one", async (t) => {
  let launches = 0;
  const container = makeContainer(t, async () => {
    launches++;
    return (await makeGuest(t)).guest;
  });
  const taken = await Promise.all([container.arrive(), container.arrive(), container.arrive()]);
  assert.equal(new Set(taken.map(({ guest }) => guest)).size, 1);
  assert.equal(launches, 1);
});

it("a guest that could not be started is told to all that wait, and the next run tries again", async (t) => {
  let fails = true;
  const container = makeContainer(t, async () => {
    if (fails) throw new Problem("sandbox_failed", "no");
    return (await makeGuest(t)).guest;
  });
  const waiting = [container.arrive(), container.arrive()];
  for (const each of waiting) await assert.rejects(each, { code: "sandbox_failed" });
  fails = false;
  assert.equal((await container.arrive()).guest.ended, false);
});

it("a guest that drains or has ended takes no run, and another arrives in its place", async (t) => {
  const container = makeContainer(t);
  const { guest } = await container.arrive();
  start(guest, "a");
  guest.retire();
  assert.equal(guest.ended, false);
  assert.equal(container.warm(performance.now()), null);
  assert.notEqual((await container.arrive()).guest, guest);
});

it("a guest is replaced after twenty minutes, once its runs have ended", async (t) => {
  const container = makeContainer(t);
  const { guest } = await container.arrive();
  assert.equal(container.warm(guest.startedMs + MAX_AGE_MS)?.guest, guest);
  start(guest, "a");
  assert.equal(container.warm(guest.startedMs + MAX_AGE_MS + 1), null);
  assert.deepEqual([guest.draining, guest.ended], [true, false]);
});

it("a guest is replaced after a hundred thousand runs", async (t) => {
  const container = makeContainer(t);
  const { guest } = await container.arrive();
  guest.runs = 99_999;
  assert.equal(container.warm(guest.startedMs)?.guest, guest);
  guest.runs++;
  assert.equal(container.warm(guest.startedMs), null);
  assert.ok(guest.ended);
});

it("a container that is closed ends its guest, and the runs in it are told that it was not they", async (t) => {
  const container = makeContainer(t);
  const { guest } = await container.arrive();
  const run = start(guest, "a");
  container.close();
  assert.equal(await run.outcome(), "container_restarted");
  assert.ok(guest.ended);
  assert.equal(container.warm(performance.now()), null);
});
