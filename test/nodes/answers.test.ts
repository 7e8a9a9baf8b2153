import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { PROBLEMS } from "../../src/error-codes.ts";
import { auditPages } from "../../src/nodes/answers/audit.ts";
import { failureGroups } from "../../src/nodes/answers/failures.ts";
import type { AnswerKind } from "../../src/nodes/answers/kind.ts";
import { RecordReader, writeRecord } from "../../src/nodes/answers/run.ts";
import { runPages } from "../../src/nodes/answers/runs.ts";
import { fitUsage, usageRows } from "../../src/nodes/answers/usage.ts";
import { type AuditCursor, type AuditQuery, parseAuditCursor } from "../../src/records/audit/audit.ts";
import { byNewest, type Cursor, type RunQuery } from "../../src/records/query.ts";
import type { Failures, History, RunPage } from "../../src/records/records.ts";
import type { FailureGroup } from "../../src/records/store.ts";
import type { UsageAnswer, UsageRow } from "../../src/records/usage/usage.ts";
import { BOUNDS } from "../records/bounds.ts";
import { runOf } from "../records/run-of.ts";
import { seeded } from "../seeded.ts";

const QUERY: RunQuery = {
  ...{ permitted: ["*"], container: null, task: null, statuses: null, sinceMs: null, untilMs: null },
  ...{ text: null, after: null, count: 3 },
};
const AUDIT: AuditQuery = { sinceMs: null, untilMs: null, action: null, by: null, after: null, count: 3 };

/** Passes the part of a node through the lines that it sends. */
async function sent<T>(kind: AnswerKind<T>, part: T): Promise<T> {
  const text = await kind.write(part, "family");
  const reader = kind.newReader();
  for (const line of text.split("\n").slice(0, -1)) reader.line(JSON.parse(line));
  return reader.end();
}

/** Merges the parts of nodes, all but the first as another node reads them. */
async function merged<T>(kind: AnswerKind<T>, [own, ...others]: readonly T[]): Promise<T> {
  return kind.merge([own!, ...(await Promise.all(others.map((part) => sent(kind, part))))], "family");
}

type Run = ReturnType<typeof runOf> & { readonly isSelected: boolean };

/** Returns the page of a node that looks at a few runs. So it may stop before the page is full, also without any run. */
function pageOf(runs: readonly Run[], { after, count }: RunQuery, looked: number): RunPage {
  const rest = runs.filter((run) => after === null || byNewest(after, run) < 0);
  const page: Run[] = [];
  let last: Run | null = null;
  for (const run of rest.slice(0, looked)) {
    if (page.length === count) break;
    last = run;
    if (run.isSelected) page.push(run);
  }
  return {
    runs: page.map(({ run, startedMs, record }) => ({ run, startedMs, entry: () => record })),
    next: last && last !== rest.at(-1) ? { startedMs: last.startedMs, run: last.run } : null,
    ...{ omitted: 1, history: "kept" },
  };
}

const emptyPage = (history: History): RunPage => ({ runs: [], next: null, omitted: 0, history });

describe("merged lists of runs", () => {
  it("have each run of each node once, in order, whatever the pages of the nodes are", async () => {
    const random = seeded();
    for (let round = 0; round < 60; round++) {
      const nodes = Array.from({ length: 1 + random.below(3) }, () => {
        // Few different times, so that runs of several nodes begin in the same millisecond. Only a part is selected.
        const runs = Array.from({ length: random.below(14) }, () => runOf({ startedMs: 1_000 + random.below(6) }));
        return runs.map((run) => ({ ...run, isSelected: random.below(2) === 0 })).toSorted(byNewest);
      });
      const count = 1 + random.below(4);
      const seen: string[] = [];
      let after: Cursor | null = null;
      for (let pages = 0; ; pages++) {
        assert.ok(pages < 200, `the walk ends (SEED=${random.seed})`);
        const query: RunQuery = { ...QUERY, count, after };
        const page = await merged(
          runPages(query),
          nodes.map((runs) => pageOf(runs, query, 1 + random.below(6))),
        );
        assert.equal(page.omitted, nodes.length);
        assert.ok(page.runs.length <= count);
        seen.push(...page.runs.map(({ run }) => run));
        if (page.next === null) break;
        after = { startedMs: page.next.startedMs, run: page.next.run };
      }
      const expected = nodes.flat().toSorted(byNewest);
      assert.deepEqual(
        seen,
        expected.filter(({ isSelected }) => isSelected).map(({ run }) => run),
        `SEED=${random.seed}`,
      );
    }
  });

  it("say which history all nodes have", async () => {
    const kind = runPages(QUERY);
    assert.equal((await merged(kind, [emptyPage("kept"), emptyPage("kept")])).history, "kept");
    assert.equal((await merged(kind, [emptyPage("off"), emptyPage("kept")])).history, "off");
    assert.equal(
      (await merged(kind, [emptyPage("kept"), emptyPage("unavailable"), emptyPage("off")])).history,
      "unavailable",
    );
  });

  it("are cut on a node whose entries are large, and continue there", async () => {
    const runs = Array.from({ length: 100 }, (_, at) =>
      runOf({ startedMs: 5_000 - at, record: { hint: "x".repeat(60_000) } }),
    );
    const listed = runs.map((run) => ({ run: run.run, startedMs: run.startedMs, entry: () => run.record }));
    const kind = runPages({ ...QUERY, count: 100 });
    const page = await sent(kind, { runs: listed, next: null, omitted: 0, history: "kept" });
    assert.ok(page.runs.length > 30 && page.runs.length < 50, String(page.runs.length));
    assert.deepEqual(page.next?.run, page.runs.at(-1)!.run);
  });

  it("reject a page that does not come after the cursor, which would make a walk endless", () => {
    const after = { startedMs: 1_000, run: "00000000cafe-5" };
    const kind = runPages({ ...QUERY, after });
    const end = { omitted: 0, history: "kept" };
    for (const next of ["1000.00000000cafe-5", "1001.00000000cafe-1"]) {
      assert.throws(() => kind.newReader().line({ ...end, next }), next);
    }
    assert.throws(() => kind.newReader().line([1_001, { run: "00000000cafe-6", container: "demo" }]));
    kind.newReader().line({ ...end, next: "999.00000000cafe-5" });
  });
});

