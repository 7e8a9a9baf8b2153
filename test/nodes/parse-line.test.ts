import assert from "node:assert/strict";
import { it } from "node:test";

import { parseLine } from "../../src/nodes/parse-line.ts";

it("a line is parsed whatever its strings contain, and counts only what is outside of them", () => {
  for (const value of [
    ...["", '"', "\\", '\\"', "[".repeat(20_000), ",:{}".repeat(20_000), '\\"['.repeat(9_000)],
    ...[null, 0, {}, [], { a: [{ b: "]" }] }, Array.from({ length: 9_900 }, () => 0)],
  ]) {
    assert.deepEqual(parseLine(JSON.stringify(value)), value);
    assert.deepEqual(parseLine(JSON.stringify({ '"[': value }, null, 1)), { '"[': value });
  }
});

it("a line with too many parts or levels is rejected before it is built, and so is a line that is not JSON", () => {
  for (const text of [
    ...[`[${"0,".repeat(10_000)}0]`, "[{}".repeat(10_000), `{"a":[${"[],".repeat(6_000)}0]}`],
    ...["[".repeat(129) + "]".repeat(129), '{"a":'.repeat(200), `{${'"a":0,'.repeat(6_000)}"b":0}`],
  ]) {
    assert.throws(() => parseLine(text), /^Error: a line has more than/, text.slice(0, 20));
  }
  for (const text of ["", "[", '"', '"\\', "{]", "0 0", "]".repeat(200_000)]) {
    assert.throws(() => parseLine(text), SyntaxError, text.slice(0, 20));
  }
});
