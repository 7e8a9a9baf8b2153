import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { LeftRuns } from "../../../src/containers/guest/left-runs.ts";

describe("the runs that were left in a guest", () => {
  it("make only a caller wait that has left 16 within 30 seconds, until the first of these is as old", () => {
    const left = new LeftRuns();
    for (let at = 0; at < 16; at++) {
      assert.equal(left.waitMs("a", at), 0);
      left.add("a", at);
    }
    assert.deepEqual([left.waitMs("a", 20), left.waitMs("b", 20)], [29_980, 0]);
    assert.equal(left.waitMs("a", 30_000), 0);
    left.add("a", 30_000);
    assert.equal(left.waitMs("a", 30_000), 1, "the second of them is not as old");
  });

  it("are not kept one by one: a guest that may not drain can have any number", () => {
    const left = new LeftRuns();
    for (let id = 0; id < 100_000; id++) left.add(`c${id}`, id);
    assert.equal(left.size, 100_000);
    assert.equal(left.callers, 30_000, "those of the last 30 seconds");
  });
});
