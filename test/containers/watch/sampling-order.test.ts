import assert from "node:assert/strict";
import { it } from "node:test";

import {
  chooseSamples,
  type DueSample,
  leastBetweenMs,
  MOST_SAMPLES,
} from "../../../src/containers/watch/sampling-order.ts";

function due(count: number, isUrgent: boolean, firstMs: number): DueSample[] {
  return Array.from({ length: count }, (_, index) => ({ dueMs: firstMs + index, isUrgent }));
}

it("a tick takes all due samples if they are few", () => {
  const few = due(MOST_SAMPLES, false, 0);
  assert.equal(chooseSamples(few), few);
});

it("a tick takes the samples first that have been due for longest", () => {
  const many = due(120, false, 0);
  assert.deepEqual(chooseSamples(many.toReversed()), many.slice(0, MOST_SAMPLES));
});

it("urgent samples come before samples that have been due for longer, and take at most half of the tick", () => {
  const others = due(100, false, 0);
  const some = due(3, true, 1_000);
  assert.deepEqual(chooseSamples([...others, ...some]), [...some, ...others.slice(0, MOST_SAMPLES - 3)]);
  const many = due(100, true, 1_000);
  const chosen = chooseSamples([...many, ...others]);
  assert.deepEqual(chosen, [...many.slice(0, 25), ...others.slice(0, 25)]);
});

it("urgent samples take the room that other samples leave", () => {
  const many = due(100, true, 1_000);
  assert.deepEqual(chooseSamples(many), many.slice(0, MOST_SAMPLES));
});

it("the samples of many guests are spread evenly", () => {
  assert.deepEqual(
    [0, 50, 51, 100, 101, 210].map((guests) => leastBetweenMs(guests, 25)),
    [0, 0, 50, 50, 75, 125],
  );
});
