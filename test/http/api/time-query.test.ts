import assert from "node:assert/strict";
import { it } from "node:test";

import { parseTime } from "../../../src/http/api/time-query.ts";

it("a time is a date in UTC, or a date-time of RFC 3339 with any offset", () => {
  const noon = Date.UTC(2026, 10, 23, 12);
  assert.equal(parseTime("2026-11-23"), Date.UTC(2026, 10, 23));
  const same = [
    "2026-11-23T12:00:00Z",
    "2026-11-23t12:00:00z",
    "2026-11-23T12:00:00.000Z",
    "2026-11-23T13:30:00+01:30",
  ];
  for (const text of [...same, "2026-11-23T07:00:00-05:00"]) assert.equal(parseTime(text), noon, text);
  // A client that does not escape the plus sign sends a space.
  assert.equal(parseTime("2026-11-23T13:30:00 01:30"), noon);
});

it("every other text is no time", () => {
  const others = ["", "now", "1763899200", "2026-11", "2026-02-30", "2026-02-30T00:00:00Z", "2026-13-01", "26-11-23"];
  const almost = ["2026-11-23T12:00:00", "2026-11-23T12:00Z", "2026-11-23 12:00:00Z", "2026-11-23T25:00:00Z"];
  for (const text of [...others, ...almost, "2026-11-23T12:00:00+99:00", "+002026-11-23"]) {
    assert.equal(parseTime(text), null, text);
  }
});
