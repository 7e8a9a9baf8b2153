import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { isBlank, withoutPreamble } from "../../src/source/text.ts";

describe("withoutPreamble", () => {
  it("returns the same buffer if there is nothing to remove", () => {
    for (const text of ["", "6 * 7", " \uFEFF6", "# no", "\n#!/bin/node"]) {
      const bytes = Buffer.from(text);
      assert.equal(withoutPreamble(bytes), bytes);
    }
  });

  it("removes a byte-order mark and the text of a first line #!, but keeps the line end", () => {
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
  it("is true for all white space of JavaScript", () => {
    for (const text of ["", " ", "\t\n\v\f\r ", "\u00A0", " \u2028\u2029\u3000\uFEFF\n"]) {
      assert.equal(isBlank(Buffer.from(text)), true, JSON.stringify(text));
    }
  });

  it("is false for any other text", () => {
    for (const text of ["6", "  ;", "\n\n// only a comment", "\0", "é", "\u00A0x", "\u200B"]) {
      assert.equal(isBlank(Buffer.from(text)), false, JSON.stringify(text));
    }
  });
});
