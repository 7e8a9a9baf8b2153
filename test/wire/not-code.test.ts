import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { notCode } from "../../src/wire/not-code.ts";

describe("notCode", () => {
  for (const [text, expected] of [
    ["```js\n1\n```", "fence"],
    ["\n  ```\n", "fence"],
    ["<!DOCTYPE html>", "page"],
    ["<!doctype\nHTML>", "page"],
    ["\u{FEFF} \t\r\n<HTML>", "page"],
    ["<!-- a --><!-- b -->\n<html>", "page"],
    ['<?xml version="1.0"?>\n<!-- a -->\n<!DOCTYPE html>', "page"],
    ["<head>", "page"],
    ['<?xml version="1.0"?><rss/>', "xml"],
    ["\u{FEFF}<?xml", "xml"],
  ] as const) {
    it(`recognizes ${expected} by the start of the text: ${JSON.stringify(text)}`, () =>
      assert.equal(notCode(text), expected));
  }

  it("returns null for code that contains HTML or a fence, or starts with similar characters", () => {
    for (const text of [
      "",
      "6 * 7",
      "'<!doctype html>'",
      "`<html>`",
      "<!-- a comment of JavaScript\n6 * 7",
      "<!-- one --> and code",
      "<header>",
      "// ```js\n6 * 7",
      "/* <html> */ 1",
    ]) {
      assert.equal(notCode(text), null, text);
    }
  });

  it("takes linear time and checks only the start of the text", () => {
    assert.equal(notCode(`${"<!---->".repeat(100_000)}x`), null);
    assert.equal(notCode(`${" ".repeat(10_000)}<html>`), null);
    assert.equal(notCode("<!--".repeat(1_000_000)), null);
  });
});
