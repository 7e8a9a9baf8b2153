import assert from "node:assert/strict";
import { it } from "node:test";

import { DayFolder } from "../../../src/records/days/day-folder.ts";
import { RunReads } from "../../../src/records/days/run-reads.ts";
import { Walk } from "../../../src/records/days/walk.ts";
import { byNewest, type Cursor, type RunQuery } from "../../../src/records/query.ts";
import { addAll, ALL, DAY_MS, keptRun, openStore, thrown } from "./kept-runs.ts";

const NOW = Date.now();
const OPTIONS = { failedOnly: false, reader: null };

/** Follows the positions at which walks stop. @returns the runs in order, and the number of walks. */
function walkOn(
  folder: string,
  query: RunQuery,
  limits: { looks: number; ms: number },
): { runs: string[]; walks: number } {
  const runs: string[] = [];
  let after: Cursor | null = null;
  for (let walks = 1; ; walks++) {
    const walk: Walk = new Walk(new DayFolder(folder), { ...query, after }, OPTIONS, limits);
    for (const found of walk.runs()) if (found) runs.push(found.run);
    if (!walk.stoppedAt) return { runs, walks };
    after = walk.stoppedAt;
  }
}

it("a walk that is out of time or looks stops at a position after which another walk finds the rest", async () => {
  await using opened = await openStore();
  const all = Array.from({ length: 30 }, (_, at) =>
    keptRun({
      startedMs: NOW - (at % 4) * DAY_MS - (at % 2),
      container: `c${at % 3}`,
      ...(at % 5 === 0 ? thrown("x") : {}),
    }),
  );
  await addAll(opened.store, all);
  const ordered = all.map(({ startedMs, record }) => ({ startedMs, ...record })).toSorted(byNewest);
  for (const limits of [
    { looks: 1e9, ms: 0 },
    { looks: 1, ms: 1e9 },
    { looks: 7, ms: 1e9 },
  ]) {
    for (const permitted of [["*"], ["c1", "c2"], ["none"]]) {
      const { runs, walks } = walkOn(opened.folder, { ...ALL, permitted }, limits);
      const isPermitted = (name: string): boolean => permitted.includes("*") || permitted.includes(name);
      assert.deepEqual(
        runs,
        ordered.filter(({ container }) => isPermitted(container)).map(({ run }) => run),
      );
      assert.ok(permitted.includes("none") || walks > 1, `${walks} walk`);
    }
  }
});

it("a search waits after each of its steps, and finds the same with other reads in between", async () => {
  await using opened = await openStore();
  const all = Array.from({ length: 30 }, (_, at) =>
    keptRun({ startedMs: NOW - (at % 3) * DAY_MS, ...thrown(`x${at}`) }),
  );
  await addAll(opened.store, all);
  const list = { kind: "list", query: { ...ALL, text: "x1" }, reader: "family" } as const;
  const failures = { kind: "failures", query: ALL } as const;
  const short = { kind: "get", container: "acme", run: all[0]!.record.run } as const;
  const { folder } = opened;
  const [whole, stepped] = [new RunReads(Infinity), new RunReads(0)];
  for (const question of [list, failures]) {
    let steps = 0;
    let reply = stepped.fulfil({ folder, question });
    for (; "rest" in reply; steps++) {
      assert.ok("json" in stepped.fulfil({ folder, question: short }));
      reply = stepped.fulfil(reply);
    }
    assert.deepEqual(reply, whole.fulfil({ folder, question }));
    assert.ok(steps >= 29, `${steps} steps`);
  }
  assert.throws(() => stepped.fulfil({ rest: "lost" }), /is lost/);
});
