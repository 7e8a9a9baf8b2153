/**
 * Measures the memory of the counts in a separate process that can force a garbage collection. It prints one line of JSON.
 *
 *   node --expose-gc bench/limits/memory.ts
 */
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { CellLog } from "../../src/limits/cell-log.ts";
import { decide } from "../../src/limits/decide.ts";
import type { Charge } from "../../src/limits/store.ts";
import { EmbeddedLimitStore } from "../../src/limits/stores/embedded.ts";
import { LONGEST_MS, limitVector } from "../../src/limits/windows.ts";

const KEYS = 1_000_000;
const AT_ONCE = 1_000;
const DAY_MS = 86_400_000;
const BUSY = 20;
const BUSY_RUNS = 1_000_000;
const DECISIONS = 1_000_000;
const limits = limitVector({ second: 1e9, minute: 1e9, hour: 1e9, day: 1e9, week: 1e9, month: 1e9 });

export interface MemoryFigures {
  /** The maximum memory of the process with this number of keys, minus its memory before them, in bytes. */
  readonly keys: number;
  readonly keysBytes: number;
  /** The number of keys that are left after their windows have passed and the same number of decisions about another key. */
  readonly keysLeft: number;
  /** The used heap then, minus the used heap before. V8 returns the rest to the system at any time. */
  readonly bytesLeft: number;
  /** The bytes of one key that is used a million times a day, evenly. */
  readonly busyBytes: number;
  /** The time of one decision about all windows of two such keys, with its charges, in microseconds. */
  readonly decisionUs: number;
}

const figures: MemoryFigures = { ...(await manyKeys()), ...busyKeys() };
console.log(JSON.stringify(figures));

async function manyKeys(): Promise<Pick<MemoryFigures, "keys" | "keysBytes" | "keysLeft" | "bytesLeft">> {
  await using folder = await mkdtempDisposable(path.join(tmpdir(), "caisson-memory-"));
  let now = Date.now();
  const store = await EmbeddedLimitStore.open(folder.path, { fsync: false, clock: { now: () => now } });
  const admit = async (runs: number, key: (run: number) => string): Promise<void> => {
    for (let run = 0; run < runs; run += AT_ONCE) {
      const some = Array.from({ length: AT_ONCE }, (_, at) => {
        return store.admit([{ key: key(run + at), class: "token", limits }]);
      });
      await Promise.all(some);
    }
  };
  const before = { heap: heap(), resident: process.memoryUsage().rss };
  // As long as the names of tokens.
  await admit(KEYS, (run) => `t:${String(run).padStart(36, "0")}`);
  const keysBytes = process.resourceUsage().maxRSS * 1_024 - before.resident;
  const keys = store.size;
  now += LONGEST_MS;
  await admit(KEYS, () => "t:another");
  const bytesLeft = heap() - before.heap;
  const keysLeft = store.size;
  await store.close();
  return { keys, keysBytes, keysLeft, bytesLeft };
}

function busyKeys(): Pick<MemoryFigures, "busyBytes" | "decisionUs"> {
  const before = heap();
  const start = Date.now();
  const logs = Array.from({ length: BUSY }, () => new CellLog());
  for (const log of logs) {
    for (let run = 0; run < BUSY_RUNS; run++) log.charge(start + Math.floor((run * DAY_MS) / BUSY_RUNS));
  }
  const busyBytes = (heap() - before) / BUSY;
  const charges: Charge[] = (["container", "token"] as const).map((kind) => ({ key: kind, class: kind, limits }));
  const two = logs.slice(0, 2);
  const startedMs = performance.now();
  for (let run = 0; run < DECISIONS; run++) {
    const now = start + DAY_MS + Math.floor(run / 50);
    if (decide(charges, two, now).admitted) for (const log of two) log.charge(now);
  }
  return { busyBytes, decisionUs: (1_000 * (performance.now() - startedMs)) / DECISIONS };
}

function heap(): number {
  gc!();
  return process.memoryUsage().heapUsed;
}