describe("merged pages of the audit", () => {
  it("have each entry of each node once, also if two nodes give entries of one time the same number", async () => {
    const random = seeded();
    for (let round = 0; round < 60; round++) {
      const nodes = Array.from({ length: 1 + random.below(3) }, (_, node) => {
        const times = Array.from({ length: random.below(10) }, () => 1_000 + random.below(4)).toSorted((a, b) => a - b);
        return times.map((atMs, id) => ({ atMs, id, name: `${node}-${id}` })).toReversed();
      });
      const seen: string[] = [];
      let after: AuditCursor | null = null;
      const count = 1 + random.below(3);
      for (let pages = 0; ; pages++) {
        assert.ok(pages < 200, `the walk ends (SEED=${random.seed})`);
        const parts = nodes.map((entries) => {
          const rest = entries.filter(
            ({ atMs, id }) => !after || atMs < after.atMs || (atMs === after.atMs && id < after.id),
          );
          const page = rest.slice(0, count);
          const last = page.at(-1);
          return {
            entries: page.map(({ atMs, name }) => {
              return { at: new Date(atMs).toISOString(), action: name, by: null, client: null, details: {} };
            }),
            ids: page.map(({ id }) => id),
            next: last && page.length < rest.length ? `${last.atMs}.${last.id}` : null,
          };
        });
        const page = await merged(auditPages({ ...AUDIT, after, count }), parts);
        seen.push(...page.entries.map(({ action }) => action));
        if (page.next === null) break;
        after = parseAuditCursor(page.next);
      }
      const all = nodes.flat().map(({ name }) => name);
      assert.deepEqual(seen.toSorted(), all.toSorted(), `SEED=${random.seed}`);
    }
  });
});

const group = (changes: Partial<FailureGroup>): FailureGroup => ({
  ...{ container: "demo", task: null, code: "task_threw", name: "Error", frame: "task.js:1", message: "first" },
  ...{ count: 1, firstAt: "2026-11-23T10:00:00.000Z", lastAt: "2026-11-23T10:00:00.000Z", run: "00000000cafe-1" },
  ...changes,
});

const failuresFrom = (from: number, complete: boolean): Failures => ({
  groups: Array.from({ length: 700 }, (_, at) => group({ name: `E${from + at}` })),
  ...{ complete, next: null, history: "kept" },
});

