import assert from "node:assert/strict";
import { it } from "node:test";

import { Pending } from "../../../src/records/days/pending.ts";
import { Shares } from "../../../src/records/days/shares.ts";
import { ROW_FAMILY, ROW_SIZE, rowOf, type StoredRow } from "../../../src/records/days/stored-row.ts";
import { BOUNDS } from "../bounds.ts";
import { keptRun } from "./kept-runs.ts";

const RATE = 1_000;

function sharesOf(rateBytes: number, dayBytes: number = Infinity): Shares {
  return new Shares(rateBytes, dayBytes, BOUNDS.countedFamilies);
}

it("a family and a container each write their rate in a minute, and again in the next", () => {
  const shares = sharesOf(RATE);
  assert.equal(shares.take("a", "one", 600, 0), true);
  assert.equal(shares.take("a", "two", 600, 0), false, "the family has used its share");
  assert.equal(shares.take("b", "one", 600, 0), false, "the container has used its share");
  assert.equal(shares.take("a", "two", 400, 59_999), true);
  assert.equal(shares.take("a", "one", 1_000, 60_000), true);
  assert.equal(shares.take("a", "one", 1, 60_001), false);
});

it("a record that is left out takes nothing from the shares", () => {
  const shares = sharesOf(RATE);
  assert.equal(shares.take("a", "one", 1_001, 0), false);
  assert.equal(shares.take("a", "one", 1_000, 0), true);
});

it("clients without a token get half of the shares, and one network half of that", () => {
  const shares = sharesOf(RATE);
  assert.equal(shares.take("a", "one", 251, 0, "near"), false);
  assert.equal(shares.take("a", "one", 250, 0, "near"), true);
  assert.equal(shares.take("a", "one", 1, 0, "near"), false, "the network has used its part");
  assert.equal(shares.take("a", "one", 250, 0, "far"), true);
  assert.equal(shares.take("a", "two", 1, 0, "third"), false, "the strangers of the family have used their part");
  assert.equal(shares.take("b", "one", 1, 0, "third"), false, "the strangers of the container have used their part");
  assert.equal(shares.take("b", "three", 250, 0, "near"), true, "another family has its own part");
  assert.equal(shares.take("a", "one", RATE / 2, 0), true, "the owner has the rest");
  assert.equal(shares.take("a", "one", 1, 0), false);
});

it("all networks of a site get three quarters of what clients without a token get", () => {
  const shares = sharesOf(RATE);
  assert.equal(shares.take("a", "one", 250, 0, "2001:db8:1:1::/64"), true);
  assert.equal(shares.take("a", "one", 126, 0, "2001:db8:1:2::/64"), false);
  assert.equal(shares.take("a", "one", 125, 0, "2001:db8:1:2::/64"), true);
  assert.equal(shares.take("a", "one", 1, 0, "2001:db8:1:3::/64"), false, "the site has used its part");
  assert.equal(shares.take("a", "one", 125, 0, "2001:db8:2:1::/64"), true, "another site has the rest");
});

it("one network gets a quarter of the quota of a day, however many minutes it takes", () => {
  const shares = sharesOf(RATE, 2 * RATE);
  let taken = 0;
  for (let minute = 0; minute < 1_000; minute++) if (shares.take("a", "c", 100, minute * 60_000, "near")) taken += 100;
  assert.equal(taken, RATE / 2);
  assert.equal(shares.take("a", "c", 100, 1_000 * 60_000, "far"), true);
  assert.equal(shares.take("a", "c", 100, 86_400_000, "near"), true);
});

it("networks beyond the count share the part of their family, and none of another", () => {
  const shares = sharesOf(1_000 * RATE);
  for (let at = 0; at < 10_000; at++) shares.take("a", "c", 1, 0, `n${at}`);
  let taken = 0;
  for (let at = 0; at < 100_000; at++) if (shares.take(`f${at % 10}`, `c${at % 10}`, 100, 0, `m${at}`)) taken += 100;
  assert.equal(taken, 10 * ((1_000 * RATE) / 4));
});

