import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { describe, it } from "node:test";

import { Problem } from "../../src/errors.ts";
import type { EndedRun } from "../../src/records/ended-run.ts";
import { byNewest, type Cursor, type RunQuery } from "../../src/records/query.ts";
import type { RunStatus } from "../../src/records/record.ts";
import { type RunPage, Records } from "../../src/records/records.ts";
import { until } from "../contract/until.ts";
import { seeded } from "../seeded.ts";
import { problemOf } from "../tokens/support.ts";
import { BOUNDS } from "./bounds.ts";
import { openStore } from "./days/kept-runs.ts";
import { MemoryRecordStore } from "./memory-store.ts";
import { runOf } from "./run-of.ts";

const MIB = 2 ** 20;

function query(changes: Partial<RunQuery> = {}): RunQuery {
  const filters = { container: null, task: null, statuses: null, sinceMs: null, untilMs: null, text: null };
  return { permitted: ["*"], ...filters, after: null, count: 100, ...changes };
}

interface Opened {
  readonly records: Records;
  readonly store: MemoryRecordStore;
  readonly running: EndedRun[];
}

function open(recentBytes: number = 64 * MIB): Opened {
  const store = new MemoryRecordStore();
  const running: EndedRun[] = [];
  const runningOf = (container: string | null): EndedRun[] => {
    return running.filter((run) => container === null || run.container === container);
  };
  return {
    records: new Records({ store, bounds: { ...BOUNDS, recentRuns: recentBytes }, running: runningOf }),
    store,
    running,
  };
}

function ids({ runs }: RunPage): string[] {
  return runs.map(({ run }) => run);
}

/** Reads all pages. Fails if a run is in two of them, or if a page is too long. */
async function allPages(records: Records, asked: RunQuery): Promise<string[]> {
  const seen: string[] = [];
  let after: Cursor | null = null;
  do {
    const page: RunPage = await records.list({ ...asked, after }, "reader");
    assert.ok(page.runs.length <= asked.count);
    seen.push(...ids(page));
    after = page.next;
  } while (after !== null);
  assert.equal(new Set(seen).size, seen.length);
  return seen;
}

const STATUSES: readonly RunStatus[] = ["ok", "threw", "timeout"];

function hasNeedle({ record }: { record: object }): boolean {
  return JSON.stringify(record).toLowerCase().includes("needle");
}

function position(line: number): object {
  return { at: { file: "task.js", line, column: 1, frame: "x" } };
}

describe("what is written to the store", () => {
  it("is every failed run, every run that printed, and one silent success of a container and second", (t) => {
    t.mock.timers.enable({ apis: ["Date"], now: 5_000 });
    const { records, store } = open();
    const loud = [runOf({ printed: ["hi"] }), runOf({ status: "threw" }), runOf({ status: "cancelled" })];
    const silent = [runOf(), runOf(), runOf({ container: "other" })];
    for (const run of [...silent, ...loud]) records.ended(run);
    t.mock.timers.setTime(5_999);
    records.ended(runOf());
    t.mock.timers.setTime(6_000);
    const later = runOf();
    records.ended(later);
    assert.deepEqual(
      store.added.map(({ record }) => record.run),
      [silent[0]!, silent[2]!, ...loud, later].map(({ run }) => run),
    );
  });
});

