import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { EmbeddedLimitStore } from "../../../src/limits/stores/embedded.ts";
import { admitted, charge, limitStoreSuite } from "../../suites/limit-store.ts";
import { readOne } from "../read-one.ts";
import { failOnError, HandClock, inFolder, withStore } from "./folder.ts";

for (const fsync of [false, true]) {
  limitStoreSuite(`the embedded store${fsync ? " with fsync" : ""}`, async () => {
    const folder = await mkdtemp(join(tmpdir(), "caisson-limits-"));
    const clock = new HandClock();
    const store = await EmbeddedLimitStore.open(folder, { fsync, clock, onError: failOnError });
    return {
      store,
      pass: (milliseconds) => {
        clock.time += milliseconds;
      },
      end: async () => {
        await store.close();
        await rm(folder, { recursive: true });
      },
    };
  });
}

const month = { month: 1_000 };

function used(store: EmbeddedLimitStore, key = "a"): Promise<number> {
  return readOne(store, charge(key, month)).then((usage) => 1_000 - usage.remaining.at(-1)!);
}

it("the embedded store answers the first of many admissions before the turn of the event loop ends", async () => {
  await inFolder(async (folder) => {
    await withStore(folder, {}, async (store) => {
      let hasTurned = false;
      setImmediate(() => (hasTurned = true));
      await Promise.all(Array.from({ length: 16 }, () => store.admit([charge("a", month)])));
      assert.equal(hasTurned, false);
      // They are on disk: another store reads them.
      const copy = await readFile(join(folder, "journal-1"));
      await inFolder(async (other) => {
        await writeFile(join(other, "journal-1"), copy);
        await withStore(other, {}, async (second) => assert.equal(await used(second), 16));
      });
    });
  });
});

describe("the embedded store over restarts", () => {
  it("continues with all counts, including resets", async () => {
    await inFolder(async (folder) => {
      const clock = new HandClock();
      await withStore(folder, { clock }, async (store) => {
        await admitted(store, 3, charge("a", month), charge("b", month));
        await store.reset("b");
        await admitted(store, 2, charge("b", month));
      });
      for (let restart = 0; restart < 3; restart++) {
        await withStore(folder, { clock }, async (store) => {
          assert.deepEqual([await used(store), await used(store, "b")], [3 + restart, 2 + restart]);
          await admitted(store, 1, charge("b", month), charge("a", month));
        });
      }
    });
  });

  it("keeps all counts after the wall clock was set back, and time continues from its last value", async () => {
    await inFolder(async (folder) => {
      const clock = new HandClock();
      const key = charge("a", { minute: 5 });
      await withStore(folder, { clock }, async (store) => assert.equal(await admitted(store, 6, key), 5));
      clock.time -= 3_600_000;
      await withStore(folder, { clock }, async (store) => {
        clock.time += 59_999;
        assert.equal(await admitted(store, 1, key), 0);
        clock.time += 1;
        assert.equal(await admitted(store, 6, key), 5);
      });
    });
  });

  it("counts by its own time when the wall clock was far ahead and comes back", async () => {
    await inFolder(async (folder) => {
      const clock = new HandClock();
      const key = charge("a", { hour: 5 });
      clock.time += 40 * 86_400_000;
      await withStore(folder, { clock }, async (store) => assert.equal(await admitted(store, 6, key), 5));
      clock.time -= 40 * 86_400_000;
      await withStore(folder, { clock }, async (store) => assert.equal(await admitted(store, 1, key), 0));
    });
  });

  it("does not go back in time when the clock does so while it runs", async () => {
    await inFolder(async (folder) => {
      const clock = new HandClock();
      await withStore(folder, { clock }, async (store) => {
        await admitted(store, 5, charge("a", { minute: 5 }));
        clock.time -= 120_000;
        assert.equal((await store.admit([charge("a", { minute: 5 })])).retryAfterMs, 60_000);
      });
    });
  });

  it("drops a record that a crash tore at any byte, and continues", async () => {
    await inFolder(async (folder) => {
      const clock = new HandClock();
      const journal = join(folder, "journal-1");
      await withStore(folder, { clock }, async (store) => void (await admitted(store, 2, charge("a", month))));
      const two = (await readFile(journal)).length;
      await withStore(folder, { clock }, async (store) => void (await admitted(store, 1, charge("a", month))));
      const whole = await readFile(journal);
      for (let length = two; length < whole.length; length++) {
        await writeFile(journal, whole.subarray(0, length));
        await withStore(folder, { clock }, async (store) => {
          assert.equal(await used(store), 2);
          await admitted(store, 3, charge("a", month));
        });
        await withStore(folder, { clock }, async (store) => assert.equal(await used(store), 5));
      }
    });
  });

  it("starts empty when a crash tore its very first record", async () => {
    await inFolder(async (folder) => {
      await withStore(folder, {}, async () => {});
      await truncate(join(folder, "journal-1"), 5);
      await withStore(folder, {}, async (store) => assert.equal(await admitted(store, 1, charge("a", month)), 1));
      await withStore(folder, {}, async (store) => assert.equal(await used(store), 1));
    });
  });

  it("treats zeros at the end as the result of a loss of power", async () => {
    await inFolder(async (folder) => {
      await withStore(folder, {}, async (store) => void (await admitted(store, 2, charge("a", month))));
      await writeFile(join(folder, "journal-1"), Buffer.alloc(5_000), { flag: "a" });
      await withStore(folder, {}, async (store) => assert.equal(await used(store), 2));
    });
  });

  it("rejects any other damage at the start, and names the file and the remedy", async () => {
    await inFolder(async (folder) => {
      const journal = join(folder, "journal-1");
      await withStore(folder, {}, async (store) => void (await admitted(store, 3, charge("a", month))));
      const whole = await readFile(journal);
      for (let at = 0; at < whole.length; at++) {
        const damaged = Buffer.from(whole);
        damaged[at]! ^= 0x10;
        await writeFile(journal, damaged);
        await assert.rejects(EmbeddedLimitStore.open(folder, { fsync: false }), (error: Error) => {
          assert.ok(error.message.includes(journal), error.message);
          assert.match(error.message, /at byte \d+.* "caisson limits repair --data /);
          return true;
        });
      }
    });
  });
});
