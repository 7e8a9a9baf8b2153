import assert from "node:assert/strict";
import { it } from "node:test";

import type { KeptRun } from "../../../src/records/record.ts";
import type { RecordStore } from "../../../src/records/store.ts";
import { ALL, keptRun, openStore, reopenStore, walkAll } from "./kept-runs.ts";

const RATE = 100 * 1_024;
const NOW = Date.now();

const printed = (bytes: number): KeptRun["record"]["console"] => [{ atMs: 0, level: "info", text: "x".repeat(bytes) }];

/** Adds runs of 50 tokens of one family, until the shares have left out many. @returns the number of runs. */
function flood(store: RecordStore, containerOf: (at: number) => string, family = "loud"): number {
  for (let at = 0; at < 2_000; at++) {
    const lineage = [`child-${at % 50}`, family];
    store.add(keptRun({ family, lineage, container: containerOf(at), console: printed(1_000), startedMs: NOW - at }));
  }
  return 2_000;
}

async function omittedIn(store: RecordStore, container: string, reader: string): Promise<number> {
  return (await store.list({ ...ALL, container }, reader)).omitted;
}

it("a family that floods with 50 tokens keeps one share, and the record of another family keeps everything", async () => {
  const { folder, store } = await openStore({ runsRate: RATE, now: () => NOW });
  const quiet = Array.from({ length: 20 }, () => keptRun({ family: "quiet", container: "quiet", startedMs: NOW }));
  for (const kept of quiet.slice(0, 10)) store.add(kept);
  const added = flood(store, () => "loud");
  for (const kept of quiet.slice(10)) store.add(kept);
  await store.close();
  const { omitted, dropped } = store.losses;
  assert.equal(dropped, 0);

  await using again = reopenStore(folder);
  const stored = await walkAll(again.store, { container: "loud" });
  assert.equal(stored.length + omitted, added);
  assert.ok(stored.length > 10 && stored.length * 1_000 < RATE);
  assert.equal((await walkAll(again.store, { container: "quiet" })).length, quiet.length);
  assert.equal(await omittedIn(again.store, "loud", "loud"), omitted);
  assert.equal(await omittedIn(again.store, "quiet", "quiet"), 0);
});

it("10,000 container names neither widen the share of a family nor hide what others have lost", async () => {
  const { folder, store } = await openStore({ runsRate: RATE, now: () => NOW });
  for (let round = 0; round < 5; round++) flood(store, (at) => `loud-${round}-${at}`);
  for (let at = 0; at < 200; at++) {
    store.add(keptRun({ family: "quiet", container: "quiet", console: printed(2_000), startedMs: NOW }));
  }
  await store.close();
  const { omitted } = store.losses;

  await using again = reopenStore(folder);
  const quiet = (await walkAll(again.store, { container: "quiet" })).length;
  assert.ok(quiet > 10 && quiet < 200);
  assert.equal(await omittedIn(again.store, "quiet", "quiet"), 200 - quiet);
  const loud = await again.store.list({ ...ALL, permitted: ["loud-*"] }, "loud");
  assert.equal(loud.omitted, omitted - (200 - quiet), "the reader's family sees also what has no name");
  assert.equal((await again.store.list(ALL, "admin")).omitted, omitted);
  const stranger = await again.store.list({ ...ALL, permitted: ["quiet"] }, "quiet");
  assert.equal(stranger.omitted, 200 - quiet);
});

it("the quota of a family in a day survives a restart, and another day has its own", async () => {
  let nowMs = NOW;
  const options = { runsRate: 2 ** 20, familyRuns: RATE, now: () => nowMs };
  const first = await openStore(options);
  const added = flood(first.store, () => "loud");
  await first.store.close();
  const again = reopenStore(first.folder, options);
  const before = (await walkAll(again.store, { container: "loud" })).length;
  assert.ok(before > 10 && before * 1_000 < RATE);
  nowMs += 60_000;
  flood(again.store, () => "loud");
  for (let at = 0; at < 10; at++) again.store.add(keptRun({ family: "quiet", container: "quiet", startedMs: NOW }));
  nowMs += 60_000;
  const tomorrow = keptRun({ family: "loud", container: "loud", startedMs: NOW + 86_400_000 });
  again.store.add(tomorrow);
  await again.store.close();

  await using last = reopenStore(first.folder, options);
  const stored = await walkAll(last.store, { container: "loud" });
  assert.deepEqual([stored.length, stored[0]], [before + 1, tomorrow.record.run]);
  assert.equal((await walkAll(last.store, { container: "quiet" })).length, 10);
  assert.equal(await omittedIn(last.store, "loud", "loud"), 2 * added - before);
});

it("strangers use up a part of the quota of a day, also after a restart, and the owner of the task has the rest", async () => {
  let nowMs = NOW;
  const options = { runsRate: 2 ** 20, familyRuns: RATE, now: () => nowMs };
  const first = await openStore(options);
  const strangers = (store: RecordStore, round: number): void => {
    for (let at = 0; at < 500; at++) {
      const network = `203.0.113.${at % 50}-${round}`;
      store.add(keptRun({ family: "owner", network, container: "open", console: printed(1_000), startedMs: NOW }));
    }
  };
  strangers(first.store, 1);
  await first.store.close();
  const again = reopenStore(first.folder, options);
  nowMs += 60_000;
  strangers(again.store, 2);
  for (let at = 0; at < 20; at++) again.store.add(keptRun({ family: "owner", container: "private", startedMs: NOW }));
  await again.store.close();

  await using last = reopenStore(first.folder, options);
  const open = await walkAll(last.store, { container: "open" });
  assert.ok(open.length > 10 && open.length * 1_000 < RATE / 2, `${open.length} runs`);
  assert.equal((await walkAll(last.store, { container: "private" })).length, 20);
  assert.equal(await omittedIn(last.store, "private", "owner"), 0);
});
