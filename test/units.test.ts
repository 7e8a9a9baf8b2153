import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { formatDuration, formatSize, parseDuration, parseSize } from "../src/units.ts";

describe("durations and sizes", () => {
  it("are parsed with their unit", () => {
    assert.deepEqual(
      ["500ms", "30s", "5m", "12h", "7d"].map(parseDuration),
      [500, 30_000, 300_000, 43_200_000, 604_800_000],
    );
    assert.deepEqual(["1B", "64KiB", "256MiB", "2GiB"].map(parseSize), [1, 65_536, 268_435_456, 2_147_483_648]);
  });

  for (const text of ["30", "s", "-1s", "1.5s", "1 s", "1S", "0x1s", "999999999999d", "toString", ""]) {
    it(`are not parsed from ${JSON.stringify(text)}`, () => {
      assert.throws(() => parseDuration(text), TypeError);
      assert.throws(() => parseSize(text.replace("s", "MB")), TypeError);
    });
  }

  it("are formatted in the largest unit that divides them", () => {
    assert.deepEqual([0, 500, 2_000, 90_000, 3_600_000].map(formatDuration), ["0ms", "500ms", "2s", "90s", "1h"]);
    assert.deepEqual([512, 65_536, 2 ** 28].map(formatSize), ["512B", "64KiB", "256MiB"]);
  });
});
