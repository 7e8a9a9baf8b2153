import assert from "node:assert/strict";
import { it } from "node:test";

import { Page } from "../../src/limits/page.ts";

it("a page has the first names after a given one, each once and in order, for names in any order", () => {
  const names = Array.from({ length: 20_000 }, (_, index) => `n${(index * 7_919) % 20_000}`);
  const sorted = names.toSorted();
  for (const [after, count] of [
    ["", 10],
    ["n5", 1_001],
    ["n99", 700],
    ["", 1],
    ["n0", 30_000],
  ] as const) {
    const page = new Page(after, count);
    for (const name of [...names, ...sorted, ...sorted.toReversed()]) page.add(name);
    assert.deepEqual(page.names(), sorted.filter((name) => name > after).slice(0, count), `${count} after ${after}`);
  }
});

it("a page without names is empty", () => {
  const page = new Page("m", 5);
  page.add("a");
  page.add("m");
  assert.deepEqual(page.names(), []);
});
