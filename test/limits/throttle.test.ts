import assert from "node:assert/strict";
import { it } from "node:test";

import { Throttle } from "../../src/limits/throttle.ts";
import type { Limits } from "../../src/limits/windows.ts";
import { HandClock } from "./stores/folder.ts";

function throttle(limits: Limits, maxKeys = 1_000): { throttle: Throttle; clock: HandClock } {
  const clock = new HandClock();
  return { throttle: new Throttle({ limits, maxKeys, clock }), clock };
}

/** Returns how many of the uses are admitted. */
function taken(under: Throttle, key: string, times: number): number {
  let count = 0;
  for (let time = 0; time < times; time++) if (under.take(key) === null) count++;
  return count;
}

it("a throttle admits the limit and not one more, for each key separately", () => {
  const { throttle: under } = throttle({ minute: 5 });
  assert.equal(taken(under, "a", 9), 5);
  assert.equal(taken(under, "b", 9), 5);
});

it("a throttle reports the exact wait, and counts no refused use", () => {
  const { throttle: under, clock } = throttle({ minute: 2, second: 1 });
  assert.equal(under.take("a"), null);
  clock.time += 400;
  assert.deepEqual(under.take("a"), {
    violations: [{ window: "second", limit: 1, retryAfterMs: 600 }],
    retryAfterMs: 600,
    first: true,
  });
  clock.time += 600;
  assert.equal(under.take("a"), null);
  const refused = under.take("a")!;
  assert.deepEqual(
    refused.violations.map(({ window, retryAfterMs }) => [window, retryAfterMs]),
    [
      ["second", 1_000],
      ["minute", 59_000],
    ],
  );
  for (let time = 0; time < 1_000; time++) under.take("a");
  clock.time += refused.retryAfterMs - 1;
  assert.equal(under.take("a")!.retryAfterMs, 1);
  clock.time += 1;
  assert.equal(under.take("a"), null);
});

it("a refusal reports whether it is the first since the last admitted use", () => {
  const { throttle: under, clock } = throttle({ second: 1 });
  under.take("a");
  assert.deepEqual([under.take("a")!.first, under.take("a")!.first], [true, false]);
  clock.time += 1_000;
  under.take("a");
  assert.equal(under.take("a")!.first, true);
});

it("a throttle never admits more than its limit for a key in constant use", () => {
  const { throttle: under, clock } = throttle({ minute: 300 });
  const times: number[] = [];
  for (let step = 0; step < 40_000; step++) {
    if (under.take("a") === null) times.push(clock.time);
    clock.time += 37;
  }
  for (const [at, time] of times.entries()) assert.ok((times[at + 300] ?? Infinity) >= time + 60_000, `${at}`);
  assert.ok(times.length >= 300 * 24, `${times.length}`);
});

it("a throttle holds at most its maximum of keys, and drops a key that was not used again", () => {
  const { throttle: under } = throttle({ minute: 1 }, 3);
  for (const key of ["a", "b", "c"]) under.take(key);
  assert.notEqual(under.take("a"), null);
  under.take("d");
  assert.equal(under.size, 3);
  assert.notEqual(under.take("a"), null, "used a moment ago");
  assert.ok(
    ["b", "c"].some((key) => under.take(key) === null),
    "one of the keys that were not used again is dropped",
  );
  for (let key = 0; key < 100_000; key++) {
    under.take(`flood-${key}`);
    assert.ok(under.size <= 3);
  }
});

it("a throttle keeps a key in constant use during a flood of other keys", () => {
  const { throttle: under } = throttle({ minute: 5 }, 100);
  let through = 0;
  for (let key = 0; key < 10_000; key++) {
    under.take(`flood-${key}`);
    if (key % 40 === 0 && under.take("goes on") === null) through++;
  }
  assert.equal(through, 5);
});

it("a throttle drops keys whose windows have passed when other keys are added", () => {
  const { throttle: under, clock } = throttle({ minute: 1 });
  for (let key = 0; key < 500; key++) under.take(`old-${key}`);
  assert.equal(under.size, 500);
  clock.time += 60_000;
  for (let key = 0; key < 300; key++) under.take(`new-${key}`);
  assert.equal(under.size, 300);
});

it("a throttle without limits refuses nothing", () => {
  const { throttle: under } = throttle({});
  assert.equal(taken(under, "a", 1_000), 1_000);
});