describe("a list of runs", () => {
  it("has each run in flight, in memory and on disk once, the newest start first", async () => {
    const { records, store, running } = open(20_000);
    const runs = Array.from({ length: 60 }, (_, at) => runOf({ printed: ["x"], startedMs: 1_000 + (at % 20) }));
    for (const run of runs) records.ended(run);
    running.push(runOf({ status: "running", startedMs: 1_005 }), runOf({ status: "running", startedMs: 5_000 }));
    // A run that ended after the list of runs in flight was made.
    running.push(runs.at(-1)!);
    assert.equal(store.added.length, 60);
    const expected = [...runs, ...running.slice(0, 2)]
      .toSorted((a, b) => b.startedMs - a.startedMs || (a.run < b.run ? 1 : -1))
      .map(({ run }) => run);
    for (const count of [1, 7, 62, 1_000]) assert.deepEqual(await allPages(records, query({ count })), expected);
  });

  it("shows runs that the disk does not have, and goes on at the place where the search of the disk stopped", async () => {
    const { records, store } = open();
    const silent = Array.from({ length: 10 }, (_, at) => runOf({ startedMs: 1_000 + 10 * at }));
    const stored = Array.from({ length: 10 }, (_, at) => runOf({ startedMs: 1_005 + 10 * at, status: "threw" }));
    for (const run of silent) records.ended(run);
    store.added.length = 0;
    for (const run of stored) store.add(run.kept());
    store.mostLooked = 3;
    const expected = [...silent, ...stored].toSorted((a, b) => b.startedMs - a.startedMs).map(({ run }) => run);
    for (const count of [2, 4, 100]) assert.deepEqual(await allPages(records, query({ count })), expected);
    const rare = await allPages(records, query({ statuses: ["memory"] }));
    assert.deepEqual(rare, []);
  });

  it("has the status of the end for a run that is in flight, in memory and on disk", async () => {
    const { records, running } = open();
    const run = runOf({ status: "threw" });
    running.push({ ...run, status: "running" });
    records.ended(run);
    const page = await records.list(query(), "reader");
    assert.deepEqual(
      page.runs.map(({ entry }) => entry().status),
      ["threw"],
    );
  });

  it("has only the runs that every filter selects, from memory as from disk", async () => {
    const { records, store, running } = open();
    const runs = Array.from({ length: 90 }, (_, at) =>
      runOf({
        ...{ container: `c${at % 4}`, task: at % 2 ? "job" : null, status: STATUSES[at % 3]!, startedMs: 10_000 + at },
        printed: at % 5 === 0 ? ["Found the NEEDLE here"] : [],
        error: { message: at % 7 === 0 ? "a needle, too" : "hay" },
      }),
    );
    for (const run of runs) records.ended(run);
    running.push(runOf({ container: "c1", status: "running", startedMs: 10_050 }));
    const all = [...runs, ...running];
    const cases: readonly [Partial<RunQuery>, (run: ReturnType<typeof runOf>) => boolean][] = [
      [{}, () => true],
      [{ container: "c1" }, ({ container }) => container === "c1"],
      [{ permitted: ["c1", "c3*"] }, ({ container }) => ["c1", "c3"].includes(container)],
      [{ permitted: ["c1"], container: "c2" }, () => false],
      [{ permitted: [] }, () => false],
      [{ task: "job" }, ({ record }) => record.task === "job"],
      [{ statuses: ["threw", "running"] }, (run) => ["threw", "running"].includes(run.status)],
      [{ sinceMs: 10_020, untilMs: 10_050 }, ({ startedMs }) => startedMs >= 10_020 && startedMs < 10_050],
      [{ text: "Needle" }, hasNeedle],
      [{ text: "needle", task: "job", container: "c1" }, (run) => hasNeedle(run) && run.container === "c1"],
    ];
    const memoryOnly = new Records({
      store: null,
      bounds: { ...BOUNDS, recentRuns: 64 * MIB },
      running: () => running,
    });
    for (const run of runs) memoryOnly.ended(run);
    store.added.length = 0;
    for (const run of runs) store.add(run.kept());
    const diskOnly = new Records({ store, bounds: { ...BOUNDS, recentRuns: 0 }, running: () => running });
    for (const [changes, selects] of cases) {
      const expected = all
        .filter((run) => selects(run as ReturnType<typeof runOf>))
        .map(({ run }) => run)
        .toSorted();
      for (const each of [records, memoryOnly, diskOnly]) {
        const seen = await allPages(each, query({ ...changes, count: 5 }));
        assert.deepEqual(seen.toSorted(), expected, JSON.stringify(changes));
      }
    }
  });

  it("has entries without console, stack, frame and input", async () => {
    const { records } = open();
    records.ended(runOf({ status: "threw", printed: ["hidden"], input: "hidden" }));
    const { runs } = await records.list(query(), "reader");
    const text = JSON.stringify(runs[0]!.entry());
    assert.match(text, /it failed/);
    assert.doesNotMatch(text, /hidden|at run|throw new Error/);
  });

  it("has the runs that were left out of the store as a count", async () => {
    const { records, store } = open();
    store.omitted = 7;
    assert.equal((await records.list(query(), "reader")).omitted, 7);
  });

  it("finds a run among ten thousand containers, and gives other work a turn", async () => {
    const { records } = open();
    for (let at = 0; at < 10_000; at++) records.ended(runOf({ container: `c${at}`, startedMs: at }));
    let turns = 0;
    const counting = setInterval(() => turns++, 0);
    const page = await records.list(query({ task: "none", count: 10 }), "reader");
    clearInterval(counting);
    assert.deepEqual(page.runs, []);
    assert.ok(turns > 0);
    assert.deepEqual((await records.list(query({ count: 1 }), "reader")).runs[0]!.startedMs, 9_999);
  });
});

