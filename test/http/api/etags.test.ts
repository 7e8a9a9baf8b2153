import assert from "node:assert/strict";
import { it } from "node:test";

import { matches, matchesNone } from "../../../src/http/api/etags.ts";

const cases: [header: string, matchesStrongly: boolean, matchesWeakly: boolean][] = [
  ['"a"', true, true],
  ['W/"a"', false, true],
  ['"b", "a"', true, true],
  ['"b",W/"a"', false, true],
  ['"b"', false, false],
  ['"a,b"', false, false],
  ['"b,*,c"', false, false],
  ['"*"', false, false],
  [" * ", true, true],
  ["a", false, false],
  ['""', false, false],
  ["", false, false],
];
for (const [header, matchesStrongly, matchesWeakly] of cases) {
  it(`If-Match compares strongly and If-None-Match weakly: ${header}`, () => {
    assert.equal(matches("a", { "if-match": header }), matchesStrongly);
    assert.equal(matchesNone("a", { "if-none-match": header }), !matchesWeakly);
  });
}

it("a missing resource matches no tag, and a request without conditions always passes", () => {
  for (const header of ["*", '"a"']) {
    assert.equal(matches(null, { "if-match": header }), false);
    assert.equal(matchesNone(null, { "if-none-match": header }), true);
  }
  for (const etag of ["a", null]) {
    assert.ok(matches(etag, {}));
    assert.ok(matchesNone(etag, {}));
  }
});
