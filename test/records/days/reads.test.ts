import assert from "node:assert/strict";
import { it } from "node:test";

import { byNewest } from "../../../src/records/query.ts";
import { entryOf, type KeptRun, type RunRecord } from "../../../src/records/record.ts";
import { addAll, ALL, DAY_MS, keptRun, type Made, openStore, reopenStore, thrown, walkAll } from "./kept-runs.ts";

const NOW = Date.now();

const line = (text: string): Partial<RunRecord> => ({ console: [{ atMs: 0, level: "info", text }] });
const idsOf = (all: readonly KeptRun[]): string[] => all.map(({ record }) => record.run);
const inOrder = (all: readonly KeptRun[]): string[] =>
  all
    .map(({ startedMs, record }) => ({ startedMs, run: record.run }))
    .toSorted(byNewest)
    .map(({ run }) => run);

it("returns a record exactly as it was added, its entry in lists, and both after a restart", async () => {
  const console = [{ atMs: 1, level: "error", text: "a line" }] as const;
  const full = keptRun({ ...thrown("no"), console, task: "mail", version: 2, input: "in", lineage: ["child", "root"] });
  const plain = keptRun({ startedMs: NOW - 2 * DAY_MS });
  const first = await openStore();
  await addAll(first.store, [plain, full]);
  await first.store.close();
  await using second = reopenStore(first.folder);
  for (const { record, lineage } of [full, plain]) {
    assert.deepEqual(await second.store.get("acme", record.run, "test"), { record, lineage });
  }
  const { runs, next, omitted } = await second.store.list(ALL, "test");
  assert.deepEqual(
    runs.map(({ entry }) => entry),
    [entryOf(full.record), entryOf(plain.record)],
  );
  assert.deepEqual([runs[0]!.startedMs, next, omitted], [full.startedMs, null, 0]);
});

it("finds a run only in its own container", async () => {
  await using opened = await openStore();
  const { store } = opened;
  const kept = keptRun({ container: "acme" });
  await addAll(store, [kept]);
  assert.equal(await store.get("other", kept.record.run, "test"), null);
  assert.equal(await store.get("acme", "0123456789ab-zzz", "test"), null);
});

it("lists runs of many days with the newest start first, and equal starts by id", async () => {
  await using opened = await openStore();
  const { store } = opened;
  const all = Array.from({ length: 60 }, (_, at) => keptRun({ startedMs: NOW - (at % 5) * DAY_MS - (at % 3) }));
  await addAll(store, all);
  for (const count of [1, 7, 100]) assert.deepEqual(await walkAll(store, { count }), inOrder(all), `pages of ${count}`);
});

it("narrows a list by container, pattern, task, status and time", async () => {
  await using opened = await openStore();
  const { store } = opened;
  const made: Made[] = [
    { container: "acme-1", startedMs: NOW - 5_000 },
    { container: "acme-2", startedMs: NOW - 4_000, task: "mail" },
    { container: "beta", startedMs: NOW - 3_000, ...thrown("x") },
    { container: "beta", startedMs: NOW - 2_000, status: "cancelled" },
    { container: "acme", startedMs: NOW - DAY_MS, task: "mail", status: "timeout" },
  ];
  const all = made.map(keptRun);
  await addAll(store, all);
  const [one, two, threw, cancelled, old] = idsOf(all);
  const found = async (query: Parameters<typeof walkAll>[1]): Promise<string[]> => walkAll(store, query);
  assert.deepEqual(await found({ container: "beta" }), [cancelled, threw]);
  assert.deepEqual(await found({ permitted: ["acme-*"] }), [two, one]);
  assert.deepEqual(await found({ permitted: ["acme*"] }), [two, one, old]);
  assert.deepEqual(await found({ permitted: ["acme", "acme-1"] }), [one, old]);
  assert.deepEqual(await found({ permitted: ["acme*"], container: "beta" }), []);
  assert.deepEqual(await found({ permitted: [] }), []);
  assert.deepEqual(await found({ task: "mail" }), [two, old]);
  assert.deepEqual(await found({ statuses: ["threw", "timeout"] }), [threw, old]);
  assert.deepEqual(await found({ statuses: ["ok"] }), [two, one]);
  assert.deepEqual(await found({ statuses: [] }), []);
  assert.deepEqual(await found({ sinceMs: NOW - 4_000, untilMs: NOW - 2_000 }), [threw, two]);
  assert.deepEqual(await found({ untilMs: NOW - 4_000, task: "mail" }), [old]);
});

