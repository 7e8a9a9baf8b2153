import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdir, readdir, rm, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, it } from "node:test";

import type { Problem } from "../../../src/errors.ts";
import type { StoredUsage } from "../../../src/records/usage/stored-usage.ts";
import { readUsage, UsageRead } from "../../../src/records/usage/usage-reader.ts";
import { OTHER, type UsageSubject } from "../../../src/records/usage/usage.ts";
import { until } from "../../contract/until.ts";
import { answerOf, readAll, runsIn, usageFolder } from "./folder.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

function subject(members: Partial<UsageSubject> = {}): UsageSubject {
  return { container: "acme", task: null, token: "t", family: "f", ...members };
}

/** Counts runs that have ended. */
function count(usage: StoredUsage, members: Partial<UsageSubject>, runs = 1, atMs: number = Date.now()): void {
  for (let run = 0; run < runs; run++) usage.ended(usage.admitted(subject(members), atMs), "ok", 5, 10);
}

/** Sets the longest length of files of this process. */
function limitFiles(bytes: string): void {
  const limited = spawnSync("prlimit", ["--pid", String(process.pid), `--fsize=${bytes}:unlimited`]);
  assert.equal(limited.status, 0, String(limited.stderr));
}

function ignore(): void {}

describe("a read of usage", () => {
  it("shows a run at once, also while it is running, with its sums and refusals", async () => {
    await using folder = await usageFolder();
    await using usage = folder.open();
    const cell = usage.admitted(subject(), Date.now());
    usage.refused(subject(), "container_limited", Date.now());
    const [running] = await readAll(usage);
    assert.deepEqual([running?.container, running?.runs], ["acme", { running: 1 }]);
    usage.ended(cell, "threw", 12.5, 700);
    usage.addCpu(cell, 2.25);
    const rows = await readAll(usage);
    const { from, ...row } = rows[0]!;
    assert.equal(rows.length, 1);
    assert.match(from, /^\d{4}-\d\d-\d\dT00:00:00\.000Z$/);
    assert.deepEqual(row, {
      container: "acme",
      runs: { threw: 1 },
      refused: { container_limited: 1 },
      cpuMs: 2.25,
      runMs: 12.5,
      egressBytes: 700,
      durations: { 30: 1 },
    });
  });

  it("separates tasks, tokens and hours if the query asks for them", async () => {
    await using folder = await usageFolder();
    await using usage = folder.open();
    const today = Math.floor(Date.now() / DAY_MS) * DAY_MS - DAY_MS;
    for (const hour of [1, 2]) {
      for (const members of [{ task: "a" }, { task: "b" }, { token: null }]) {
        count(usage, members, hour, today + hour * HOUR_MS + 90_000);
      }
    }
    const names = async (by: "task" | "token"): Promise<unknown[]> => {
      const rows = await readAll(usage, { by, step: "hour" });
      return rows.map((row) => [row[by], row.from.slice(11, 13), row.runs["ok"]]);
    };
    assert.deepEqual(await names("task"), [
      [null, "01", 1],
      ["a", "01", 1],
      ["b", "01", 1],
      [null, "02", 2],
      ["a", "02", 2],
      ["b", "02", 2],
    ]);
    assert.deepEqual(await names("token"), [
      [null, "01", 1],
      ["t", "01", 2],
      [null, "02", 2],
      ["t", "02", 4],
    ]);
  });

  it("counts the minutes at the edges of from and to, and no others", async () => {
    const base = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - 5 * HOUR_MS;
    // The file begins before these minutes, because it keeps minutes from the hour of its first count.
    await using folder = await usageFolder();
    await using usage = folder.open({ now: () => base - HOUR_MS });
    for (let minute = 0; minute < 240; minute++) count(usage, {}, 1, base + minute * 60_000);
    const runs = async (from: number, to: number): Promise<number> =>
      runsIn(await readAll(usage, { fromMs: base + from * 60_000, toMs: base + to * 60_000 }));
    assert.equal(await runs(0, 240), 240);
    assert.equal(await runs(30, 210), 180);
    assert.equal(await runs(61, 62), 1);
    assert.equal(await runs(59, 121), 62);
    assert.equal(await runs(60, 120), 60);
  });

  it("shows only permitted containers, and counts without a name only to their family and to administrators", async () => {
    await using folder = await usageFolder();
    await using usage = folder.open();
    for (const container of ["acme", "acme-1", "beta"]) count(usage, { container });
    // The family has more containers than names.
    for (let at = 0; at <= 10_000; at++) count(usage, { container: `acme-${at}` });
    count(usage, { container: "acme-2", family: "another" });
    const seen = async (
      permitted: string[],
      others: "all" | "none" | { family: string },
    ): Promise<{ names: Set<string>; runs: number }> => {
      const { rows } = await usage.read(
        { by: "container", step: "day", fromMs: Date.now() - HOUR_MS, toMs: Date.now() + 60_000, permitted, others },
        "reader",
      );
      return { names: new Set(rows.map(({ container }) => container)), runs: runsIn(rows) };
    };
    const exact = await seen(["acme", "beta-*"], "none");
    assert.deepEqual([[...exact.names], exact.runs], [["acme"], 1]);
    assert.equal((await seen(["acme-1*"], "none")).names.has(OTHER), false);
    assert.equal((await seen(["acme-1*"], { family: "another" })).names.has(OTHER), false);
    assert.equal((await seen(["acme-1*"], { family: "f" })).names.has(OTHER), true);
  });

  it("that finds more entries than an answer has places adds up those of the family with the most, and reports that", async () => {
    await using folder = await usageFolder();
    await using usage = folder.open();
    for (let at = 0; at < 10_100; at++) count(usage, { family: "flood", task: `t${at}` }, at === 10_099 ? 3 : 1);
    count(usage, { family: "quiet", container: "quiet", task: "named" });
    const { rows, isTruncated } = await answerOf(usage, { by: "task" });
    assert.deepEqual([rows.length <= 10_000, isTruncated, runsIn(rows)], [true, true, 10_103]);
    assert.ok(rows.some(({ container, task }) => container === "quiet" && task === "named"));
    assert.equal(rows.find(({ task }) => task === "t10099")?.runs["ok"], 3, "the busiest keeps its name");
    assert.equal(rows[0]?.container, OTHER);
    assert.deepEqual([rows[0].task, runsIn([rows[0]]) >= 101], [OTHER, true]);
    const all = await answerOf(usage);
    assert.deepEqual([all.isTruncated, runsIn(all.rows)], [false, 10_103]);
  });

  it("of a token looks at the rows of its containers only, and never fails because of those of others", async () => {
    await using folder = await usageFolder();
    const [toMs, file] = [Date.now() + 60_000, path.join(folder.runs, "usage.sqlite")];
    {
      await using usage = folder.open();
      for (let at = 0; at < 3_000; at++) {
        count(usage, { container: `flood-${at}`, family: "flood" }, 1, Date.now() - Math.floor(at / 150) * HOUR_MS);
      }
      for (let at = 0; at < 30; at++) count(usage, { container: `acme-${at}`, family: at % 2 ? "f" : "g" });
    }
    const query = { by: "container", step: "day", fromMs: toMs - DAY_MS, toMs, others: { family: "f" } } as const;
    const steps = (permitted: string[]): [steps: number, runs: number] => {
      // A step reads one part, or 100 rows of it.
      const read = new UsageRead(file, { ...query, permitted }, { stepRows: 100, stepMs: 0, rows: 10_000 });
      let made = 1;
      while (!read.step()) made++;
      const { rows } = read.answer();
      read.close();
      return [made, runsIn(rows)];
    };
    const [few, runs] = steps(["acme-*", "acme-1", "acme-1*"]);
    assert.deepEqual([few <= 7, runs], [true, 30], `${few} steps`);
    const [many, all] = steps(["*"]);
    assert.deepEqual([many >= 20, all], [true, 3_030], `${many} steps`);
  });

  it("finds as many hours of a family with 50 tokens as the operator permits, and the exact sum", async () => {
    await using folder = await usageFolder();
    let nowMs = Date.now();
    await using usage = folder.open({ usageRows: 10, now: () => nowMs, flushMs: 5 });
    // Minutes, which have names too, answer for the latest hour only.
    const atMs = nowMs - 3 * 3_600_000;
    for (let at = 0; at < 50; at++) {
      usage.ended(usage.admitted({ container: `c${at}`, task: null, token: `t${at}`, family: "f" }, atMs), "ok", 1, 0);
    }
    assert.equal((await readAll(usage)).length, 50);
    nowMs += 61_000;
    await until(async () => (await readAll(usage)).length <= 10, "the hours have lost their names");
    assert.equal(runsIn(await readAll(usage)), 50);
  });

  it("takes turns with the other reads of its family, and is refused when too many wait", async () => {
    await using folder = await usageFolder();
    await using usage = folder.open();
    count(usage, {});
    const reads = await Promise.allSettled(Array.from({ length: 30 }, () => readAll(usage)));
    const refused = reads.filter(({ status }) => status === "rejected") as PromiseRejectedResult[];
    assert.ok(refused.length > 0 && refused.length < 30);
    for (const { reason } of refused) assert.equal((reason as Problem).code, "token_limited");
    assert.equal(runsIn(await readAll(usage)), 1);
  });
});

