import assert from "node:assert/strict";
import { test } from "node:test";

import { LineShare } from "../../src/telemetry/line-share.ts";

test("a family has a limited number of lines a minute, and its next minute reports the omitted lines", () => {
  const share = new LineShare(3);
  const lines = [0, 1, 2, 3, 4, 59_999].map((ms) => share.admit("a", ms));
  assert.deepEqual(lines, [0, 0, 0, null, null, null]);
  assert.equal(share.admit("b", 5), 0);
  assert.equal(share.admit("a", 60_000), 3);
  assert.equal(share.admit("a", 60_001), 0);
  assert.equal(share.admit("a", 120_000), 0);
});

test("the number of remembered families is limited, and the newest families keep their count", () => {
  const share = new LineShare(1);
  for (let at = 0; at < 20_000; at++) assert.equal(share.admit(`f${at}`, at / 1_000), 0);
  assert.equal(share.admit("f19999", 21), null);
  assert.equal(share.admit("f0", 21), 0);
});