describe("the records in memory and on disk together", () => {
  it("are one list and one set of failures, whatever part of them each has", async (t) => {
    const random = seeded();
    const { seed } = random;
    await using opened = await openStore();
    const { store } = opened;
    t.after(() => rm(opened.folder, { recursive: true, force: true }));
    const startMs = Date.now();
    const runs = Array.from({ length: 400 }, () =>
      runOf({
        container: `c${random.below(3)}`,
        status: STATUSES[random.below(3)]!,
        startedMs: startMs - random.below(300),
        task: random.below(2) ? "job" : null,
        printed: random.below(3) ? [] : ["a line"],
        error: { name: `Error${random.below(3)}`, message: `message ${random.below(3)}` },
      }),
    );
    const records = new Records({ store, bounds: { ...BOUNDS, recentRuns: 30_000 }, running: () => [] });
    for (const run of runs) records.ended(run);
    const { run: last, container } = runs.findLast(({ isSilent }) => !isSilent)!;
    await until(async () => (await store.get(container, last, "reader")) !== null, "the last run is stored");
    for (const run of runs.slice(0, 40)) records.ended(run);
    const known = new Set([...(await allPages(records, query({ count: 1_000 })))]);
    for (const { run, isSilent } of runs) assert.ok(isSilent || known.has(run), seed);
    const inOrder = runs.filter(({ run }) => known.has(run)).toSorted(byNewest);
    for (const count of [3, 50]) {
      assert.deepEqual(
        await allPages(records, query({ count })),
        inOrder.map(({ run }) => run),
        seed,
      );
    }
    const ofJob = inOrder.filter(({ container: name, record }) => name === "c1" && record.task === "job");
    assert.deepEqual(
      await allPages(records, query({ container: "c1", task: "job", count: 4 })),
      ofJob.map(({ run }) => run),
      seed,
    );
    const needles = inOrder.filter(({ record }) => /message 1|a line/.test(JSON.stringify(record)));
    const seen = new Set([
      ...(await allPages(records, query({ text: "MESSAGE 1" }))),
      ...(await allPages(records, query({ text: "A Line" }))),
    ]);
    assert.deepEqual([...seen].toSorted(), needles.map(({ run }) => run).toSorted(), seed);
    const { groups, complete } = await records.failures(query(), "reader");
    const failed = runs.filter(({ status }) => status !== "ok").length;
    assert.deepEqual([groups.reduce((sum, { count }) => sum + count, 0), complete], [failed, true], seed);
  });
});

describe("a store that fails", () => {
  it("costs history: the answer comes from memory and reports that", async () => {
    const { records, store } = open();
    const run = runOf({ status: "threw" });
    records.ended(run);
    assert.equal((await records.list(query(), "reader")).history, "kept");
    store.failure = new Error("the disk is gone");
    const page = await records.list(query(), "reader");
    assert.deepEqual([ids(page), page.next, page.history], [[run.run], null, "unavailable"]);
    assert.equal((await records.get("demo", run.run, "reader"))!.record, run.record);
    assert.equal(await records.get("demo", "00000000cafe-zzz", "reader"), null);
    const { groups, complete, history } = await records.failures(query(), "reader");
    assert.deepEqual([groups.length, complete, history], [1, false, "unavailable"]);
  });

  it("passes on the problem of a reader that reads too much", async () => {
    const { records, store } = open();
    store.failure = new Problem("container_busy", "one read at a time");
    assert.equal((await problemOf(() => records.list(query(), "reader"))).code, "container_busy");
  });

  it("does not matter if no records are kept on disk", async () => {
    const records = new Records({ store: null, bounds: { ...BOUNDS, recentRuns: MIB }, running: () => [] });
    const runs = Array.from({ length: 5 }, (_, at) => runOf({ startedMs: at }));
    for (const run of runs) records.ended(run);
    const page = await records.list(query({ count: 3 }), "reader");
    assert.deepEqual([ids(page).length, page.next, page.history], [3, { startedMs: 2, run: runs[2]!.run }, "off"]);
    assert.equal((await allPages(records, query({ count: 3 }))).length, 5);
  });
});

