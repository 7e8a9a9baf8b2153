import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, it, type TestContext } from "node:test";

import { auditBounds, type AuditBounds, AuditFile } from "../../../src/records/audit/audit-file.ts";
import { type AuditEvent, type AuditQuery, parseAuditCursor } from "../../../src/records/audit/audit.ts";
import { type AuditOptions, StoredAudit } from "../../../src/records/audit/stored-audit.ts";
import { openRecordStore } from "../../../src/records/days/day-store.ts";
import { RecordThreads } from "../../../src/records/record-threads.ts";
import { BOUNDS } from "../bounds.ts";

const DAY_MS = 86_400_000;
const EVENT: AuditEvent = {
  action: "token issued",
  by: "me",
  family: "f",
  client: "192.0.2.1",
  details: { token: "x" },
};
const ALL: AuditQuery = { sinceMs: null, untilMs: null, action: null, by: null, after: null, count: 100 };

async function newFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), "caisson-audit-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Opens the audit of a data folder until the end of a test, or until it is closed. */
function openAudit(t: TestContext, folder: string, options: Partial<AuditOptions> = {}): StoredAudit {
  const threads = new RecordThreads(folder);
  const audit = new StoredAudit(threads, { ...BOUNDS, ...options });
  t.after(async () => {
    await audit.close();
    await threads.close();
  });
  return audit;
}

async function open(t: TestContext, bounds: Partial<AuditBounds> = {}): Promise<AuditFile> {
  const file = AuditFile.open(path.join(await newFolder(t), "audit.sqlite"), {
    ...auditBounds(BOUNDS.auditEntries),
    ...bounds,
  });
  t.after(() => file.close());
  return file;
}
const add = (file: AuditFile, atMs: number, members: object = {}): void =>
  file.add({ atMs, action: "token issued", by: "me", family: "f", client: null, details: "{}", ...members });
const actions = (file: AuditFile): string[] => file.list(ALL).entries.map(({ action }) => action);

it("records of runs and the audit that got nothing start no thread when they are closed", async (t) => {
  let started = 0;
  const count = (): void => void (started += 1);
  process.on("worker", count);
  t.after(() => process.off("worker", count));
  const folder = await newFolder(t);
  const threads = new RecordThreads(folder);
  t.after(() => threads.close());
  await openRecordStore(path.join(folder, "runs"), threads, BOUNDS).close();
  const audit = new StoredAudit(threads, BOUNDS);
  await audit.close();
  assert.equal(started, 0);
  await audit.add(EVENT);
  await audit.close();
  assert.equal(started, 1);
});

describe("the audit", () => {
  it("has an entry after it was added, also after a restart, the newest first", async (t) => {
    const folder = await newFolder(t);
    const first = openAudit(t, folder, { now: () => 1_000 });
    await first.add(EVENT);
    await first.add({ ...EVENT, action: "token revoked", by: null, family: null, client: null, details: {} });
    await first.close();
    const second = openAudit(t, folder, { now: () => 2_000 });
    await second.add({ ...EVENT, action: "policy set" });
    const { entries, next } = await second.list(ALL);
    assert.deepEqual(
      entries.map(({ action }) => action),
      ["policy set", "token revoked", "token issued"],
    );
    assert.deepEqual(entries.at(-1), {
      at: "1970-01-01T00:00:01.000Z",
      action: "token issued",
      by: "me",
      client: "192.0.2.1",
      details: { token: "x" },
    });
    assert.equal(next, null);
    for (const name of await readdir(folder)) assert.equal((await stat(path.join(folder, name))).mode & 0o777, 0o600);
  });

  it("does not fail a change while its file cannot be written, and reports it", async (t) => {
    const folder = await newFolder(t);
    const file = path.join(folder, "audit.sqlite");
    await mkdir(file);
    const failures: string[] = [];
    const audit = openAudit(t, folder, { onFailure: ({ message }) => failures.push(message) });
    await audit.add(EVENT);
    await audit.add(EVENT);
    assert.equal(audit.losses.lost, 2);
    assert.match(audit.losses.failure ?? "", /^the audit cannot be written: /);
    assert.ok(!audit.losses.failure!.includes("/"));
    assert.equal(failures.length, 1);
    assert.match(failures[0]!, /^the audit cannot be written: /);
    await assert.rejects(audit.list(ALL), { code: "store_unavailable" });
    await rm(file, { recursive: true });
    await audit.add(EVENT);
    assert.deepEqual(audit.losses, { lost: 2, failure: null, setAside: [] });
    assert.equal((await audit.list(ALL)).entries.length, 1);
  });

  it("sets a damaged file aside, and begins a new one", async (t) => {
    const folder = await newFolder(t);
    await writeFile(path.join(folder, "audit.sqlite"), "not a database. ".repeat(1_000));
    const audit = openAudit(t, folder);
    await audit.add(EVENT);
    assert.equal((await audit.list(ALL)).entries.length, 1);
    const [name] = audit.losses.setAside;
    assert.ok((await readdir(folder)).includes(name!));
  });

  it("bounds the details of an entry", async (t) => {
    const audit = openAudit(t, await newFolder(t));
    await audit.add({ ...EVENT, details: { text: "x".repeat(100_000) } });
    assert.deepEqual((await audit.list(ALL)).entries[0]?.details, { omitted: "100011 characters" });
  });
});

