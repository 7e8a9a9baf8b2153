import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { isBlank, withoutPreamble } from "../../src/source/text.ts";

describe("withoutPreamble", () => {
  it("gives the very same buffer when there is nothing to drop", () => {
    for (const text of ["", "6 * 7", " \uFEFF6", "# no", "\n#!/bin/node"]) {
      const bytes = Buffer.from(text);
      assert.equal(withoutPreamble(bytes), bytes);
    }
  });

  it("drops a byte-order mark and the words of a first line #!, and keeps the line", () => {
    for (const [text, rest] of [
      ["\uFEFF6 * 7", "6 * 7"],
      ["#!/usr/bin/env node\n6 * 7", "\n6 * 7"],
      ["\uFEFF#!/usr/bin/env node\r\n6 * 7\n", "\n6 * 7\n"],
      ["#!/usr/bin/env node", ""],
      ["\uFEFF", ""],
    ] as const) {
      assert.equal(withoutPreamble(Buffer.from(text)).toString(), rest);
    }
  });
});

describe("isBlank", () => {
  it("takes all that JavaScript calls white space for blank", () => {
    for (const text of ["", " ", "\t\n\v\f\r ", "\u00A0", " \u2028\u2029\u3000\uFEFF\n"]) {
      assert.equal(isBlank(Buffer.from(text)), true, JSON.stringify(text));
    }
  });

  it("takes nothing else for blank", () => {
    for (const text of ["6", "  ;", "\n\n// only a comment", "\0", "é", "\u00A0x", "\u200B"]) {
      assert.equal(isBlank(Buffer.from(text)), false, JSON.stringify(text));
    }
  });
});
