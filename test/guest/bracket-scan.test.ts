import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { isBalanced, wholeFunction } from "../../src/guest/bracket-scan.ts";

describe("a scan of brackets", () => {
  for (const text of [
    "f(1)(2)",
    '[\')\', "(\\")", `)`].map((a) => (a))',
    "f(1 /* ) */) // )",
    "a.replace(/[)/]\\/\\)/g, '(') * 2 * (b)",
    "f(a[0] / 2, b / (c))",
  ]) {
    it(`finds that each closing bracket follows its opening one: ${text}`, () => {
      assert.equal(isBalanced(text, "(", ")"), true);
    });
  }

  for (const text of [
    "1) , (2",
    "f(')'",
    "(a) / 2 /)/, (1)",
    "return /)/",
    "`${')'}`",
    "'\\u0028'.f(\\u0061",
    "1 <!-- )\n, (2",
    "// (\n/ 2) + (",
  ]) {
    it(`leaves any other text to V8: ${text}`, () => {
      assert.equal(isBalanced(text, "(", ")"), false);
    });
  }
});

describe("a text that is one function", () => {
  for (const [text, parameters] of [
    ["async (context) => { await f('}') }", "context"],
    [" // a\n(a, b) => { if (a) { return `}` } } // b\n", "a, b"],
    ["async context => { return context }", "context"],
    ["function main(context) { return 6 / 2 }", "context"],
    ["async function () { }", ""],
  ] as const) {
    it(`has its parameters: ${text}`, () => {
      assert.deepEqual(wholeFunction(text), { parameters });
    });
  }

  for (const text of [
    "(a) => { return a }, context",
    "(a) => { return a })(context",
    "(a) => a + 1",
    "(a = context) => { return a }",
    "({ context: a }) => { return context }",
    "async (await) => { }",
    "async\n(a) => { } { }",
    "function* () { }",
    "(a) => { /* } */",
    "function main(context) { return /}/.test(1 / 2) }",
  ]) {
    it(`is not ${text}`, () => {
      assert.equal(wholeFunction(text), null);
    });
  }
});
