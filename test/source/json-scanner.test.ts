import assert from "node:assert/strict";
import { it } from "node:test";

import * as fc from "fast-check";

import type { Problem } from "../../src/errors.ts";
import { JsonScanner, type Span } from "../../src/source/json-scanner.ts";
import { checkJson, parseJson } from "../../src/source/json.ts";

const DEPTH = 64;

/** Whether the scanner accepts a text if it reads `step` bytes at a time. */
function accepts(text: string, step = 1_000_000): boolean {
  const scanner = new JsonScanner(Buffer.from(text), DEPTH);
  try {
    while (!scanner.advance(step));
    return true;
  } catch {
    return false;
  }
}

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

it("the scanner accepts the texts that JSON.parse accepts, among valid and mutated texts", () => {
  const piece = fc.constantFrom(...'{}[]:,"\\/0123456789.-+eEtrufalsn \n\t\u0001bé'.split(""), "😀");
  fc.assert(
    fc.property(fc.json(), fc.nat(), fc.nat(4), fc.array(piece, { maxLength: 3 }), (text, at, gone, added) => {
      const from = at % (text.length + 1);
      const changed = (text.slice(0, from) + added.join("") + text.slice(from + gone)).toWellFormed();
      for (const each of [text, changed]) {
        for (const step of [1, 3, 1_000]) assert.equal(accepts(each, step), parses(each), JSON.stringify(each));
      }
    }),
    { numRuns: 2_000 },
  );
});

it("the scanner accepts the sequences of tokens that JSON.parse accepts", () => {
  const tokens = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    '"a"',
    "1",
    "-0.5e+3",
    "true",
    "null",
    " ",
    "01",
    "1.",
    "-",
    '"\\u00e9"',
  ];
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...tokens), { maxLength: 8 }), (sequence) => {
      assert.equal(accepts(sequence.join("")), parses(sequence.join("")), sequence.join(""));
    }),
    { numRuns: 5_000 },
  );
});

it("the scanner reports each member with the spans of its name and value, inner members first", () => {
  const text = '{"a": {"b":[1, {"c":"d"}]}, "e\\n":  null}';
  const reported: [number, string, string][] = [];
  const at = ({ start, end }: Span): string => text.slice(start, end);
  const member = (depth: number, name: Span, value: Span): void => void reported.push([depth, at(name), at(value)]);
  assert.ok(new JsonScanner(Buffer.from(text), DEPTH, { member }).advance(1_000));
  assert.deepEqual(reported, [
    [4, '"c"', '"d"'],
    [2, '"b"', '[1, {"c":"d"}]'],
    [1, '"a"', '{"b":[1, {"c":"d"}]}'],
    [1, '"e\\n"', "null"],
  ]);
});

it("a large body is checked in several turns of the event loop, so that the service stays responsive", async () => {
  let turns = 0;
  const timer = setInterval(() => (turns += 1), 0);
  await checkJson(Buffer.from(`[${"[],".repeat(1_300_000)}0]`), DEPTH);
  clearInterval(timer);
  assert.ok(turns >= 5, `${turns} turns`);
});

/** Returns the problem of a text, or null. */
async function problemOf(text: string): Promise<Problem | null> {
  try {
    await parseJson(Buffer.from(text), DEPTH);
    return null;
  } catch (error) {
    return error as Problem;
  }
}

it("a duplicate name in one object is rejected at any depth, but the same name in two objects is accepted", async () => {
  for (const text of [
    '{"a":1,"a":1}',
    '{"a":{"b":1,"c":[{"d":1}],"b":2}}',
    '[{"x":{}},{"x":{},"x":{}}]',
    String.raw`{"\u0061":1,"a":1}`,
    '{"__proto__":1,"__proto__":2}',
  ]) {
    assert.match((await problemOf(text))!.message, /occurs twice$/, text);
  }
  for (const text of ['[{"a":1},{"a":1}]', '{"a":{"a":{"a":1}},"b":{"a":1}}', '{"a":[],"b":{"b":1}}']) {
    assert.equal(await problemOf(text), null, text);
  }
});
