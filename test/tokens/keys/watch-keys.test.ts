import assert from "node:assert/strict";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { KeyRing } from "../../../src/tokens/keys/key-ring.ts";
import { rotateKeys } from "../../../src/tokens/keys/key-rotation.ts";
import { watchKeys } from "../../../src/tokens/keys/watch-keys.ts";
import { until } from "../../contract/until.ts";
import { START_S, temporaryFolder } from "../support.ts";

const nowMs = (): number => START_S * 1_000;

interface Watched {
  readonly file: string;
  changes: number;
  settled: number;
  readonly faults: string[];
  /** The fault that `settle` throws, or null. */
  fault: Error | null;
}

async function watched(t: TestContext): Promise<Watched> {
  const file = join(await temporaryFolder(t), "keys.json");
  const ring = await KeyRing.open(file, { create: true, nowMs });
  const seen: Watched = { file, changes: 0, settled: 0, faults: [], fault: null };
  const watch = watchKeys(
    ring,
    null,
    {
      changed: () => void seen.changes++,
      settle: async () => {
        if (seen.fault) throw seen.fault;
        seen.settled++;
      },
      unsettled: (error) => void seen.faults.push(error.message),
      failed: assert.fail,
    },
    nowMs,
  );
  t.after(() => watch.stop());
  return seen;
}

test("everything that depends on the keys is updated after a change, and retried while a store is unavailable", async (t) => {
  const seen = await watched(t);
  seen.fault = new Error("the store is away");
  await rotateKeys(seen.file, nowMs());
  await until(() => seen.faults.length === 1, "the fault is reported");
  assert.deepEqual([seen.changes, seen.settled], [1, 0]);
  seen.fault = null;
  await until(() => seen.settled === 1, "it is put right");
  assert.deepEqual([seen.changes, seen.faults], [1, ["the store is away"]]);
});
