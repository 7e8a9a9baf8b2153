import assert from "node:assert/strict";
import { existsSync, readdirSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { it } from "node:test";

import { nameOf, dayOf } from "../../../src/records/days/day.ts";
import { DAY_MS, keptRun, newFolder, openStore, reopenStore, walkAll } from "./kept-runs.ts";

it("writes everything that was added before the end", async () => {
  const { folder, store } = await openStore();
  const runs = Array.from({ length: 5_000 }, () => keptRun());
  for (const kept of runs) store.add(kept);
  await store.close();
  assert.deepEqual(store.losses, { dropped: 0, omitted: 0, unreadable: [], failure: null });
  await using again = reopenStore(folder);
  assert.deepEqual(
    (await walkAll(again.store, { count: 1_000 })).toSorted(),
    runs.map(({ record }) => record.run).toSorted(),
  );
});

it("keeps a file for each day, which only its owner can read", async () => {
  const { folder, store } = await openStore();
  const now = Date.now();
  for (const startedMs of [now, now - DAY_MS, now - 3 * DAY_MS]) store.add(keptRun({ startedMs }));
  await store.close();
  const names = [now - 3 * DAY_MS, now - DAY_MS, now].map((ms) => nameOf(dayOf(ms)));
  assert.deepEqual(readdirSync(folder).toSorted(), names);
  for (const name of names) assert.equal(statSync(path.join(folder, name)).mode & 0o777, 0o600);
});

it("creates a folder that only its owner can open", async () => {
  const folder = path.join(await newFolder(), "data", "runs");
  const { store } = reopenStore(folder);
  store.add(keptRun());
  await store.close();
  assert.equal(statSync(folder).mode & 0o777, 0o700);
});

it("drops a record that has no JSON or no day, and counts it", async () => {
  await using opened = await openStore();
  const { store } = opened;
  const hostile = { ...keptRun().record, response: { status: 200, headers: { a: 1n as unknown as string } } };
  store.add(keptRun(hostile));
  for (const startedMs of [Number.NaN, -1, Infinity, 1e20]) store.add({ ...keptRun(), startedMs });
  assert.equal(store.losses.dropped, 5);
});

it("keeps nothing on disk if the time to keep is 0, and deletes what was kept before", async () => {
  const folder = await newFolder();
  const old = path.join(folder, nameOf(dayOf(Date.now())));
  writeFileSync(old, "");
  const { store } = reopenStore(folder, { keepRuns: 0 });
  store.add(keptRun());
  assert.deepEqual(await walkAll(store), []);
  await store.close();
  assert.equal(existsSync(old), false);
});
