import assert from "node:assert/strict";
import { copyFile, readdir, truncate } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";

import { EmbeddedLimitStore } from "../../../src/limits/stores/embedded.ts";
import { admitted, charge } from "../../suites/limit-store.ts";
import { readOne } from "../read-one.ts";
import { failOnError, HandClock, inFolder, withStore } from "./folder.ts";

const month = { month: 1_000 };
const compactAtBytes = 20_000;

describe("the compaction of the embedded store", () => {
  for (const fsync of [false, true]) {
    it(`keeps every count exactly, and the folder small${fsync ? ", with fsync" : ""}`, async () => {
      await inFolder(async (folder) => {
        const clock = new HandClock();
        let expected = new Map<string, number>();
        await withStore(folder, { clock, compactAtBytes, fsync, onError: failOnError }, async (store) => {
          expected = await work(store, folder, clock);
          await check(store, expected);
        });
        const files = await readdir(folder);
        assert.ok(files.includes("snapshot-3") && !files.includes("journal-1"), files.join());
        await withStore(folder, { clock, compactAtBytes }, (store) => check(store, expected));
      });
    });
  }

  it("can be interrupted at any instant: every copy of the folder opens with at least the answered runs", async () => {
    await inFolder(async (folder) => {
      const clock = new HandClock();
      const limits = { month: 1e6 };
      let answered = 0;
      let copies = 0;
      await withStore(folder, { clock, compactAtBytes: 3_000, onError: failOnError }, async (store) => {
        for (let turn = 0; turn < 120; turn++) {
          const more = Array.from({ length: 20 }, (_, key) =>
            store.admit([charge(`key ${key} ${turn}`, limits), charge("all", limits)]),
          );
          await Promise.all(more);
          answered += more.length;
          await inFolder(async (copy) => {
            if (!(await copyAtOnce(folder, copy))) return;
            copies++;
            await withStore(copy, { clock }, async (reopened) => {
              assert.equal(1e6 - (await readOne(reopened, charge("all", limits))).remaining.at(-1)!, answered);
            });
          });
        }
      });
      assert.ok(copies > 50, `only ${copies} copies were of one instant`);
    });
  });

  it("rejects an incomplete snapshot", async () => {
    await inFolder(async (folder) => {
      const clock = new HandClock();
      await withStore(folder, { clock, compactAtBytes }, async (store) => void (await work(store, folder, clock)));
      const snapshot = join(folder, "snapshot-3");
      await truncate(snapshot, 50);
      await assert.rejects(EmbeddedLimitStore.open(folder, { fsync: false, clock }), new RegExp(snapshot));
    });
  });

  it("drops keys whose month has passed even without new keys", async () => {
    await inFolder(async (folder) => {
      const clock = new HandClock();
      await withStore(folder, { clock }, async (store) => {
        for (let key = 0; key < 100; key++) await admitted(store, 1, charge(`old ${key}`, month));
        clock.time += 31 * 86_400_000 - 1;
        await admitted(store, 110, charge("busy", month));
        assert.equal(store.size, 101);
        clock.time += 1;
        await admitted(store, 210, charge("busy", month));
        assert.equal(store.size, 1);
        assert.equal((await readOne(store, charge("busy", month))).remaining.at(-1), 680);
      });
    });
  });

  it("drops keys whose month has passed when new keys are added", async () => {
    await inFolder(async (folder) => {
      const clock = new HandClock();
      await withStore(folder, { clock }, async (store) => {
        for (let key = 0; key < 100; key++) await admitted(store, 1, charge(`old ${key}`, month));
        clock.time += 31 * 86_400_000;
        for (let key = 0; key < 100; key++) await admitted(store, 1, charge(`new ${key}`, month));
        assert.equal(store.size, 100);
        assert.equal((await readOne(store, charge("new 0", month))).remaining.at(-1), 999);
      });
    });
  });
});

/** Uses many keys until a snapshot is finished, some of them while the store writes it. */
async function work(store: EmbeddedLimitStore, folder: string, clock: HandClock): Promise<Map<string, number>> {
  const expected = new Map<string, number>();
  const busy = ["one", "two", "three"];
  const limits = { month: 1e6 };
  for (let turn = 0; turn < 3_000 && !(await readdir(folder)).includes("snapshot-3"); turn++) {
    clock.time += 7;
    const keys = [busy[turn % 3]!, ...Array.from({ length: 30 }, (_, key) => `key ${turn % 50} ${key}`)];
    if (turn % 40 === 39) {
      await store.reset("two");
      expected.set("two", 0);
    }
    await Promise.all(keys.map((key) => store.admit([charge(key, limits), charge("all", limits)])));
    for (const key of keys) expected.set(key, (expected.get(key) ?? 0) + 1);
    expected.set("all", (expected.get("all") ?? 0) + keys.length);
  }
  return expected;
}

async function check(store: EmbeddedLimitStore, expected: ReadonlyMap<string, number>): Promise<void> {
  for (const [key, count] of expected) {
    const { remaining } = await readOne(store, charge(key, { month: 1e6 }));
    assert.equal(1e6 - remaining.at(-1)!, count, key);
  }
}

/** Copies the files at one instant. Returns false if files appeared or disappeared during the copy. */
async function copyAtOnce(from: string, to: string): Promise<boolean> {
  const before = (await readdir(from)).toSorted();
  try {
    for (const file of before) await copyFile(join(from, file), join(to, file));
  } catch {
    return false;
  }
  return before.join() === (await readdir(from)).toSorted().join();
}
