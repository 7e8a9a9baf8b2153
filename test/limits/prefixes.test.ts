import assert from "node:assert/strict";
import { test } from "node:test";

import * as fc from "fast-check";

import { distinctPrefixes, hasPrefix } from "../../src/limits/prefixes.ts";

const anyText = fc.string({ unit: fc.constantFrom("a", "b", "-"), maxLength: 4 });

test("a text begins with one of the prefixes exactly if the search among the distinct prefixes finds one", () => {
  fc.assert(
    fc.property(fc.array(anyText, { maxLength: 8 }), anyText, (prefixes, text) => {
      const distinct = distinctPrefixes(prefixes);
      assert.equal(
        hasPrefix(distinct, text),
        prefixes.some((prefix) => text.startsWith(prefix)),
      );
    }),
  );
});

test("distinct prefixes are in order, and none begins with another", () => {
  assert.deepEqual(distinctPrefixes(["b", "acme-1", "acme-", "b", "a", "Z"]), ["Z", "a", "b"]);
  assert.deepEqual(distinctPrefixes(["x", ""]), [""]);
  assert.deepEqual(distinctPrefixes([]), []);
});