describe("merged failures", () => {
  it("are one group for each cause, with the run and the message of the latest failure", async () => {
    const later = { lastAt: "2026-11-23T11:00:00.000Z", message: "last", run: "00000000cafe-2" };
    const first = {
      groups: [group({ count: 3 }), group({ name: "TypeError" })],
      ...{ complete: true, next: null, history: "kept" as const },
    };
    const second = { groups: [group({ ...later, count: 4 })], complete: true, next: null, history: "kept" as const };
    const { groups, complete } = await merged(failureGroups(QUERY), [first, second]);
    assert.deepEqual(groups, [group({ ...later, count: 7 }), group({ name: "TypeError" })]);
    assert.equal(complete, true);
  });

  it("are not complete if one part is not, or if there are too many causes", async () => {
    const kind = failureGroups(QUERY);
    assert.equal((await merged(kind, [failuresFrom(0, true), failuresFrom(0, true)])).complete, true);
    assert.equal((await merged(kind, [failuresFrom(0, true), failuresFrom(0, false)])).complete, false);
    const { groups, complete } = await merged(kind, [failuresFrom(0, true), failuresFrom(700, true)]);
    assert.deepEqual([groups.length, complete], [1_000, false]);
  });

  it("end where the first node has ended, and reject an end before the cursor", async () => {
    const ended = (startedMs: number): Failures => ({
      ...failuresFrom(0, false),
      next: { startedMs, run: "00000000cafe-1" },
    });
    const kind = failureGroups(QUERY);
    assert.equal((await merged(kind, [ended(5), failuresFrom(0, true), ended(9)])).next?.startedMs, 9);
    const after = { startedMs: 7, run: "00000000cafe-1" };
    const end = { complete: false, history: "kept", next: "7.00000000cafe-1" };
    assert.throws(() =>
      failureGroups({ ...QUERY, after })
        .newReader()
        .line(end),
    );
  });
});

const row = (changes: Partial<UsageRow>): UsageRow => ({
  ...{ container: "demo", from: "2026-11-23T10:00:00.000Z", runs: { ok: 1 }, refused: {}, durations: { "10": 1 } },
  ...{ cpuMs: 0.1, runMs: 0.2, egressBytes: 5 },
  ...changes,
});

const counted = (names: readonly string[]): UsageRow["refused"] => Object.fromEntries(names.map((name) => [name, 1]));

const requestsOf = (rows: readonly UsageRow[]): number => rows.reduce((sum, { runs }) => sum + runs["ok"]!, 0);

const whole = (rows: UsageRow[]): UsageAnswer => ({ rows, isTruncated: false });

const tasksOf = (prefix: string, runs: number[]): UsageAnswer =>
  whole(runs.map((ok, at) => row({ task: `${prefix}${at}`, runs: { ok } })));

describe("usage in an answer", () => {
  const long = "x".repeat(128);
  const wide = Array.from({ length: 10_000 }, (_, at) => {
    const task = `${long.slice(5)}${String(at).padStart(5, "0")}`;
    return row({ container: long, task, runs: { ok: at }, refused: counted(Object.keys(PROBLEMS)) });
  });
  it("of a node is small enough for the node that asks, which reads several at once, and its sums stay exact", async () => {
    const kind = usageRows({ by: "task" });
    const text = await kind.write(whole(wide), "family");
    assert.ok(text.length <= 6 * 2 ** 20, `${text.length} bytes`);
    const { rows, isTruncated } = await sent(kind, whole(wide));
    assert.deepEqual([isTruncated, rows[0]!.container, requestsOf(rows)], [true, "(other)", requestsOf(wide)]);
    // The names with the most requests stay.
    assert.equal(rows.at(-1)!.task, wide.at(-1)!.task);
  });

  it("for a client has a bounded number of bytes, and a usual one has all rows", async () => {
    const fitted = await fitUsage(whole(wide), "task", 12 * 2 ** 20, "family");
    const bytes = JSON.stringify(fitted.rows).length;
    assert.ok(bytes > 6 * 2 ** 20 && bytes <= 12 * 2 ** 20, `${bytes} bytes`);
    assert.equal(requestsOf(fitted.rows), requestsOf(wide));
    const usual = whole(Array.from({ length: 10_000 }, (_, at) => row({ task: `task-${at}` })));
    assert.equal(await fitUsage(usual, "task", 12 * 2 ** 20, "family"), usual);
  });
});

