import assert from "node:assert/strict";
import { it } from "node:test";

import { RunIds } from "../../src/telemetry/runs.ts";

it("a run's name is never given twice, by one process or by several", () => {
  const nodes = [new RunIds(), new RunIds(), new RunIds()];
  const names = nodes.flatMap((ids) => Array.from({ length: 2_000 }, () => ids.next()));
  assert.equal(new Set(names).size, 6_000);
});

it("a run's name can stand in a header, a path and a log line as it is", () => {
  const ids = new RunIds();
  for (let count = 0; count < 50; count++) assert.match(ids.next(), /^[0-9a-z]+-[0-9a-z]+$/);
});
