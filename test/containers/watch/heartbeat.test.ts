import assert from "node:assert/strict";
import { it } from "node:test";

import { Heartbeat, idlePingMs, isPingDue } from "../../../src/containers/watch/heartbeat.ts";

it("accepts only the answer to the last ping, and only once", () => {
  const heartbeat = new Heartbeat();
  assert.equal(heartbeat.accept(0), false);
  const nonce = heartbeat.ping(100);
  assert.equal(heartbeat.accept(nonce ^ 1), false);
  assert.equal(heartbeat.pingedMs, 100);
  assert.equal(heartbeat.accept(nonce), true);
  assert.deepEqual([heartbeat.pingedMs, heartbeat.lastPingMs], [null, 100]);
  assert.equal(heartbeat.accept(nonce), false);
  // A guest cannot guess the next nonce from the last one.
  assert.equal(new Set(Array.from({ length: 50 }, () => heartbeat.ping(200))).size, 50);
});

it("settles all waiting callers when the answer arrives and when the guest ends", async () => {
  const heartbeat = new Heartbeat();
  await heartbeat.settled();
  for (const way of ["answer", "end"]) {
    const nonce = heartbeat.ping(0);
    const waiting = [heartbeat.settled(), heartbeat.settled()];
    assert.equal(heartbeat.isOverdue(249), false);
    assert.equal(heartbeat.isOverdue(250), true);
    if (way === "answer") heartbeat.accept(nonce);
    else heartbeat.end();
    await Promise.all(waiting);
    assert.equal(heartbeat.isOverdue(1_000), false);
  }
});

it("is due after a second without runs, after 100 ms with runs, and 50 ms after the last ping if a run is new", () => {
  const table = [
    { runs: 0, ranMs: 0, dueMs: 11_000 },
    { runs: 0, ranMs: 10_001, dueMs: 11_000 },
    { runs: 1, ranMs: 9_999, dueMs: 10_100 },
    { runs: 1, ranMs: 10_001, dueMs: 10_050 },
  ];
  for (const { runs, ranMs, dueMs } of table) {
    const guest = { inFlight: { size: runs }, ranMs, heartbeat: { lastPingMs: 10_000 } };
    assert.deepEqual(
      [dueMs - 1, dueMs].map((nowMs) => isPingDue(guest, nowMs, 1_000)),
      [false, true],
      JSON.stringify(guest),
    );
  }
});

it("pings each of many guests without runs more rarely, up to every five seconds, and a guest with runs as often as before", () => {
  assert.deepEqual(
    [0, 1, 100, 101, 300, 500, 501, 100_000].map((guests) => idlePingMs(guests)),
    [1_000, 1_000, 1_000, 1_010, 3_000, 5_000, 5_000, 5_000],
  );
  for (const [runs, dueMs] of [
    [0, 15_000],
    [1, 10_100],
  ] as const) {
    const guest = { inFlight: { size: runs }, ranMs: 0, heartbeat: { lastPingMs: 10_000 } };
    assert.deepEqual(
      [dueMs - 1, dueMs].map((nowMs) => isPingDue(guest, nowMs, idlePingMs(500))),
      [false, true],
    );
  }
});
