import assert from "node:assert/strict";
import { it } from "node:test";

import { RunIds } from "../../src/telemetry/run-ids.ts";

it("the id of a run is unique, within a process and between processes", () => {
  const nodes = [new RunIds(), new RunIds(), new RunIds()];
  const names = nodes.flatMap((ids) => Array.from({ length: 2_000 }, () => ids.next()));
  assert.equal(new Set(names).size, 6_000);
});

it("the id of a run needs no escapes in a header, a path or a log line", () => {
  const ids = new RunIds();
  for (let count = 0; count < 50; count++) assert.match(ids.next(), /^[0-9a-z]+-[0-9a-z]+$/);
});
