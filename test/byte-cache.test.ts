import assert from "node:assert/strict";
import { test } from "node:test";

import { ByteCache } from "../src/byte-cache.ts";

test("a full cache evicts its oldest entries first, however many there are", () => {
  const cache = new ByteCache<string>(100);
  for (const name of ["a", "b", "c"]) cache.add(name, `of ${name}`, 30, `of ${name}`);
  assert.deepEqual(
    ["a", "b", "c"].map((name) => cache.get(name)),
    ["of a", "of b", "of c"],
  );
  cache.add("d", "of d", 50, "of d");
  assert.deepEqual(
    ["a", "b", "c", "d"].map((name) => cache.get(name)),
    [undefined, undefined, "of c", "of d"],
  );
  cache.add("e", "of e", 20, "of e");
  assert.equal(cache.get("c"), "of c");
});

test("a value larger than the cache stays until the next value is added", () => {
  const cache = new ByteCache<string>(100);
  cache.add("small", "s", 1, "of small");
  cache.add("huge", "h", 1_000, "of huge");
  assert.deepEqual([cache.get("small"), cache.get("huge")], [undefined, "h"]);
  cache.add("other", "o", 1, "of other");
  assert.deepEqual([cache.get("huge"), cache.get("other")], [undefined, "o"]);
});

test("a cache keeps and counts the first value of a name", () => {
  const cache = new ByteCache<object>(100);
  const first = {};
  assert.equal(cache.add("a", first, 60, "of a"), first);
  assert.equal(cache.add("a", {}, 60, "of a"), first);
  cache.add("b", {}, 40, "of b");
  assert.equal(cache.get("a"), first);
});

test("a family uses at most a quarter of the cache, and evicts nothing of another family", () => {
  const cache = new ByteCache<string>(100);
  cache.add("quiet", "q", 20, "quiet");
  for (let at = 0; at < 100; at++) cache.add(`busy-${at}`, "b", 10, "busy");
  assert.equal(cache.get("quiet"), "q");
  const kept = Array.from({ length: 100 }, (_, at) => cache.get(`busy-${at}`)).filter(Boolean);
  assert.equal(kept.length, 2);
  assert.equal(cache.get("busy-99"), "b");
});
