import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { cellBounds, UsageCells } from "../../../src/records/usage/cells.ts";
import { spansOf } from "../../../src/records/usage/read-parts.ts";
import { tidy, tidyBounds, type TidyBounds } from "../../../src/records/usage/tidy.ts";
import { UsageFile, usageFile } from "../../../src/records/usage/usage-file.ts";
import { readUsage } from "../../../src/records/usage/usage-reader.ts";
import { OTHER, type UsageRow } from "../../../src/records/usage/usage.ts";
import { BOUNDS } from "../bounds.ts";
import { runsIn, type UsageFolder, usageFolder } from "./folder.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** The start of a day. */
const START_MS = 20_000 * DAY_MS;

interface Counted {
  readonly atMs: number;
  readonly container: string;
  readonly family?: string;
}

let batches = 0;

function write(file: UsageFile, runs: readonly Counted[]): void {
  const cells = new UsageCells(cellBounds(BOUNDS));
  for (const { atMs, container, family = "f" } of runs) {
    cells.ended(cells.admitted({ container, task: null, token: "t", family }, atMs), "ok", 1, 1);
  }
  file.add(cells.take(Infinity)!, { process: "p", number: ++batches });
}

function open(folder: UsageFolder, nowMs: number = START_MS): UsageFile {
  return UsageFile.open(usageFile(folder.path), "p", nowMs);
}

function tidyAll(file: UsageFile, nowMs: number, bounds: Partial<TidyBounds> = {}): number {
  let steps = 1;
  while (tidy(file, nowMs, { ...tidyBounds(BOUNDS.usageRows), ...bounds })) steps++;
  return steps;
}

function rows(folder: UsageFolder, step: "hour" | "day", fromMs: number, toMs: number): readonly UsageRow[] {
  const query = { by: "container", step, fromMs, toMs, permitted: ["*"], others: "all" } as const;
  const found = readUsage(usageFile(folder.path), query);
  assert.ok("rows" in found);
  return found.rows;
}

function stored(file: UsageFile, table: string): number {
  return (file.connection.prepare(`SELECT COUNT(*) AS rows FROM ${table}`).get() as { rows: number }).rows;
}

describe("tidying the counts", () => {
  it("deletes minutes after two days in small steps, and their hours keep the sums", async () => {
    await using folder = await usageFolder();
    const file = open(folder);
    write(
      file,
      Array.from({ length: 600 }, (_, at) => ({ atMs: START_MS + at * 60_000, container: `c${at % 3}` })),
    );
    const later = START_MS + 2 * DAY_MS + 5 * HOUR_MS;
    assert.ok(tidyAll(file, later, { stepRows: 50 }) > 5);
    assert.equal(stored(file, "minutes"), 300);
    assert.equal(runsIn(rows(folder, "hour", START_MS, later)), 600);
    // An edge whose minutes are deleted is rounded to whole hours; another is exact.
    assert.equal(runsIn(rows(folder, "hour", START_MS + 30 * 60_000, START_MS + HOUR_MS)), 60);
    assert.equal(runsIn(rows(folder, "hour", START_MS + 6.5 * HOUR_MS, START_MS + 7 * HOUR_MS)), 30);
    file.close();
  });

  it("deletes hours after 13 months", async () => {
    await using folder = await usageFolder();
    const file = open(folder);
    for (let month = 0; month < 14; month++) write(file, [{ atMs: START_MS + month * 31 * DAY_MS, container: "c" }]);
    const nowMs = START_MS + 14 * 31 * DAY_MS;
    tidyAll(file, nowMs, { stepRows: 2 });
    assert.equal(runsIn(rows(folder, "day", 0, nowMs)), 12);
    file.close();
  });

  it("forgets minutes sooner if there are too many", async () => {
    await using folder = await usageFolder();
    const file = open(folder);
    for (let minute = 0; minute < 300; minute++) write(file, [{ atMs: START_MS + minute * 60_000, container: "c" }]);
    for (let round = 0; round < 10; round++) tidyAll(file, START_MS + 5 * HOUR_MS, { minuteRows: 100 });
    assert.ok(stored(file, "minutes") <= 100);
    assert.equal(runsIn(rows(folder, "hour", START_MS, START_MS + DAY_MS)), 300);
    file.close();
  });

  it("takes the names from the oldest hours of a family with too many rows, and from no other family", async () => {
    await using folder = await usageFolder();
    const file = open(folder);
    for (let hour = 0; hour < 20; hour++) {
      const atMs = START_MS + hour * HOUR_MS;
      write(
        file,
        Array.from({ length: 50 }, (_, at) => ({ atMs, container: `c${hour}-${at}`, family: "flood" })),
      );
      write(file, [{ atMs, container: "quiet", family: "quiet" }]);
    }
    for (let round = 0; round < 4; round++) tidyAll(file, START_MS + DAY_MS, { familyRows: 500, stepRows: 100 });
    const found = rows(folder, "hour", START_MS, START_MS + DAY_MS);
    const others = found.filter(({ container }) => container === OTHER);
    const flooded = found.filter(({ container }) => container !== "quiet");
    assert.equal(runsIn(found.filter(({ container }) => container === "quiet")), 20);
    assert.equal(runsIn(flooded), 1_000);
    assert.ok(flooded.length <= 500 && others.length > 5, `${flooded.length} rows, ${others.length} merged hours`);
    assert.deepEqual([others[0]?.from, others[0]?.runs], [new Date(START_MS).toISOString(), { ok: 50 }]);
    file.close();
  });
});

