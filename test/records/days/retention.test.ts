import assert from "node:assert/strict";
import { existsSync, readdirSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { it } from "node:test";

import { dayOf, nameOf } from "../../../src/records/days/day.ts";
import { until } from "../../contract/until.ts";
import { ALL, addAll, DAY_MS, keptRun, openStore, reopenStore, walkAll } from "./kept-runs.ts";

const NOW = Date.now();
const MIB = 2 ** 20;

const fileOf = (folder: string, daysAgo: number): string => path.join(folder, nameOf(dayOf(NOW - daysAgo * DAY_MS)));
const printed = (bytes: number): { console: [{ atMs: number; level: "info"; text: string }] } => ({
  console: [{ atMs: 0, level: "info", text: "x".repeat(bytes) }],
});
const sizeOf = (folder: string): number =>
  readdirSync(folder).reduce((sum, name) => sum + statSync(path.join(folder, name)).size, 0);

it("deletes whole days that are too old, at the start", async () => {
  const { folder, store } = await openStore();
  const runs = [0, 1, 2, 6, 7, 8, 9].map((daysAgo) => keptRun({ startedMs: NOW - daysAgo * DAY_MS }));
  for (const kept of runs) store.add(kept);
  await store.close();
  // These are left when a process is killed, or when an operator deletes a database.
  for (const ending of ["-wal", "-shm"]) writeFileSync(fileOf(folder, 9) + ending, "");
  writeFileSync(fileOf(folder, 20) + "-wal", "orphan");
  writeFileSync(path.join(folder, "notes.txt"), "of the operator");
  await using again = reopenStore(folder, { keepRuns: 7 * DAY_MS });
  await until(() => !existsSync(fileOf(folder, 8)), "old days are deleted");
  // The day of 7 days ago ended less than 7 days ago.
  assert.deepEqual(
    await walkAll(again.store),
    runs.slice(0, 5).map(({ record }) => record.run),
  );
  assert.deepEqual(
    readdirSync(folder).filter((name) => !/-(?:wal|shm)$/.test(name)),
    [7, 6, 2, 1, 0].map((daysAgo) => path.basename(fileOf(folder, daysAgo))).concat("notes.txt"),
  );
});

it("stores a run that started on an earlier day with that day, unless the day is too old", async () => {
  const { folder, store } = await openStore({ keepRuns: DAY_MS });
  const late = keptRun({ startedMs: NOW - DAY_MS });
  store.add(keptRun({ startedMs: NOW - 5 * DAY_MS }));
  await addAll(store, [late]);
  await store.close();
  assert.deepEqual(readdirSync(folder), [path.basename(fileOf(folder, 1))]);
  assert.equal(store.losses.omitted, 1);
});

it("deletes the oldest days first until all files have the permitted size, and counts the logs of SQLite", async () => {
  const { folder, store } = await openStore();
  for (const daysAgo of [0, 1, 2, 3, 4]) {
    for (let at = 0; at < 8; at++) store.add(keptRun({ ...printed(100_000), startedMs: NOW - daysAgo * DAY_MS }));
  }
  await store.close();
  writeFileSync(fileOf(folder, 1) + "-wal", Buffer.alloc(MIB));
  await using again = reopenStore(folder, { runsSize: 3 * MIB });
  await until(() => !existsSync(fileOf(folder, 2)), "old days are deleted");
  assert.deepEqual(
    [4, 3, 2, 1, 0].filter((daysAgo) => existsSync(fileOf(folder, daysAgo))),
    [1, 0],
  );
  assert.equal((await again.store.list({ ...ALL, sinceMs: NOW - 1 }, "test")).runs.length, 8);
});

it("deletes old days while it writes, before all files exceed the size", async () => {
  const { folder, store } = await openStore({ runsSize: 3 * MIB });
  // One by one, so that the log of SQLite stays small. The records of both days exceed the size without their logs, because the store
  // removes the log of yesterday at any time.
  for (let at = 0; at < 9; at++) await addAll(store, [keptRun({ ...printed(200_000), startedMs: NOW - DAY_MS })]);
  for (let at = 0; at < 8; at++) await addAll(store, [keptRun(printed(200_000))]);
  await until(() => !existsSync(fileOf(folder, 1)), "yesterday is deleted");
  await store.close();
  await using again = reopenStore(folder, { runsSize: 3 * MIB });
  assert.equal((await walkAll(again.store)).length, 8);
});

it("stops writing when the file of today alone has the permitted size, and counts what is left out", async () => {
  const { folder, store } = await openStore({ runsSize: 2 * MIB });
  for (let at = 0; at < 100; at++) store.add(keptRun({ ...printed(100_000), startedMs: NOW }));
  await store.close();
  assert.ok(sizeOf(folder) <= 2 * MIB, `${sizeOf(folder)} bytes`);
  await using again = reopenStore(folder, { runsSize: 2 * MIB });
  const stored = (await walkAll(again.store)).length;
  assert.ok(stored > 5);
  assert.equal(store.losses.omitted, 100 - stored);
  assert.equal((await again.store.list(ALL, "test")).omitted, 100 - stored);
});
