import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { LogAllowance, noteOf } from "../../src/wire/log-allowance.ts";

const LIMITS = { bytes: 1_000, linesPerSecond: 3 };

describe("the log allowance of a run", () => {
  it("keeps lines up to its byte limit, reports once that it is full, and drops all later lines", () => {
    const log = new LogAllowance(LIMITS);
    assert.deepEqual(
      [log.take(600, 0), log.take(400, 0), log.take(1, 5_000), log.take(1, 10_000), log.take(0, 1e9)],
      ["keep", "keep", "full", "drop", "drop"],
    );
  });

  it("keeps the allowed lines of a second, reports once a second that there were more, and keeps lines of the next second", () => {
    const log = new LogAllowance(LIMITS);
    const verdicts = [0, 1, 999, 999, 999, 1_000, 1_001, 1_500, 1_999, 2_000].map((nowMs) => log.take(1, nowMs));
    const [first, next] = [
      ["keep", "keep", "keep", "fast", "drop"],
      ["keep", "keep", "keep", "fast", "keep"],
    ];
    assert.deepEqual(verdicts, [...first, ...next]);
  });

  it("becomes full even if it consists mostly of notes about fast lines", () => {
    const log = new LogAllowance({ bytes: 1_000, linesPerSecond: 1 });
    const verdicts = Array.from({ length: 100 }, (_, index) => log.take(0, index * 500));
    assert.equal(verdicts.filter((verdict) => verdict === "full").length, 1);
    assert.equal(verdicts.at(-1), "drop");
  });

  it("names the exceeded limit", () => {
    assert.match(noteOf("full", LIMITS), /1000 bytes; the rest is dropped/);
    assert.match(noteOf("fast", LIMITS), /3 lines in a second; the rest of the second is dropped/);
  });
});
