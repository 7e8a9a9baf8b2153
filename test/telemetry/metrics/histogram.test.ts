import assert from "node:assert/strict";
import { it } from "node:test";

import { BOUNDS_SECONDS, Histogram } from "../../../src/telemetry/metrics/histogram.ts";

/** The number of observations up to a bound. */
function upTo(histogram: Histogram, seconds: number): number {
  return histogram.cumulative()[BOUNDS_SECONDS.indexOf(seconds)]!;
}

it("an observation counts in the bucket of its time and in all longer ones, and a bound belongs to its bucket", () => {
  const histogram = new Histogram();
  for (const milliseconds of [0, 1, 1.1, 300_001]) histogram.observe(milliseconds);
  assert.equal(upTo(histogram, 0.0005), 1);
  assert.equal(upTo(histogram, 0.001), 2);
  assert.equal(upTo(histogram, 0.0025), 3);
  assert.equal(upTo(histogram, 300), 3);
  assert.equal(histogram.count, 4);
  assert.equal(Math.round(histogram.sum * 1e4), 3_000_031);
});

it("several observations of one time count each", () => {
  const histogram = new Histogram();
  histogram.observe(500, 3);
  assert.deepEqual([histogram.count, histogram.sum, upTo(histogram, 0.25), upTo(histogram, 0.5)], [3, 1.5, 0, 3]);
});

it("a time that is no time counts as 0, so that the sum stays a number", () => {
  const histogram = new Histogram();
  for (const milliseconds of [-1, Number.NaN, Infinity]) histogram.observe(milliseconds);
  assert.deepEqual([histogram.count, histogram.sum, upTo(histogram, 0.0001)], [3, 0, 3]);
});