it("finds the runs of a pattern among those of more containers than it reads apart", async () => {
  await using opened = await openStore();
  const { store } = opened;
  const all = Array.from({ length: 300 }, (_, at) => keptRun({ container: `c${at}`, startedMs: NOW - at }));
  await addAll(store, all);
  assert.deepEqual(await walkAll(store, { permitted: ["c*"] }), inOrder(all));
  assert.deepEqual(
    await walkAll(store, { permitted: ["c29*"] }),
    inOrder(all.filter(({ record }) => record.container.startsWith("c29"))),
  );
});

it("finds a text in the error, the task and the console in any case, and takes every character as it is", async () => {
  await using opened = await openStore();
  const { store } = opened;
  const all = {
    quotes: keptRun(line(`it's "quoted" \\ and 100% _sure_`)),
    nul: keptRun(line("before\0after")),
    separators: keptRun(line("one\u2028two\u2029three\r\nfour")),
    surrogate: keptRun(line("half \ud800 pair")),
    letters: keptRun(line("ÄPFEL und Straße")),
    sql: keptRun(line("'); DROP TABLE runs; --")),
    event: keptRun(line("data: {}\n\nevent: record\n<script>")),
    huge: keptRun(line(`${"x".repeat(200_000)} needle`)),
    message: keptRun(thrown("Needle in the message")),
    name: keptRun(thrown("", { name: "NeedleError\0" })),
    task: keptRun({ task: "Needle" }),
  };
  await addAll(store, Object.values(all));
  const find = async (text: string): Promise<string[]> => {
    const ids = await walkAll(store, { text });
    return Object.entries(all).flatMap(([name, { record }]) => (ids.includes(record.run) ? [name] : []));
  };
  assert.deepEqual(await find(`IT'S "quoted" \\ AND 100%`), ["quotes"]);
  assert.deepEqual(await find("%"), ["quotes"]);
  assert.deepEqual(await find("_SURE_"), ["quotes"]);
  assert.deepEqual(await find("\\"), ["quotes"]);
  assert.deepEqual(await find("e\0A"), ["nul"]);
  assert.deepEqual(await find("\0"), ["nul", "name"]);
  assert.deepEqual(await find("ONE\u2028TWO\u2029three\r\nF"), ["separators"]);
  assert.deepEqual(await find("\ud800"), ["surrogate"]);
  assert.deepEqual(await find("äpfel UND"), ["letters"]);
  assert.deepEqual(await find("drop table"), ["sql"]);
  assert.deepEqual(await find("event: record\n<SCRIPT>"), ["event"]);
  assert.deepEqual(await find("needle"), ["huge", "message", "name", "task"]);
  assert.deepEqual(await find("task_threw"), ["message", "name"]);
  assert.deepEqual(await find("task.js:3"), [], "a stack is not searched");
  for (const { record, lineage } of Object.values(all)) {
    assert.deepEqual(await store.get("acme", record.run, "test"), { record, lineage });
  }
});

it("gives each run exactly once to a walk, while new runs are written", async () => {
  await using opened = await openStore();
  const { store } = opened;
  const all = Array.from({ length: 200 }, (_, at) => keptRun({ startedMs: NOW - 1 - Math.floor(at / 3) }));
  await addAll(store, all);
  const found: string[] = [];
  for (let after: (typeof ALL)["after"] = null; ;) {
    await addAll(store, [keptRun({ startedMs: NOW + found.length })]);
    const { runs, next } = await store.list({ ...ALL, after, count: 20 }, "test");
    found.push(...runs.map(({ entry }) => entry.run));
    if (!next) break;
    after = next;
  }
  const known = new Set(idsOf(all));
  assert.deepEqual(
    found.filter((run) => known.has(run)),
    inOrder(all),
  );
  assert.equal(new Set(found).size, found.length);
});

it("ends a page after 20,000 looks with a cursor, and the walk still finds the run behind them", async () => {
  await using opened = await openStore();
  const { store } = opened;
  const wanted = keptRun({ container: "rare", startedMs: NOW - 30_000 });
  await addAll(store, [wanted, ...Array.from({ length: 20_100 }, (_, at) => keptRun({ startedMs: NOW - at }))]);
  const query = { ...ALL, text: "nothing has this text" };
  const page = await store.list(query, "test");
  assert.equal(page.runs.length, 0);
  const last = await store.list({ ...query, after: page.next }, "test");
  assert.deepEqual([last.runs, last.next], [[], null]);
  assert.deepEqual((await store.list({ ...ALL, task: "none" }, "test")).next, page.next);
  assert.deepEqual(await walkAll(store, { statuses: ["running"] }), []);
  const { runs, next } = await store.list({ ...ALL, permitted: ["rar*", "none*"] }, "test");
  assert.deepEqual([runs.map(({ entry }) => entry.run), next], [idsOf([wanted]), null], "an index finds it at once");
});

