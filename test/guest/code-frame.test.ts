import assert from "node:assert/strict";
import { describe, it } from "node:test";

import * as fc from "fast-check";

import { codeFrame } from "../../src/guest/code-frame.ts";

/** Returns the character of the marked line that is above the `^`. */
function marked(frame: string): string | undefined {
  const lines = frame.split("\n");
  const at = lines.findIndex((line) => line.startsWith(">"));
  return lines[at]![lines[at + 1]!.indexOf("^")];
}

describe("a code frame", () => {
  it("has two lines before the position, two after it, and a mark below it", () => {
    const text = "one\ntwo\nthree\n  four\nfive\nsix\nseven";
    assert.equal(
      codeFrame(text, { line: 4, column: 3 }),
      "  2 | two\n  3 | three\n> 4 |   four\n    |   ^\n  5 | five\n  6 | six",
    );
  });

  it("has the lines that exist", () => {
    assert.equal(codeFrame("one", { line: 1, column: 1 }), "> 1 | one\n    | ^");
    assert.equal(codeFrame("one\n", { line: 2, column: 1 }), "  1 | one\n> 2 |\n    | ^");
    assert.equal(codeFrame("one", { line: 2, column: 1 }), null);
    assert.equal(codeFrame("one", { line: 999_999_999, column: 1 }), null);
  });

  it("aligns the numbers of its lines", () => {
    const text = Array.from({ length: 20 }, (_, at) => `line ${at + 1}`).join("\n");
    assert.equal(
      codeFrame(text, { line: 9, column: 6 }),
      "   7 | line 7\n   8 | line 8\n>  9 | line 9\n     |      ^\n  10 | line 10\n  11 | line 11",
    );
  });

  it("counts the line ends of JavaScript", () => {
    for (const end of ["\n", "\r\n", "\r", "\u2028", "\u2029"]) {
      const frame = codeFrame(["one", "two", "three"].join(end), { line: 2, column: 1 });
      assert.equal(frame, "  1 | one\n> 2 | two\n    | ^\n  3 | three", JSON.stringify(end));
    }
  });

  it("shows a tab as two spaces, with the mark in its place", () => {
    assert.equal(codeFrame("\t\tlet x\t= ;", { line: 1, column: 11 }), "> 1 |     let x  = ;\n    |              ^");
  });

  it("shows the part of a long line around the position", () => {
    const text = `${"a".repeat(5_000)}X${"b".repeat(5_000)}`;
    const frame = codeFrame(`short\n${text}\n${text}`, { line: 2, column: 5_001 })!;
    assert.equal(marked(frame), "X");
    assert.match(frame, /^> 2 \| …a{49}Xb{48}…$/m);
    assert.equal(marked(codeFrame(text, { line: 1, column: 3 })!), "a");
    const end = codeFrame(text, { line: 1, column: 10_002 })!.split("\n");
    assert.equal(end[1]!.length, end[0]!.length + 1);
  });

  it("has no characters that move or hide text", () => {
    const frame = codeFrame("a\u001b[2Jb\u202ec\u0000\u200bd\ufeff!", { line: 1, column: 1 })!;
    assert.equal(frame, "> 1 | a [2Jb c  d !\n    | ^");
  });

  it("stays below 2 KiB with its mark below the position, for any text", () => {
    const unit = fc.constantFrom(
      "a",
      "\t",
      "\n",
      "\r",
      "é",
      "€",
      "😀",
      "\ud83d",
      "\ude00",
      '"',
      "\u2028",
      "x".repeat(60),
    );
    fc.assert(
      fc.property(fc.array(unit, { maxLength: 60 }), fc.nat(10), fc.nat(400), (units, line, column) => {
        const frame = codeFrame(units.join(""), { line: line + 1, column: column + 1 });
        if (frame === null) return;
        assert.ok(Buffer.byteLength(frame) <= 2_048, `${Buffer.byteLength(frame)}`);
        assert.equal(frame.split("\n").filter((each) => each.startsWith(">")).length, 1);
        assert.equal(frame.split("\n").filter((each) => /^ +\| +\^$/.test(each)).length, 1);
      }),
    );
  });
});