describe("merged usage", () => {
  it("adds up the rows with the fewest requests if there are more rows than places, and reports that", async () => {
    const kind = usageRows({ by: "task" }, 5);
    const { rows, isTruncated } = await merged(kind, [tasksOf("a", [9, 1, 1, 40]), tasksOf("b", [1, 100, 1])]);
    assert.equal(isTruncated, true);
    assert.deepEqual(
      rows.map(({ container, task, runs }) => [container, task, runs["ok"]]),
      [
        ["(other)", "(other)", 3],
        ["demo", "a0", 9],
        ["demo", "a1", 1],
        ["demo", "a3", 40],
        ["demo", "b1", 100],
      ],
    );
    const fits = await merged(kind, [tasksOf("a", [1, 2]), { ...tasksOf("b", [3]), isTruncated: true }]);
    assert.deepEqual([fits.rows.length, fits.isTruncated], [3, true], "a part that was truncated makes the whole so");
  });

  it("sums the rows of one container, token or task and time, in the order of a single node", async () => {
    const later = { from: "2026-11-23T11:00:00.000Z" };
    const first = [row({}), row({ container: "x" }), row(later)];
    const second = [
      row({ runs: { ok: 2, threw: 1 }, refused: { overloaded: 4 }, cpuMs: 0.2 }),
      row({ container: "a", ...later }),
    ];
    const sums = await merged(usageRows({ by: "container" }), [whole(first), whole(second)]);
    assert.deepEqual(sums.rows, [
      row({
        runs: { ok: 3, threw: 1 },
        refused: { overloaded: 4 },
        durations: { "10": 2 },
        cpuMs: 0.3,
        runMs: 0.4,
        egressBytes: 10,
      }),
      row({ container: "x" }),
      row({ container: "a", ...later }),
      row(later),
    ]);
    const tasks = [row({ task: null }), row({ task: "b" })];
    const both = await merged(usageRows({ by: "task" }), [whole(tasks), whole(tasks)]);
    assert.deepEqual(
      both.rows.map(({ task, runs }) => [task, runs["ok"]]),
      [
        [null, 2],
        ["b", 2],
      ],
    );
  });

  it("sums names that objects have by themselves, and rejects what is no count", async () => {
    const kind = usageRows({ by: "container" });
    const odd = row({ refused: { constructor: 2 } });
    const { rows } = await merged(kind, [whole([odd]), whole([odd])]);
    assert.deepEqual({ ...rows[0]!.refused }, { constructor: 4 });
    for (const bad of [
      ...[{ runs: { ok: -1 } }, { runs: { ok: "1" } }, { cpuMs: null }, { from: "soon" }, { more: 1 }],
      ...[{ runs: { "a b": 1 } }, { refused: { [`a${"b".repeat(64)}`]: 1 } }, { refused: { "=1": 1 } }],
    ]) {
      assert.throws(() => kind.newReader().line({ ...row({}), ...bad }), JSON.stringify(bad));
    }
  });

  it("has few names that this node does not know, in a row and in all rows, because a table has a column for each", () => {
    const news = Array.from({ length: 17 }, (_, at) => `new_${at}`);
    const read = (...groups: readonly (readonly string[])[]): void => {
      const reader = usageRows({ by: "task" }).newReader();
      for (const [at, names] of groups.entries()) reader.line(row({ task: `t${at}`, refused: counted(names) }));
    };
    read([...Object.keys(PROBLEMS), ...news.slice(1)], news.slice(1));
    assert.throws(() => read(news));
    assert.throws(() => read(news.slice(0, 9), news.slice(9)));
    const statuses = counted(Array.from({ length: 100 }, (_, at) => `s${at}`));
    assert.throws(() =>
      usageRows({ by: "task" })
        .newReader()
        .line(row({ runs: statuses })),
    );
    assert.throws(() =>
      usageRows({ by: "task" })
        .newReader()
        .line(row({ durations: statuses })),
    );
  });

  it("has as many rows as a node sends", () => {
    const reader = usageRows({ by: "task" }).newReader();
    const add = (at: number): void => reader.line(row({ task: String(at).padStart(6, "0") }));
    for (let at = 0; at < 20_000; at++) add(at);
    assert.throws(() => add(20_000));
  });
});

describe("the record of another node", () => {
  it("arrives with its console as it was", async () => {
    const { record, run, container } = runOf({ printed: ["one", "two\n\u2028three"], status: "threw", input: "data" });
    const reader = new RecordReader(container, run, BOUNDS);
    for (const line of (await writeRecord(record, "family")).split("\n").slice(0, -1)) reader.line(JSON.parse(line));
    assert.deepEqual(reader.end(), record);
  });

  it("is rejected if it is of another run, or if lines are missing", async () => {
    const { record, run, container } = runOf({ printed: ["one", "two"] });
    const [head, ...rest] = (await writeRecord(record, "family"))
      .split("\n")
      .slice(0, -1)
      .map((line): unknown => JSON.parse(line));
    assert.throws(() => new RecordReader(container, "00000000cafe-zzz", BOUNDS).line(head));
    assert.throws(() => new RecordReader("other", run, BOUNDS).line(head));
    const reader = new RecordReader(container, run, BOUNDS);
    reader.line(head);
    reader.line(rest[0]);
    assert.throws(() => reader.end());
  });

  it("is rejected if it is longer than any that a node keeps", async () => {
    const { record, run, container } = runOf({ printed: ["one"], input: "data" });
    const [head, piece, line] = (await writeRecord(record, "family"))
      .split("\n")
      .map((each): unknown => each && JSON.parse(each));
    const read = (times: number, pieces: number): void => {
      const reader = new RecordReader(container, run, BOUNDS);
      reader.line({ ...(head as object), lines: times, pieces });
      for (let at = 0; at < pieces; at++) reader.line({ ...(piece as object), input: "x".repeat(65_536) });
      for (let at = 0; at < times; at++) reader.line(line);
      reader.end();
    };
    read(1_000, 1);
    assert.throws(() => read(10_000, 1));
    assert.throws(() => read(1, 9));
  });
});
