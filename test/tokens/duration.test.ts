import assert from "node:assert/strict";
import { test } from "node:test";

import { durationMs } from "../../src/tokens/duration.ts";

test("a duration is a whole number and its unit", () => {
  assert.deepEqual(
    ["500ms", "30s", "5m", "12h", "7d"].map(durationMs),
    [500, 30_000, 300_000, 43_200_000, 604_800_000],
  );
});

test("anything else is none", () => {
  for (const text of ["", "5", "5 m", "-5m", "1.5h", "5M", "m", "1h30m", "5m\n", "1e3s", "1234567890123s"]) {
    assert.equal(durationMs(text), undefined, text);
  }
});
