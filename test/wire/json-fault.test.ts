import assert from "node:assert/strict";
import { describe, it } from "node:test";

import * as fc from "fast-check";

import * as json from "../../src/wire/json-fault.ts";

function findJsonFault(text: string): string {
  const { what, line, column } = json.findJsonFault(text);
  return `${what} at line ${line}, column ${column}`;
}

describe("findJsonFault", () => {
  it("reports the position and what is expected there", () => {
    for (const [text, fault] of [
      ["", "a value is expected at line 1, column 1"],
      ["abc", "a value is expected at line 1, column 1"],
      ["[1,]", "a value is expected at line 1, column 4"],
      ["[", "a value or ] is expected at line 1, column 2"],
      ["[1 2]", "a comma or ] is expected at line 1, column 4"],
      ["[1}", "a comma or ] is expected at line 1, column 3"],
      ['{"a": 1\n "b": 2}', "a comma or } is expected at line 2, column 2"],
      ["{'a': 1}", "a member name in double quotes or } is expected at line 1, column 2"],
      ['{"a": 1,}', "a member name in double quotes is expected at line 1, column 9"],
      ['{"a" 1}', "a colon is expected at line 1, column 6"],
      ['{"a": TRUE}', "a value is expected at line 1, column 7"],
      ['{"a": 1} x', "nothing more is expected at line 1, column 10"],
      ["01", "nothing more is expected at line 1, column 2"],
    ] as const) {
      assert.equal(findJsonFault(text), fault, text);
    }
  });

  it("reports the position inside a string at which the string is invalid", () => {
    const broken = "the string ends or has an unescaped line break, control character or backslash at";
    assert.equal(findJsonFault('{"code": "a\nb"}'), `${broken} line 1, column 12`);
    assert.equal(findJsonFault('"abc'), `${broken} line 1, column 5`);
    assert.equal(findJsonFault(String.raw`["\x"]`), `${broken} line 1, column 3`);
    assert.equal(findJsonFault('{"a\tb": 1}'), `${broken} line 1, column 4`);
  });

  it("does not quote the text", () => {
    assert.ok(!findJsonFault('{"data": "hunter2" "code"}').includes("hunter2"));
  });

  it("finds a position in every text that JSON.parse rejects, and never behind the position that JSON.parse reports", () => {
    const pieces = fc.constantFrom(
      ...'{}[],:"'.split(""),
      '"a"',
      '\\"',
      "\\u00e9",
      "\n",
      " ",
      "1",
      "-0.5e3",
      "true",
      "\u007f",
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 12 }), (parts) => {
        const text = parts.join("");
        try {
          JSON.parse(text);
          return;
        } catch (error) {
          const position = /line (\d+), column (\d+)$/.exec(findJsonFault(text));
          assert.ok(position, text);
          const nodePosition = /line (\d+) column (\d+)/.exec(String(error));
          if (nodePosition) assert.ok(comparePositions(position, nodePosition) <= 0, text);
        }
      }),
      { numRuns: 5_000 },
    );
  });

  it("accepts strings and nesting of any size", () => {
    assert.match(findJsonFault(`"${"a".repeat(4_000_000)}`), /column 4000002$/);
    assert.match(findJsonFault("[".repeat(1_000_000)), /column 1000001$/);
    assert.match(findJsonFault(`"${String.raw`\n`.repeat(4_000_000)}`), /column 8000002$/);
    assert.match(findJsonFault(`"${String.raw`\n`.repeat(4_000_000)}\\q"`), /column 8000002$/);
    assert.match(findJsonFault(`[${String.raw`"\u00e9",`.repeat(500_000)}`), /column 4500002$/);
    assert.match(findJsonFault("\n".repeat(8_000_000)), /line 8000001, column 1$/);
    assert.match(findJsonFault(`${"1".repeat(8_000_000)}x`), /column 8000001$/);
  });
});

function comparePositions(a: RegExpExecArray, b: RegExpExecArray): number {
  return Number(a[1]) - Number(b[1]) || Number(a[2]) - Number(b[2]);
}
