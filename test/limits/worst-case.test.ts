import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { documented, worstCases } from "../../bench/limits/worst-case.ts";

describe("the worst-case table of docs/explanation/limits.md", () => {
  it("has the figures and the picture that the adversary produces", async () => {
    const found = worstCases();
    const stated = await documented();
    assert.equal(stated.table, found.table, "run npm run bench:limits -- --write");
    assert.equal(stated.picture, found.picture, "run npm run bench:limits -- --write");
    const [own] = /\| cell log .*/.exec(found.table)!;
    assert.match(own, /\| +1000 \| +9[89]\.\d % \|/);
  });
});
