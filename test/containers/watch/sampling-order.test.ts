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

it("all samples of a tick are taken if they are few", () => {
  const few = due(MOST_SAMPLES, false, 0);
  assert.equal(chooseSamples(few), few);
});

it("of many, the ones that have been due for longest are taken first", () => {
  const many = due(120, false, 0);
  assert.deepEqual(chooseSamples(many.toReversed()), many.slice(0, MOST_SAMPLES));
});

it("urgent samples come before others that have been due for longer, and take half of the tick at most", () => {
  const others = due(100, false, 0);
  const some = due(3, true, 1_000);
  assert.deepEqual(chooseSamples([...others, ...some]), [...some, ...others.slice(0, MOST_SAMPLES - 3)]);
  const many = due(100, true, 1_000);
  const chosen = chooseSamples([...many, ...others]);
  assert.deepEqual(chosen, [...many.slice(0, 25), ...others.slice(0, 25)]);
});

it("urgent samples take what others leave", () => {
  const many = due(100, true, 1_000);
  assert.deepEqual(chooseSamples(many), many.slice(0, MOST_SAMPLES));
});

it("the samples of many guests are spread evenly", () => {
  assert.deepEqual(
    [0, 50, 51, 100, 101, 210].map((guests) => leastBetweenMs(guests, 25)),
    [0, 0, 50, 50, 75, 125],
  );
});