describe("the file", () => {
  it("counts a batch once that is sent twice", async () => {
    await using folder = await usageFolder();
    const file = open(folder);
    const cells = new UsageCells(cellBounds(BOUNDS));
    cells.admitted({ container: "c", task: null, token: null, family: "f" }, START_MS);
    const batch = cells.take(10)!;
    for (let sent = 0; sent < 2; sent++) file.add(batch, { process: "p", number: ++batches - sent });
    assert.equal(runsIn(rows(folder, "day", START_MS, START_MS + DAY_MS)), 1);
    file.close();
  });

  it("makes runs of an earlier process interrupted, but not those of this process", async () => {
    await using folder = await usageFolder();
    const name = usageFile(folder.path);
    const cells = new UsageCells(cellBounds(BOUNDS));
    cells.admitted({ container: "c", task: null, token: null, family: "f" }, START_MS);
    const first = UsageFile.open(name, "first", START_MS);
    first.add(cells.take(10)!, { process: "first", number: 1 });
    first.close();
    const counts = (): unknown => rows(folder, "day", START_MS, START_MS + DAY_MS).map(({ runs }) => runs);
    UsageFile.open(name, "first", START_MS).close();
    assert.deepEqual(counts(), [{ running: 1 }]);
    UsageFile.open(name, "second", START_MS).close();
    assert.deepEqual(counts(), [{ interrupted: 1 }]);
  });
});

const spans = (from: number, to: number, minutesFrom = 0): string[] =>
  spansOf({ fromMs: from * 60_000, toMs: to * 60_000 }, minutesFrom).map(
    ({ table, from: first, to: last }) => `${table} ${first}-${last}`,
  );

describe("the spans of a read", () => {
  it("are whole hours, and minutes at the edges", () => {
    assert.deepEqual(spans(0, 120), ["hours 0-120"]);
    assert.deepEqual(spans(10, 130), ["minutes 10-60", "hours 60-120", "minutes 120-130"]);
    assert.deepEqual(spans(10, 20), ["minutes 10-20"]);
    assert.deepEqual(spans(50, 70), ["minutes 50-70"]);
    assert.deepEqual(spans(60, 60), []);
  });

  it("are rounded to whole hours where the minutes are deleted", () => {
    assert.deepEqual(spans(10, 130, 60), ["hours 0-120", "minutes 120-130"]);
    assert.deepEqual(spans(10, 130, 180), ["hours 0-180"]);
    assert.deepEqual(spans(10, 20, 60), ["hours 0-60"]);
    assert.deepEqual(spans(50, 70, 60), ["hours 0-60", "minutes 60-70"]);
  });
});