describe("the file of the counts", () => {
  it("has a run without any read, and is readable only for its owner", async () => {
    await using folder = await usageFolder();
    await using usage = folder.open();
    count(usage, {});
    const file = path.join(folder.runs, "usage.sqlite");
    const toMs = Date.now() + 60_000;
    const query = {
      by: "container",
      step: "day",
      fromMs: toMs - DAY_MS,
      toMs,
      permitted: ["*"],
      others: "all",
    } as const;
    await until(() => {
      // Another connection may open the file while it is created.
      try {
        const found = readUsage(file, query);
        return runsIn(found.rows) === 1;
      } catch {
        return false;
      }
    }, "the file has the run");
    for (const name of await readdir(folder.runs)) {
      assert.equal((await stat(path.join(folder.runs, name))).mode & 0o777, 0o600, name);
    }
  });

  it("keeps all counts of a close, and reads them again", async () => {
    await using folder = await usageFolder();
    for (const runs of [3, 4]) {
      await using usage = folder.open();
      count(usage, {}, runs);
    }
    await using usage = folder.open();
    assert.equal(runsIn(await readAll(usage), "ok"), 7);
  });

  it("that is damaged is set aside, and a new one begins", async () => {
    await using folder = await usageFolder();
    await mkdir(folder.runs);
    await writeFile(path.join(folder.runs, "usage.sqlite"), "not a database. ".repeat(1_000));
    const failures: string[] = [];
    await using usage = folder.open({ onFailure: ({ message }) => failures.push(message) });
    count(usage, {});
    assert.equal(runsIn(await readAll(usage)), 1);
    const [name] = usage.losses.setAside;
    assert.match(name!, /^usage\.sqlite\.unreadable-1$/);
    assert.ok((await readdir(folder.runs)).includes(name!));
    assert.equal(failures.length, 1);
    assert.match(failures[0]!, /^the counts of usage were damaged; /);
  });

  it("that cannot be written loses no count: they wait in memory until it can", async () => {
    await using folder = await usageFolder();
    const place = path.join(folder.runs, "usage.sqlite");
    await mkdir(place, { recursive: true });
    await using usage = folder.open();
    count(usage, {}, 10);
    await usage.flush();
    assert.match(usage.losses.failure ?? "", /cannot be written/);
    assert.ok(!usage.losses.failure!.includes("/"));
    count(usage, { container: "later" }, 5);
    await rm(place, { recursive: true });
    assert.equal(runsIn(await readAll(usage)), 15);
    assert.deepEqual(usage.losses, { lost: 0, failure: null, setAside: [] });
  });

  it(
    "on a full disk loses no count either",
    { skip: spawnSync("prlimit", ["--version"]).error !== undefined },
    async () => {
      await using folder = await usageFolder();
      await using usage = folder.open();
      count(usage, {}, 10);
      await usage.flush();
      // The kernel refuses each write beyond the limit. It also sends SIGXFSZ, which would end the process.
      process.on("SIGXFSZ", ignore);
      try {
        limitFiles("65536");
        for (let at = 0; at < 5_000; at++) count(usage, { container: `c${at}` });
        await usage.flush();
        assert.match(usage.losses.failure ?? "", /cannot be written/);
        limitFiles("unlimited");
      } finally {
        limitFiles("unlimited");
        process.off("SIGXFSZ", ignore);
      }
      assert.equal(runsIn(await readAll(usage)), 5_010);
      assert.deepEqual(usage.losses, { lost: 0, failure: null, setAside: [] });
    },
  );
});
