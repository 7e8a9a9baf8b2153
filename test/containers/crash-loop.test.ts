import assert from "node:assert/strict";
import { it } from "node:test";

import { CrashLoop } from "../../src/containers/crash-loop.ts";

const FREE_MS = 6_000;

it("two deaths at once cause no wait, and each further death doubles the wait, up to five seconds", () => {
  const crashes = new CrashLoop();
  let nowMs = 1_000_000;
  const waits = Array.from({ length: 12 }, () => {
    // The deaths are so far apart that only the number of consecutive deaths counts.
    nowMs += FREE_MS;
    crashes.died(nowMs, 3, false);
    return crashes.waitMs(nowMs);
  });
  assert.deepEqual(waits, [0, 0, 100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000, 5_000]);
  assert.equal(crashes.waitMs(nowMs + 4_999), 1);
  assert.equal(crashes.waitMs(nowMs + 5_000), 0);
});

it("one healthy run clears the wait, and so does a guest that lived for long", () => {
  for (const [livedMs, healthy] of [
    [3, true],
    [5_001, false],
  ] as const) {
    const crashes = new CrashLoop();
    let nowMs = 0;
    for (let death = 0; death < 6; death++) crashes.died((nowMs += FREE_MS), 3, false);
    assert.ok(crashes.waitMs(nowMs) > 0);
    crashes.died((nowMs += FREE_MS), livedMs, healthy);
    assert.equal(crashes.waitMs(nowMs), 0);
    crashes.died((nowMs += FREE_MS), 3, false);
    assert.equal(crashes.waitMs(nowMs), 0);
  }
});

it("at most five guests are replaced within five seconds, healthy or not", () => {
  const crashes = new CrashLoop();
  for (let death = 0; death < 5; death++) {
    assert.equal(crashes.waitMs(death * 10), 0);
    crashes.died(death * 10, 5, true);
  }
  assert.equal(crashes.waitMs(100), 4_900);
  assert.equal(crashes.waitMs(4_999), 1);
  assert.equal(crashes.waitMs(5_000), 0);
  crashes.died(5_000, 5, true);
  assert.equal(crashes.waitMs(5_000), 10);
});
