import assert from "node:assert/strict";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { it } from "node:test";

import { DayFile } from "../../../src/records/days/day-file.ts";
import { omissionBounds } from "../../../src/records/days/day-store.ts";
import { Pending } from "../../../src/records/days/pending.ts";
import type { Omission } from "../../../src/records/days/thread-messages.ts";
import { BOUNDS } from "../bounds.ts";
import { newFolder } from "./kept-runs.ts";

/** Writes batches of omissions into a new file. @returns the counts of a family, by container */
async function countsOf(family: string, batches: Iterable<readonly Omission[]>): Promise<Record<string, number>> {
  const name = path.join(await newFolder(), "day.sqlite");
  const file = DayFile.open(name);
  for (const omissions of batches) {
    file.write(
      { day: 1, rows: [], omissions },
      { familyBytes: 0, fileBytes: 0, endMs: Infinity, omissions: omissionBounds(BOUNDS) },
    );
  }
  file.close();
  const database = new DatabaseSync(name, { readOnly: true });
  const rows = database.prepare("SELECT container, count FROM omitted WHERE family = ?").all(family);
  database.close();
  return Object.fromEntries(rows.map(({ container, count }) => [String(container), Number(count)]));
}

/** Returns omissions in more containers than a file lists of one family. */
function omissionsOf(family: string, round: number): Omission[] {
  return Array.from({ length: 1_050 }, (_, at) => [family, `${round}-${at}`, 1] as const);
}

it("a family that uses names without end does not fill the count of omissions for others", async () => {
  const loud = Array.from({ length: 25 }, (_, round) => omissionsOf("loud", round));
  const batches = [...loud, [["quiet", "q", 3] as const]];
  assert.deepEqual(await countsOf("quiet", batches), { q: 3 });
  const counts = await countsOf("loud", batches);
  assert.equal(Object.keys(counts).length, 1_001);
  assert.equal(
    Object.values(counts).reduce((sum, count) => sum + count, 0),
    25 * 1_050,
  );
});

it("families that fill the count of omissions leave each other family its total", async () => {
  const families = Array.from({ length: 25 }, (_, of) => omissionsOf(`f${of}`, 0));
  const quiet: Omission[] = [
    ["quiet", "q", 3],
    ["quiet", "r", 4],
  ];
  assert.deepEqual(await countsOf("quiet", [...families, quiet, quiet]), { "": 14 });
});

it("what waits for the writer counts each family, however many containers of others wait", () => {
  const pending = new Pending(BOUNDS.diskQueue);
  for (let of = 0; of < 40; of++) for (let at = 0; at < 300; at++) pending.omit(1, `f${of}`, `c${at}`);
  for (let at = 0; at < 3; at++) pending.omit(1, "quiet", "q");
  const { omissions } = pending.take()!;
  assert.ok(omissions.length < 5_000);
  assert.deepEqual(
    omissions.filter(([family]) => family === "quiet"),
    [["quiet", "", 3]],
  );
});