it("10,000 containers of one family get the share of the family, and others keep theirs", () => {
  const shares = sharesOf(RATE);
  let taken = 0;
  for (let at = 0; at < 10_000; at++) if (shares.take("loud", `c${at}`, 5, 0)) taken += 5;
  assert.equal(taken, RATE);
  assert.equal(shares.take("quiet", "q", RATE, 0), true);
  assert.equal(shares.take("other", "q", 1, 0), false, "the containers of others are still counted");
});

it("families beyond the count of one minute share one rate, and counted families keep theirs", () => {
  const shares = sharesOf(RATE);
  shares.take("first", "c", 10, 0);
  for (let at = 0; at < 20_000; at++) shares.take(`f${at}`, `c${at}`, 10, 0);
  assert.equal(shares.take("late", "late", RATE / 2, 0), false);
  assert.equal(shares.take("first", "c2", RATE - 10, 0), true);
  assert.equal(shares.take("late", "late", RATE / 2, 60_000), true);
});

it("10,000 containers of one family do not push the omissions of another family out of the list", () => {
  const pending = new Pending(BOUNDS.diskQueue);
  for (let at = 0; at < 10_000; at++) pending.omit(1, "loud", `c${at}`);
  for (let at = 0; at < 3; at++) pending.omit(1, "quiet", "q");
  const { omissions } = pending.take()!;
  assert.ok(omissions.length < 1_000);
  assert.deepEqual(omissions.at(-1), ["quiet", "q", 3]);
  const ofLoud = omissions.filter(([family]) => family === "loud").map(([, , count]) => count);
  assert.equal(
    ofLoud.reduce((a, b) => a + b),
    10_000,
  );
});

it("what waits for the writer is bounded in bytes, and a batch on the way counts until it is released", () => {
  const pending = new Pending(BOUNDS.diskQueue);
  const row = rowOf(keptRun({ console: [{ atMs: 0, level: "info", text: "x".repeat(100_000) }] }));
  const [family, bytes] = [row[ROW_FAMILY], row[ROW_SIZE]];
  let waiting = 0;
  for (; pending.hasRoom(family, bytes); waiting += bytes) pending.add(1, row);
  assert.ok(waiting > 0.7 * BOUNDS.diskQueue && waiting < 0.75 * BOUNDS.diskQueue, `${waiting} bytes of one family`);
  const batch = pending.take()!;
  assert.ok(batch.rows.length > 1 && batch.rows.length * bytes < 2 ** 21);
  assert.equal(pending.hasRoom(family, bytes), false);
  pending.release(batch.rows);
  assert.equal(pending.hasRoom(family, bytes), true);
});

it("a family that floods while the disk stands still leaves a place to 50 other families", () => {
  const pending = new Pending(BOUNDS.diskQueue);
  const rows = Array.from({ length: 51 }, (_, at) => rowOf({ ...keptRun(), family: `f${at}` }));
  const add = (row: StoredRow): boolean => {
    const isAdded = pending.hasRoom(row[ROW_FAMILY], row[ROW_SIZE]);
    if (isAdded) pending.add(1, row);
    return isAdded;
  };
  const [flood, ...others] = rows;
  let added = 0;
  while (add(flood!)) added += 1;
  assert.ok(added * flood![ROW_SIZE] > 0.7 * BOUNDS.diskQueue);
  for (let at = 0; at < 20; at++) assert.ok(others.every(add));
  assert.equal(add(flood!), false);
});

it("a batch has the rows of one day, and days take turns", () => {
  const pending = new Pending(BOUNDS.diskQueue);
  const row = rowOf(keptRun());
  for (let at = 0; at < 3_000; at++) {
    pending.add(1, row);
    pending.add(2, row);
  }
  pending.omit(3, "f", "c");
  const days: number[] = [];
  let rows = 0;
  for (let batch = pending.take(); batch; batch = pending.take()) {
    days.push(batch.day);
    rows += batch.rows.length;
  }
  assert.equal(rows, 6_000);
  assert.deepEqual(days.slice(0, 3), [1, 2, 1]);
  assert.equal(days.at(-1), 3);
  assert.equal(pending.isEmpty, true);
});
