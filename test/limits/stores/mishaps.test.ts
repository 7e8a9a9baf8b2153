import assert from "node:assert/strict";
import { cp, mkdir, readdir, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { describe, it } from "node:test";

import type { EmbeddedLimitStore as Store } from "../../../src/limits/stores/embedded.ts";
import { isLong } from "../../long.ts";
import { drawn, seeded } from "../../seeded.ts";
import { charge } from "../../suites/limit-store.ts";
import { readOne } from "../read-one.ts";
import { disk, type Fault, type Operation, openStore } from "./disk.ts";
import { HandClock, inFolder } from "./folder.ts";

const LIMIT = 1e6;
const limits = { month: LIMIT };
const compactAtBytes = 1_500;
const TURNS = 30;
const RUNS_A_TURN = 6;

/** The known counts of a key: the answered runs, and the failed runs that may have been counted in addition. */
interface Known {
  answered: number;
  perhaps: number;
}

type Ledger = Map<string, Known>;

/** Makes runs and some resets under the current faults, and updates the ledger of what must be on record afterwards. */
async function work(store: Store, clock: HandClock, ledger: Ledger, turns: number = TURNS): Promise<void> {
  for (let turn = 0; turn < turns && !disk.dead; turn++) {
    clock.time += 3;
    if (turn % 15 === 14) await reset(store, "key 2", ledger);
    const runs = Array.from({ length: RUNS_A_TURN }, (_, at) => ["all", `key ${at}`, `new ${turn % 7} ${at}`]);
    const outcomes = await Promise.allSettled(runs.map((keys) => store.admit(keys.map((key) => charge(key, limits)))));
    for (const [at, { status }] of outcomes.entries()) {
      for (const key of runs[at]!) {
        const known = knownOf(ledger, key);
        if (status === "fulfilled") known.answered += 1;
        else known.perhaps += 1;
      }
    }
  }
}

async function reset(store: Store, key: string, ledger: Ledger): Promise<void> {
  const known = knownOf(ledger, key);
  try {
    await store.reset(key);
    Object.assign(known, { answered: 0, perhaps: 0 });
  } catch {
    // The reset failed: it may have happened if the disk died. Otherwise the counts are unchanged.
    if (disk.dead) Object.assign(known, { answered: 0, perhaps: known.answered + known.perhaps });
  }
}

function knownOf(ledger: Ledger, key: string): Known {
  if (!ledger.has(key)) ledger.set(key, { answered: 0, perhaps: 0 });
  return ledger.get(key)!;
}

/** @param exact whether only answered runs may be counted */
async function check(store: Store, ledger: Ledger, what: string, exact: boolean): Promise<void> {
  for (const [key, { answered, perhaps }] of ledger) {
    const used = LIMIT - (await readOne(store, charge(key, limits))).remaining.at(-1)!;
    const most = exact ? answered : answered + perhaps;
    assert.ok(
      used >= answered && used <= most,
      `${what}: ${key} was answered ${answered} times, ${used} are on record`,
    );
  }
}

async function newestSnapshot(folder: string): Promise<number> {
  const names = await readdir(folder);
  return Math.max(0, ...names.map((name) => Number(/^snapshot-(\d+)$/.exec(name)?.[1] ?? 0)));
}

async function open(folder: string, clock: HandClock, fsync: boolean): Promise<Store> {
  return openStore(folder, { fsync, clock, compactAtBytes });
}

/** Opens the store as soon as the disk allows it. */
async function openAgain(folder: string, clock: HandClock, fsync: boolean): Promise<Store> {
  for (;;) {
    const store = await open(folder, clock, fsync).catch(() => undefined);
    if (store) return store;
  }
}

/** Opens, works and closes. Only injected faults make operations fail. */
async function live(folder: string, clock: HandClock, ledger: Ledger, fsync: boolean): Promise<void> {
  const store = await open(folder, clock, fsync).catch(() => undefined);
  if (!store) return;
  await work(store, clock, ledger);
  await store.close();
}

/** Creates a history in a folder, and returns its ledger. */
async function withHistory(folder: string, clock: HandClock): Promise<Ledger> {
  const ledger: Ledger = new Map();
  disk.reset(folder);
  await live(folder, clock, ledger, false);
  return ledger;
}

/** Calls `body` for each change of the disk in one life of the store, in a short run for half of them, with a fresh copy of the folder. */
async function atEachChange(
  fsync: boolean,
  body: (number: number, folder: string, clock: HandClock, ledger: Ledger) => Promise<void>,
): Promise<void> {
  let changes = 1;
  const random = seeded();
  await inFolder(async (root) => {
    const clock = new HandClock();
    const original = join(root, "original");
    await mkdir(original);
    const ledger = await withHistory(original, clock);
    for (let number = -1; number < changes; number++) {
      if (number >= 0 && !isLong && random.below(2) === 0) continue;
      const folder = join(root, `copy ${number}`);
      await cp(original, folder, { recursive: true });
      disk.reset(folder);
      const known: Ledger = new Map([...ledger].map(([key, value]) => [key, { ...value }]));
      const later = new HandClock(clock.time);
      if (number >= 0) {
        await body(number, folder, later, known);
        continue;
      }
      await live(folder, later, known, fsync);
      changes = disk.operations.length;
      assertAllKinds(disk.operations, folder);
    }
  });
}

/** Asserts that the disturbed operations include a compaction from its beginning to its end. */
function assertAllKinds(operations: readonly Operation[], folder: string): void {
  const kinds = new Set(
    operations.map(({ kind, path }) => `${kind} ${path === folder ? "folder" : basename(path).replace(/-\d+/, "")}`),
  );
  for (const kind of [
    "create journal",
    "write journal",
    "sync journal",
    "create snapshot.unfinished",
    "write snapshot.unfinished",
    "sync snapshot.unfinished",
    "rename snapshot",
    "sync folder",
    "remove journal",
    "remove snapshot",
  ]) {
    assert.ok(kinds.has(kind), `no disturbed operation is a ${kind}; there are: ${[...kinds].join(", ")}`);
  }
}

describe("the embedded store when its process ends at a change of the disk", () => {
  for (const fsync of [false, true]) {
    for (const fault of ["die", "die in the middle"] as const) {
      it(`has every answered run on record for each change: ${fault}${fsync ? ", with fsync" : ""}`, async () => {
        await atEachChange(fsync, async (number, folder, clock, ledger) => {
          disk.fault = (_, at) => (at === number ? fault : undefined);
          await live(folder, clock, ledger, fsync);
          disk.reset(folder);
          const store = await open(folder, clock, fsync);
          await check(store, ledger, `${fault} ${number}`, false);
          await store.close();
        });
      });
    }
  }
});

describe("the embedded store after a loss of power", () => {
  it("with fsync has every answered run on record, whatever unsynced data the disk has kept", async () => {
    let states = 0;
    await atEachChange(true, async (number, folder, clock, ledger) => {
      disk.fault = (_, at) => (at === number ? "die" : undefined);
      await live(folder, clock, ledger, true);
      const found = [...disk.afterPowerLoss()];
      for (const [at, files] of found.entries()) {
        const left = `${folder} left ${at}`;
        await mkdir(left);
        for (const [name, content] of files) await writeFile(join(left, name), content);
        disk.reset(left);
        const store = await open(left, clock, false).catch((error: unknown) => {
          throw new Error(`power lost at ${number}, state ${at}`, { cause: error });
        });
        await check(store, ledger, `power lost at ${number}, state ${at}`, false);
        await store.close();
        states++;
      }
    });
    assert.ok(states > (isLong ? 300 : 100), `only ${states} states`);
  });
});

describe("the embedded store on a disk that rejects changes", () => {
  const faults: Fault[] = ["ENOSPC", "EIO", "EROFS"].map((error) => ({ error }));
  for (const fsync of [false, true]) {
    for (const length of drawn("numbers of failures", [1, 5], 1)) {
      it(`counts exactly the answered runs after ${length} failures, then continues${fsync ? ", with fsync" : ""}`, async () => {
        await atEachChange(fsync, async (number, folder, clock, ledger) => {
          const what = `refused from ${number}`;
          const fault = faults[number % faults.length];
          disk.fault = (_, at) => (at >= number && at < number + length ? fault : undefined);
          const store = await openAgain(folder, clock, fsync);
          await work(store, clock, ledger);
          await check(store, ledger, what, true);
          disk.fault = () => undefined;
          for (const known of ledger.values()) known.perhaps = 0;
          const before = await newestSnapshot(folder);
          let rounds = 0;
          do await work(store, clock, ledger);
          while (++rounds < 10 && (await newestSnapshot(folder)) === before);
          assert.ok(rounds < 10, `${what}: never compacted again`);
          for (const [key, known] of ledger) assert.equal(known.perhaps, 0, `${what}: ${key} is refused forever`);
          await check(store, ledger, what, true);
          await store.close();
          disk.reset(folder);
          const again = await open(folder, clock, fsync);
          await check(again, ledger, `${what}, opened again`, true);
          await again.close();
        });
      });
    }
  }

  it("has every answered run on record after 3 failures and an end in the middle of a write", async () => {
    for (const later of [0, 1, 2]) {
      await atEachChange(false, async (number, folder, clock, ledger) => {
        let writes = 0;
        disk.fault = ({ kind, path }, at) => {
          if (at >= number && at < number + 3) return faults[number % faults.length];
          const isJournal = kind === "write" && basename(path).startsWith("journal");
          return at >= number && isJournal && writes++ === later ? "die in the middle" : undefined;
        };
        await live(folder, clock, ledger, false);
        disk.reset(folder);
        const store = await open(folder, clock, false);
        await check(store, ledger, `refused at ${number}, dead ${later} writes later`, false);
        await store.close();
      });
    }
  });

  it("has every answered run on record after lasting failures and an end", async () => {
    await atEachChange(false, async (number, folder, clock, ledger) => {
      disk.fault = (_, at) => (at >= number ? faults[number % faults.length] : undefined);
      await live(folder, clock, ledger, false);
      disk.reset(folder);
      const store = await open(folder, clock, false);
      await check(store, ledger, `refused for good from ${number}`, false);
      await store.close();
    });
  });
});
