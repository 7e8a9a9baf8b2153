import assert from "node:assert/strict";
import { readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";

import { EmbeddedLimitStore } from "../../../src/limits/stores/embedded.ts";
import { seal } from "../../../src/limits/stores/embedded/journal-frames.ts";
import { salvage } from "../../../src/limits/stores/embedded/repair.ts";
import { admitted, charge } from "../../suites/limit-store.ts";
import { readOne } from "../read-one.ts";
import { HandClock, inFolder, withStore } from "./folder.ts";

const LIMIT = 1e6;
const month = { month: LIMIT };
const clock = new HandClock();
const KEYS = ["one", "two", "three"];
const RUNS = 5;

async function used(store: EmbeddedLimitStore, key: string): Promise<number> {
  return LIMIT - (await readOne(store, charge(key, month))).remaining.at(-1)!;
}

/** Calls `body` with a folder of counts: the same number of runs for each key, one record for each run. */
async function withCounts(body: (folder: string, journal: string) => Promise<void>): Promise<void> {
  await inFolder(async (data) => {
    const folder = join(data, "limits");
    await withStore(folder, { clock }, async (store) => {
      for (let run = 0; run < RUNS; run++) {
        for (const key of KEYS) assert.equal(await admitted(store, 1, charge(key, month)), 1);
      }
    });
    await body(folder, join(folder, "journal-1"));
  });
}

describe("the repair of damaged counts", () => {
  it("keeps every readable record, whichever byte is damaged, and reports how many runs may be lost", async () => {
    await withCounts(async (folder, journal) => {
      const whole = await readFile(journal);
      for (let at = 0; at < whole.length; at++) {
        const damaged = Buffer.from(whole);
        damaged[at]! ^= 0x10;
        await writeFile(journal, damaged);
        await assert.rejects(EmbeddedLimitStore.open(folder, { fsync: false, clock }));
        const found = salvage(folder);
        assert.deepEqual(await readFile(journal), damaged, "a dry run changes nothing");
        const [gap, names] = found.losses;
        assert.ok(gap && gap.at <= at && at < gap.at + gap.bytes, `byte ${at}: ${JSON.stringify(found.losses)}`);
        const backup = await found.rewrite();
        assert.deepEqual(await readFile(join(backup, "journal-1")), damaged);
        await withStore(folder, { clock }, async (store) => {
          let kept = 0;
          for (const key of KEYS) kept += await used(store, key);
          const atMost = Number(/at most (\d+) runs/.exec(gap.what)![1]);
          const unnamed = Number(/^(\d+) counts/.exec(names?.what ?? "")?.[1] ?? 0);
          const lost = KEYS.length * RUNS - kept;
          assert.ok(lost <= atMost + unnamed, `byte ${at}: ${lost} runs are lost of ${atMost} and ${unnamed}`);
          assert.ok(lost <= RUNS, `byte ${at}: more is lost than one record, or one key with its name`);
          assert.equal(await admitted(store, 1, charge("one", month)), 1);
        });
        await rm(folder, { recursive: true });
        await rm(backup, { recursive: true });
        await withStore(folder, { clock }, () => Promise.resolve());
      }
    });
  });

  it("finds no loss in undamaged counts, or after a crash tore the last record", async () => {
    await withCounts(async (folder, journal) => {
      assert.deepEqual(salvage(folder).losses, []);
      assert.equal(salvage(folder).keys, KEYS.length);
      await truncate(journal, (await readFile(journal)).length - 3);
      assert.deepEqual(salvage(folder).losses, []);
      await withStore(folder, { clock }, async (store) => assert.equal(await used(store, "three"), RUNS - 1));
    });
  });

  it("keeps the contents of other files when one is missing or truncated", async () => {
    await inFolder(async (data) => {
      const folder = join(data, "limits");
      await withStore(folder, { clock, compactAtBytes: 2_000 }, async (store) => {
        for (let turn = 0; !(await readdir(folder)).includes("snapshot-3"); turn++) {
          await admitted(store, 5, charge("busy", month), charge(`key ${turn}`, month));
        }
        await admitted(store, 1, charge("late", month));
      });
      const snapshot = join(folder, "snapshot-3");
      await truncate(snapshot, 60);
      const cut = salvage(folder);
      assert.deepEqual(
        cut.losses.map(({ file }) => file),
        [snapshot, snapshot].slice(0, cut.losses.length),
      );
      assert.ok(cut.losses.length > 0);
      const backup = await cut.rewrite();
      assert.equal(dirname(backup), data);
      await withStore(folder, { clock }, async (store) => assert.equal(await used(store, "late"), 1));
      await rm(join(folder, "journal-4"));
      assert.match(salvage(folder).losses[0]!.what, /the whole file/);
      await salvage(folder).rewrite();
      await withStore(folder, { clock }, async (store) => assert.equal(await used(store, "late"), 1));
    });
  });

  it("rejects files of another release, which are not damaged", async () => {
    await inFolder(async (folder) => {
      const journal = join(folder, "journal-1");
      await withStore(folder, { clock }, () => Promise.resolve());
      const file = await readFile(journal);
      for (const version of [1, 99]) {
        file[13] = version;
        await writeFile(journal, seal(file));
        const refused = new RegExp(`version ${version} .* start the release`);
        await assert.rejects(EmbeddedLimitStore.open(folder, { fsync: false, clock }), refused);
        assert.throws(() => salvage(folder), refused);
      }
    });
  });
});
