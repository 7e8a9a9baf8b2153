import assert from "node:assert/strict";
import { it } from "node:test";

import { traceparentOf } from "../../../src/http/run/traceparent.ts";

const FIELDS = "0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

it("a traceparent of version 00 is taken as it is", () => {
  assert.equal(traceparentOf(`00-${FIELDS}`), `00-${FIELDS}`);
});

it("a traceparent of a later version is taken in the form of version 00, without further fields", () => {
  assert.equal(traceparentOf(`01-${FIELDS}`), `00-${FIELDS}`);
  assert.equal(traceparentOf(`cc-${FIELDS}-what-the-future-brings`), `00-${FIELDS}`);
});

it("any other traceparent is ignored, so that the run belongs to no trace", () => {
  const invalid = [
    undefined,
    "",
    [`00-${FIELDS}`],
    `ff-${FIELDS}`,
    `00-${FIELDS}-more`,
    `01-${FIELDS}.more`,
    `00-${FIELDS.toUpperCase()}`,
    `00-${"0".repeat(32)}-b7ad6b7169203331-01`,
    `00-0af7651916cd43dd8448eb211c80319c-${"0".repeat(16)}-01`,
    `00-${FIELDS}, 00-${FIELDS}`,
    `01-${"0".repeat(32)}-b7ad6b7169203331-01`,
  ];
  for (const header of invalid) assert.equal(traceparentOf(header), null, String(header));
});
