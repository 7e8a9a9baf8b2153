import assert from "node:assert/strict";
import { describe, it } from "node:test";

import * as fc from "fast-check";

import { CodeFault } from "../../src/guest/faults.ts";
import { JsonPieces, PIECE_CHARS } from "../../src/guest/json-pieces.ts";
import { parseInTurns } from "../../src/guest/parse-in-turns.ts";

/** The characters of which JSON is made. */
const SYMBOLS = ["[", "]", "{", "}", ",", ":", '"', "\\", " ", "\n", "1", "-", "a", '"a"', '"b":', "null", "\u2028"];
const names = fc.constantFrom("a", "b", "__proto__", "constructor", "7", "34", "\\", "é", "");
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    fc.constantFrom<unknown>(0, -1.5, true, null, "", "text", '"', "\\", "[,{", "}]"),
    fc.array(tie("value"), { maxLength: 4 }),
    fc
      .array(fc.tuple(names, tie("value")), { maxLength: 4 })
      // JSON.parse makes `__proto__` an ordinary member.
      .map(
        (members) =>
          JSON.parse(
            `{${members.map(([name, each]) => `${JSON.stringify(name)}:${JSON.stringify(each)}`).join()}}`,
          ) as unknown,
      ),
  ),
}));
const texts = fc
  .tuple(fc.oneof(fc.array(value), fc.dictionary(names, value)), fc.constantFrom("", " ", "\t\n"))
  .map(([each, space]) => JSON.stringify(each, null, space));
/** Texts that are almost JSON. */
const broken = fc
  .tuple(texts, fc.nat(), fc.nat(3), fc.constantFrom("", ...SYMBOLS))
  .map(([text, place, removed, added]) => {
    const at = place % (text.length + 1);
    return text.slice(0, at) + added + text.slice(at + removed);
  });
const anyText = fc.oneof(
  texts,
  broken,
  fc.array(fc.constantFrom(...SYMBOLS), { maxLength: 14 }).map((all) => `[${all.join("")}]`),
  fc.array(fc.constantFrom(...SYMBOLS), { maxLength: 14 }).map((all) => `{"a":${all.join("")}}`),
);

function inPieces(text: string, pieceChars?: number): { value: unknown; steps: number } {
  const pieces = new JsonPieces(text, pieceChars);
  let steps = 1;
  while (pieces.step()) steps += 1;
  return { value: pieces.result(), steps };
}

function parsed(parse: () => unknown): { value: unknown } | "no JSON" {
  try {
    return { value: parse() };
  } catch (error) {
    assert.ok(error instanceof SyntaxError, String(error));
    return "no JSON";
  }
}

function nested(levels: number): string {
  return `${"[".repeat(levels)}${"]".repeat(levels)}`;
}

function wide(count: number): string {
  return `{${Array.from({ length: count }, (_, at) => `"k${at}":[]`).join()}}`;
}

describe("JSON that is parsed in pieces", () => {
  it("has the value that V8 reads, and is refused exactly if V8 refuses it", () => {
    fc.assert(
      fc.property(anyText, fc.nat(12), (text, pieceChars) => {
        const expected = parsed(() => JSON.parse(text));
        const actual = parsed(() => inPieces(text, pieceChars).value);
        assert.deepEqual(actual, expected);
        assert.equal(JSON.stringify(actual), JSON.stringify(expected));
      }),
      { numRuns: 3_000 },
    );
  });

  it("takes a number of steps that grows with its length, whatever contains its values", () => {
    const numbers = Array.from({ length: 100_000 }, (_, at) => at);
    const members = Object.fromEntries(numbers.map((at) => [`k${at}`, at]));
    for (const each of [numbers, { data: { rows: numbers } }, [members], numbers.map((at) => [{ at }])]) {
      const text = JSON.stringify(each);
      const { value: read, steps } = inPieces(text);
      assert.deepEqual(read, each);
      assert.ok(steps >= Math.floor(text.length / PIECE_CHARS / 2.1), `${steps} steps for ${text.length} characters`);
    }
  });

  it("has 500 levels and 10,000 members of the outermost object at most", () => {
    assert.deepEqual(inPieces(nested(500)).value, JSON.parse(nested(500)));
    assert.equal(Object.keys(inPieces(wide(10_000)).value as object).length, 10_000);
    for (const text of [nested(501), wide(10_001)]) assert.throws(() => inPieces(text), CodeFault);
  });

  it("does not delay a short text that arrives after a long one", async () => {
    const ended: string[] = [];
    const all = ["long", "short"].map(async (name) => {
      const pieces = new JsonPieces(JSON.stringify(Array(name === "long" ? 2_000_000 : 1).fill(1)));
      await parseInTurns(pieces, () => false);
      ended.push(name);
    });
    await Promise.all(all);
    assert.deepEqual(ended, ["short", "long"]);
  });

  it("is parsed no further when its run has ended", async () => {
    const pieces = new JsonPieces(JSON.stringify(Array(2_000_000).fill(1)));
    await parseInTurns(pieces, () => true);
    assert.equal(pieces.result(), undefined);
  });
});