it("groups failures by their cause, the latest cause first, and reports whether all were read", async () => {
  await using opened = await openStore();
  const { store } = opened;
  const all = [
    keptRun({ ...thrown("first"), startedMs: NOW - DAY_MS }),
    keptRun({ ...thrown("other", { name: "TypeError" }), startedMs: NOW - 900 }),
    keptRun({ ...thrown("last"), startedMs: NOW - 100 }),
    keptRun({ ...thrown("hidden"), container: "beta", startedMs: NOW - 50 }),
    keptRun({ startedMs: NOW - 10 }),
    keptRun({ status: "cancelled", startedMs: NOW - 10 }),
    keptRun({
      ...thrown("", { at: null, name: null, code: "task_timeout" }),
      status: "timeout",
      startedMs: NOW - 5_000,
    }),
  ];
  await addAll(store, all);
  const { groups, complete } = await store.failures({ ...ALL, container: "acme" }, "test");
  assert.equal(complete, true);
  const cause = { container: "acme", task: null, code: "task_threw", frame: "task.js:3" };
  const at = (index: number): string => all[index]!.record.startedAt;
  assert.deepEqual(groups, [
    { ...cause, name: "Error", message: "last", count: 2, firstAt: at(0), lastAt: at(2), run: all[2]!.record.run },
    { ...cause, name: "TypeError", message: "other", count: 1, firstAt: at(1), lastAt: at(1), run: all[1]!.record.run },
    {
      ...{ ...cause, code: "task_timeout", frame: null, name: null, message: "" },
      ...{ count: 1, firstAt: at(6), lastAt: at(6), run: all[6]!.record.run },
    },
  ]);
  const since = await store.failures({ ...ALL, container: "acme", sinceMs: NOW - 1_000, statuses: ["threw"] }, "test");
  assert.deepEqual(
    since.groups.map(({ message, count }) => [message, count]),
    [
      ["last", 1],
      ["other", 1],
    ],
  );
});

it("keeps the number of groups and the length of their texts bounded", async () => {
  await using opened = await openStore();
  const { store } = opened;
  const name = "N".repeat(2_000);
  await addAll(
    store,
    Array.from({ length: 600 }, (_, at) => keptRun(thrown("m".repeat(2_000), { name: `${at}${name}` }))),
  );
  const { groups, complete, next } = await store.failures(ALL, "test");
  assert.equal(groups.length, 500);
  assert.equal(complete, false);
  assert.ok(groups.every((group) => group.name!.length < 600 && group.message.length < 600));
  const rest = await store.failures({ ...ALL, after: next }, "test");
  assert.deepEqual([rest.groups.length, rest.next], [100, null]);
});

it("ends a page at its size, and the walk still returns every run", async () => {
  await using opened = await openStore();
  const { store } = opened;
  const all = Array.from({ length: 30 }, (_, at) => keptRun({ ...thrown("m".repeat(100_000)), startedMs: NOW - at }));
  await addAll(store, all);
  const { runs, next } = await store.list(ALL, "test");
  assert.ok(runs.length < 30 && next);
  assert.deepEqual(await walkAll(store), inOrder(all));
});

it("rejects the ninth read of a family at once, and other families still get their turn", async () => {
  await using opened = await openStore();
  const { store } = opened;
  await addAll(store, [keptRun()]);
  const reads = Array.from({ length: 8 }, () => store.list(ALL, "greedy"));
  const ninth = store.list(ALL, "greedy");
  const order: string[] = [];
  void reads.at(-1)!.then(() => order.push("last of greedy"));
  const other = store.list(ALL, "modest").then(() => order.push("modest"));
  await assert.rejects(ninth, { code: "token_limited", status: 429 });
  await Promise.all([...reads, other]);
  assert.deepEqual(order, ["modest", "last of greedy"]);
  assert.equal((await store.list(ALL, "greedy")).runs.length, 1, "later reads are admitted again");
});

it("rejects a read after the end", async () => {
  const { store } = await openStore();
  await store.close();
  await assert.rejects(store.list(ALL, "test"), { code: "draining" });
});