describe("the file of the audit", () => {
  it("pages through all matching entries once, also if the clock was set back", async (t) => {
    const file = await open(t, { looked: 7 });
    for (let at = 0; at < 50; at++) add(file, 1_000 + ((at * 7) % 50), { action: at % 3 === 0 ? "a" : "b" });
    const seen: string[] = [];
    let pages = 0;
    for (let after = null as AuditQuery["after"]; ; pages++) {
      const { entries, next } = file.list({ ...ALL, action: "b", sinceMs: 1_010, untilMs: 1_045, after, count: 3 });
      seen.push(...entries.map(({ at }) => at));
      if (next === null) break;
      after = parseAuditCursor(next);
      assert.ok(after);
    }
    const expected = Array.from({ length: 50 }, (_, at) => ({ at: 1_000 + ((at * 7) % 50), isB: at % 3 !== 0 }))
      .filter(({ at, isB }) => isB && at >= 1_010 && at < 1_045)
      .map(({ at }) => new Date(at).toISOString());
    assert.deepEqual(seen, expected.toSorted().toReversed());
    assert.ok(pages > 3);
  });

  it("finds the entries of one token", async (t) => {
    const file = await open(t);
    for (const by of ["me", "you", null]) add(file, 1, { by });
    const found = file.list({ ...ALL, by: "you" });
    assert.deepEqual(
      found.entries.map(({ by }) => by),
      ["you"],
    );
  });

  it("deletes the oldest entries of a family with too many, and none of others", async (t) => {
    const file = await open(t, { familyEntries: 10, adminEntries: 20 });
    for (const action of ["admin 1", "admin 2"]) add(file, 0, { action, family: "" });
    add(file, 0, { action: "other", family: "g" });
    for (let at = 0; at < 100; at++) add(file, 1 + at, { action: `flood ${at}` });
    const flood = Array.from({ length: 10 }, (_, at) => `flood ${99 - at}`);
    assert.deepEqual(actions(file), [...flood, "other", "admin 2", "admin 1"]);
  });

  it("keeps its counts through a restart, so a family has its share only once", async (t) => {
    const place = path.join(await newFolder(t), "audit.sqlite");
    const bounds = { ...auditBounds(BOUNDS.auditEntries), familyEntries: 10 };
    for (let start = 0; start < 3; start++) {
      const file = AuditFile.open(place, bounds);
      for (let at = 0; at < 8; at++) add(file, start);
      assert.ok(actions(file).length <= 10);
      file.close();
    }
  });

  it("deletes entries after a year", async (t) => {
    const file = await open(t);
    for (let at = 0; at < 50; at++) add(file, 1_000 + at, { action: "old" });
    for (let at = 0; at < 5; at++) add(file, 1_100 + 365 * DAY_MS, { action: "new" });
    assert.deepEqual(actions(file), ["new", "new", "new", "new", "new"]);
  });

  it("ends a page early if its details are long", async (t) => {
    const file = await open(t);
    for (let at = 0; at < 100; at++) add(file, at, { details: JSON.stringify({ text: "x".repeat(8_000) }) });
    const { entries, next } = file.list(ALL);
    assert.ok(entries.length > 20 && entries.length < 50, `${entries.length} entries`);
    assert.notEqual(next, null);
  });
});

it("a cursor of another form is rejected", () => {
  for (const text of ["", "1", "1.", "1.2.3", "-1.2", "a.b", "1.2 "]) assert.equal(parseAuditCursor(text), null, text);
  assert.deepEqual(parseAuditCursor("5.7"), { atMs: 5, id: 7 });
});