describe("one run", () => {
  it("is found in flight, in memory, and on disk", async () => {
    const { records, store, running } = open();
    const [flying, recent, stored] = [runOf({ status: "running" }), runOf(), runOf({ printed: ["old"] })];
    running.push(flying);
    records.ended(recent);
    store.add(stored.kept());
    for (const run of [flying, recent, stored]) {
      assert.equal((await records.get("demo", run.run, "reader"))!.record, run.record);
      assert.equal(await records.get("other", run.run, "reader"), null);
    }
  });

  it("is found between its end and the time when its record is complete", async () => {
    const { records } = open();
    const run = runOf({ status: "cancelled" });
    const complete = Promise.withResolvers<void>();
    records.endedWhen(complete.promise, run);
    assert.equal(await records.get("other", run.run, "reader"), null);
    const found = records.get("demo", run.run, "reader");
    assert.deepEqual(ids(await records.list(query(), "reader")), [run.run]);
    assert.deepEqual(ids(await records.list(query({ statuses: ["running"] }), "reader")), []);
    complete.resolve();
    assert.equal((await found)!.record, run.record);
    assert.deepEqual(ids(await records.list(query(), "reader")), [run.run]);
  });

  it("comes from disk if the memory has lost its lines, and otherwise from memory without them", async () => {
    const { records, store } = open();
    const large = runOf({ printed: ["x".repeat(60_000)] });
    records.ended(large);
    records.ended(runOf({ printed: ["y".repeat(60_000)] }));
    assert.deepEqual((await records.get("demo", large.run, "reader"))!.record, large.record);
    store.failure = new Error("the disk is gone");
    const { record } = (await records.get("demo", large.run, "reader"))!;
    assert.deepEqual([record.console, record.dropped], [[], { lines: 1, bytes: 60_000 }]);
  });
});

describe("failures", () => {
  it("are grouped by container, task, code, name and position, the latest first", async () => {
    const { records } = open();
    const fail = (startedMs: number, error: object, more: object = {}): EndedRun => {
      const run = runOf({ status: "threw", startedMs, error, ...more });
      records.ended(run);
      return run;
    };
    fail(1_000, position(1));
    fail(2_000, position(2));
    const last = fail(4_000, { ...position(1), message: "the latest message" });
    fail(3_000, position(1));
    fail(5_000, { ...position(1), name: "TypeError" });
    fail(6_000, position(1), { task: "job" });
    for (const status of ["ok", "cancelled", "interrupted"] as const) records.ended(runOf({ status }));
    const { groups } = await records.failures(query(), "reader");
    assert.deepEqual(
      groups.map(({ task, name, frame, count }) => [task, name, frame, count]),
      [
        ["job", "Error", "task.js:1", 1],
        [null, "TypeError", "task.js:1", 1],
        [null, "Error", "task.js:1", 3],
        [null, "Error", "task.js:2", 1],
      ],
    );
    const { firstAt, lastAt, run, message } = groups[2]!;
    assert.deepEqual(
      [firstAt, lastAt, run, message],
      [new Date(1_000).toISOString(), new Date(4_000).toISOString(), last.run, "the latest message"],
    );
    const since = await records.failures(query({ sinceMs: 5_500 }), "reader");
    assert.deepEqual([since.groups.length, since.groups[0]!.task], [1, "job"]);
  });

  it("count each run once that is on disk, in memory, or both", async () => {
    const { records, store } = open(10_000);
    for (let at = 0; at < 100; at++) records.ended(runOf({ status: "threw", startedMs: 1_000 + at }));
    const [all] = (await records.failures(query(), "reader")).groups;
    assert.equal(all!.count, 100);
    // The store has left out the latest runs.
    store.added.length = 95;
    const { groups, complete, history } = await records.failures(query(), "reader");
    assert.deepEqual([groups[0]!.count, complete, history], [100, true, "kept"]);
  });

  it("have a thousand groups at most", async () => {
    const { records } = open();
    for (let at = 0; at < 1_200; at++) {
      records.ended(runOf({ status: "threw", container: `c${at % 12}`, error: { name: `Error${at}` } }));
    }
    const memoryOnly = new Records({ store: null, bounds: { ...BOUNDS, recentRuns: 64 * MIB }, running: () => [] });
    for (let at = 0; at < 1_200; at++) {
      memoryOnly.ended(runOf({ status: "threw", container: `c${at % 12}`, error: { name: `Error${at}` } }));
    }
    for (const each of [records, memoryOnly]) {
      const { groups, complete } = await each.failures(query(), "reader");
      assert.deepEqual([groups.length <= 1_000, complete], [true, false]);
    }
  });
});
