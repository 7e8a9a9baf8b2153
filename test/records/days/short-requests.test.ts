import assert from "node:assert/strict";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { it } from "node:test";

import { DayFile } from "../../../src/records/days/day-file.ts";
import { omissionBounds } from "../../../src/records/days/day-store.ts";
import { DayWriter } from "../../../src/records/days/day-writer.ts";
import { DAY_MS, dayOf, nameOf } from "../../../src/records/days/day.ts";
import { RecordReader } from "../../../src/records/days/record-reader.ts";
import { RecordWriter } from "../../../src/records/days/record-writer.ts";
import { rowOf, type StoredRow } from "../../../src/records/days/stored-row.ts";
import type { BatchOutcome, ReadRequest, StepReply, WriteRequest } from "../../../src/records/days/thread-messages.ts";
import type { Channel } from "../../../src/records/request-thread.ts";
import { until } from "../../contract/until.ts";
import { BOUNDS } from "../bounds.ts";
import { keptRun, newFolder } from "./kept-runs.ts";

/*
 * Counts of usage and entries of the audit wait for the same thread, so a request about records must be short.
 */

const TODAY = dayOf(Date.now());
const OMISSIONS = omissionBounds(BOUNDS);
const rows = (count: number): StoredRow[] => Array.from({ length: count }, () => rowOf(keptRun()));

it("a batch ends at its time after one row at least, and reports how many rows it has written", async () => {
  const file = DayFile.open(path.join(await newFolder(), nameOf(TODAY)));
  const batch = { day: TODAY, rows: rows(10), omissions: [] };
  const room = { familyBytes: 2 ** 30, fileBytes: 2 ** 30, omissions: OMISSIONS };
  assert.equal(file.write(batch, { ...room, endMs: 0 }).rows, 1);
  assert.equal(file.write({ ...batch, rows: batch.rows.slice(1) }, { ...room, endMs: Infinity }).rows, 9);
  file.close();
});

it("the rows that a batch has left are sent at once, each row and each omission is sent once, in order", async () => {
  const requests: WriteRequest[] = [];
  const taken: StoredRow[] = [];
  const write = (request: WriteRequest): BatchOutcome => {
    requests.push(request);
    taken.push(...request.batch.rows.slice(0, 3));
    return { rows: Math.min(3, request.batch.rows.length), omitted: 0, dropped: 0, full: [], isNew: false };
  };
  const check = { kept: { oldest: "", setAside: [] }, more: false };
  const fulfil = (service: string, request: unknown): unknown =>
    service === "runs" ? write(request as WriteRequest) : service === "oldRuns" ? check : null;
  const threads = {
    writer: <Request, Reply>(service: string): Channel<Request, Reply> => ({
      request: (request) => Promise.resolve(fulfil(service, request) as Reply),
    }),
  };
  const settings = { folder: "none", keepRuns: DAY_MS, runsSize: 2 ** 30, familyRuns: 2 ** 30, omissions: OMISSIONS };
  const writer = new RecordWriter(threads, settings, BOUNDS.diskQueue, () => {});
  const all = rows(10);
  for (const row of all) writer.add(TODAY, row);
  writer.omit(TODAY, "family", "acme");
  await until(() => taken.length === all.length, "all rows are taken");
  await writer.close();
  assert.deepEqual(taken, all);
  assert.deepEqual(
    requests.map(({ batch }) => batch.omissions.length),
    [1, 0, 0, 0],
  );
  assert.deepEqual([writer.dropped, writer.failure], [0, null]);
});

it("a check deletes the files of one day, and asks for another check until no old day is left", async () => {
  const folder = await newFolder();
  const days = [400, 300, 200].map((daysAgo) => TODAY - daysAgo);
  for (const day of days) writeFileSync(path.join(folder, nameOf(day)), "");
  const retention = { folder, keepRuns: 30 * DAY_MS, runsSize: 2 ** 30 };
  const writer = new DayWriter({ ...retention, familyRuns: 2 ** 30, omissions: OMISSIONS });
  for (const [at, day] of days.entries()) {
    const { more } = writer.check(Date.now());
    assert.equal(existsSync(path.join(folder, nameOf(day))), false);
    assert.deepEqual([readdirSync(folder).length, more], [2 - at, at < 2]);
  }
});

it("families take turns after each step of a read, and each has one read at a time", async () => {
  const steps: string[] = [];
  const left = new Map<string, number>();
  const fulfil = (request: ReadRequest): StepReply => {
    const name = "rest" in request ? request.rest : request.question.kind === "get" ? request.question.run : "";
    steps.push(name);
    const more = (left.get(name) ?? 3) - 1;
    left.set(name, more);
    return more > 0 ? { rest: name } : { json: JSON.stringify(name), unreadable: [] };
  };
  const threads = {
    reader: <Request, Reply>(): Channel<Request, Reply> => ({
      request: (request) => Promise.resolve(fulfil(request as ReadRequest) as Reply),
    }),
  };
  const reader = new RecordReader(threads, "none", BOUNDS);
  const read = (family: string, run: string): Promise<string> => {
    return reader.read(family, { kind: "get", container: "acme", run });
  };
  const answers = await Promise.all([read("greedy", "a"), read("greedy", "b"), read("modest", "c")]);
  assert.deepEqual(answers, ["a", "b", "c"]);
  assert.deepEqual(steps, ["a", "c", "a", "c", "a", "c", "b", "b", "b"]);
});
