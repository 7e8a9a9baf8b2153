import assert from "node:assert/strict";
import { it } from "node:test";

import { priorityOf } from "../../../src/containers/watch/cpu-priority.ts";

it("a guest has a high priority until its first answer, for at most 150 ms, and not if it is a hog", () => {
  const unused = { answered: 0, begunMs: Infinity };
  const begun = { answered: 0, begunMs: 1_000 };
  const table = [
    { guest: unused, isHog: false, nowMs: 90_000, is: "high" },
    { guest: begun, isHog: false, nowMs: 1_150, is: "high" },
    { guest: begun, isHog: false, nowMs: 1_151, is: "normal" },
    { guest: { ...begun, answered: 1 }, isHog: false, nowMs: 1_001, is: "normal" },
    { guest: begun, isHog: true, nowMs: 1_001, is: "busy" },
    { guest: unused, isHog: true, nowMs: 1_001, is: "busy" },
  ];
  for (const { guest, isHog, nowMs, is } of table) assert.equal(priorityOf(guest, isHog, nowMs), is);
});
