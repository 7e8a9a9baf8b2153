import assert from "node:assert/strict";
import { it } from "node:test";

import { DayFolder } from "../../../src/records/days/day-folder.ts";
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
    for (const { run } of walk.runs()) runs.push(run);
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
