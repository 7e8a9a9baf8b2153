import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { GuestProcess } from "./guest-process.ts";

describe("the forms of code", () => {
  let guest: GuestProcess;
  before(async () => {
    guest = await GuestProcess.start();
  });
  after(() => guest.close());

  const needsContext = async (text: string): Promise<number | undefined> => {
    const code = guest.code(text);
    await guest.start(code).outcome;
    return guest.compiled.get(code);
  };

  const VALUES: [title: string, text: string, value: unknown][] = [
    ["an expression results in its value", "6 * 7", 42],
    ["a semicolon after an expression is ignored", "6 * 7;\n", 42],
    ["a semicolon and comments after an expression are ignored", "6 * 7; // the answer\n/* yes */ ;", 42],
    ["a comment after an expression does not hide the wrapper", "6 * 7 // the answer", 42],
    ["a text that begins with a brace is parsed as an object before it is parsed as a block", "{ a: 1 }", { a: 1 }],
    ["a block that is not an object is a body", "{ const a = 1; return a }", 1],
    ["an expression may await", "await Promise.resolve(42)", 42],
    ["an expression may call import()", "(await import('node:path')).posix.sep", "/"],
    ["a body returns its value", "const x = 6; return x * 7", 42],
    ["a body may await", "const x = await 6; return x * 7", 42],
    ["a body without return results in null", "const x = 6;", null],
    ["a body has require", "const { sep } = require('node:path'); return sep", "/"],
    ["a body can require built-in modules without the node: prefix", "return require('path').sep", "/"],
    ["an expression with two bracketed parts is one expression", "(1) + (2)", 3],
    ["a function expression is called", "() => 42;", 42],
    ["a function that awaits is called", "async () => { return await Promise.resolve('}') } // {", "}"],
    ["a function may take context by another name", "({ container: context }) => { return context }", "demo"],
    ["what follows a function is a part of the expression", "((a) => { return a }, context.container)", "demo"],
    ["a function declaration is called", "function main(context) { return context.container }", "demo"],
    ["an ES module is recognized by its export", "export default async (context) => ({ sum: 1 + 2 })", { sum: 3 }],
    ["an ES module is recognized by its import", "import { sep } from 'node:path'; export default () => sep", "/"],
    ["an ES module may export a value", "export default 5", 5],
    ["an ES module that exports nothing results in null", "import 'node:path'; const a = 1;", null],
    ["an ES module may declare the names of a body's parameters", "const require = 5; export default require", 5],
    ["module.exports overrides the value", "module.exports = () => 'exported'; return 'value'", "exported"],
    ["exports.default is the default export", "exports.default = () => 9", 9],
    [
      "the default of a transpiled module is the default export",
      "Object.defineProperty(exports, '__esModule', { value: true }); exports.default = () => 9",
      9,
    ],
    ["types are stripped from an expression", "(x => x as number)(7 as number)", 7],
    ["types are stripped from a body", "const x: number = 6;\nreturn x * 7", 42],
    [
      "types are stripped from an ES module",
      "export default (context: { container: string }): string => context.container",
      "demo",
    ],
    ["a type argument of a call is not a comparison", "function f<T>(x: T): T { return x }\nreturn f<number>(7)", 7],
    ["a comparison stays a comparison", "const a = 1, b = 2, c = 3; return a<b && b<(c)", true],
    ["a byte-order mark and a first line #! are ignored", "\u{feff}#!/usr/bin/env node\nreturn 5", 5],
    ["a text of only comments results in null", "// nothing yet", null],
    ["a body may use sloppy mode", "var o = { a: 1 }; with (o) { return a }", 1],
    ["a body may use strict mode", "'use strict'; return (function () { return this === undefined })()", true],
  ];
  for (const [title, text, value] of VALUES) {
    it(title, async () => {
      assert.deepEqual(await guest.value(text), value);
    });
  }

  it("mean the same in a guest that has had many texts", async () => {
    await using used = await GuestProcess.start();
    await used.sendTexts(120);
    for (const [title, text, value] of VALUES) assert.deepEqual(await used.value(text), value, title);
  });

  it("the types of code sent as TypeScript are stripped before it is parsed", async () => {
    assert.equal(await guest.value("const a = 1, b = 2, c = 0; return a as number", {}, { typescript: true }), 1);
  });

  it("a text that closes the wrapper is neither an expression nor a body", async () => {
    for (const text of [
      "1) , (2",
      "}) ; evil(",
      "} function x() {",
      "1 }) ; (async function () { return (await 2",
      "await 1) , (2",
      '"(" ) , ( ")"',
      "'(' ) , ( 2",
      "/[(]/ ) , ( 2",
      "`(` ) , ( `)`",
      "1 /* ( */ ) , ( 2 /* ) */",
      '"\\"(" ) , ( ")\\""',
    ]) {
      assert.equal((await guest.fault(text)).code, "code_syntax", text);
    }
  });

  it("an expression and a body are evaluated again by each run", async () => {
    for (const text of [
      "globalThis.count = (globalThis.count ?? 0) + 1",
      "globalThis.other = (globalThis.other ?? 0) + 1; return await other",
    ]) {
      const code = guest.code(text);
      assert.equal((await guest.start(code).outcome).result, "1");
      assert.equal((await guest.start(code).outcome).result, "2");
      assert.equal(guest.compiled.get(code), 0);
    }
  });

  it("a function keeps its module state between runs", async () => {
    const texts = [
      "let n = 0; module.exports = () => ++n",
      "let n = 0; export default () => ++n",
      "let n = 0; return () => ++n",
      "let n = await 0; module.exports = () => ++n",
    ];
    for (const text of texts) {
      const code = guest.code(text);
      const outcomes = await Promise.all([
        guest.start(code).outcome,
        guest.start(code).outcome,
        guest.start(code).outcome,
      ]);
      assert.deepEqual(
        outcomes.map(({ result }) => result),
        ["1", "2", "3"],
        text,
      );
    }
  });

  it("a module whose evaluation threw is evaluated again by the next run", async () => {
    const code = guest.code(
      "globalThis.tries = (globalThis.tries ?? 0) + 1; if (tries < 2) throw new Error('not yet'); export default () => tries",
    );
    assert.equal((await guest.start(code).outcome).fault?.code, "task_threw");
    assert.equal((await guest.start(code).outcome).result, "2");
  });

  it("an evaluation that never ends blocks other runs for a moment only, and these do not wait for each other", async () => {
    const code = guest.code(
      "globalThis.calls = (globalThis.calls ?? 0) + 1; if (calls < 3) await new Promise(() => {}); return calls",
    );
    const endless = [guest.start(code), guest.start(code)];
    assert.equal((await guest.start(code).outcome).result, "3");
    for (const { id } of endless) guest.abort(id, "gone");
  });

  it("a preflight waits for the first evaluation for a second, and does not execute code without a fetch handler", async () => {
    const code = guest.code(
      "globalThis.times = (globalThis.times ?? 0) + 1; await new Promise((resolve) => { globalThis.finish = resolve }); return times",
    );
    const first = guest.start(code);
    const preflights = [1, 2, 3].map(() => guest.start(code, {}, { isPreflight: true }));
    for (const { outcome } of preflights) assert.equal((await outcome).result, "null");
    const waiting = guest.start(code, {}, { isPreflight: true });
    assert.equal(await guest.value("finish(), times"), 1);
    assert.equal((await first.outcome).result, "1");
    assert.equal((await waiting.outcome).result, "null");
    assert.equal(await guest.value("times"), 1);
    const late = guest.code(
      "await new Promise((resolve) => setTimeout(resolve, 200)); return { fetch: () => new Response('own') }",
    );
    const runs = [guest.start(late), guest.start(late, {}, { isPreflight: true })];
    for (const { outcome } of runs) assert.equal((await outcome).body, "own");
  });

  it("of functions that several first evaluations result in, the first is kept, with its module state", async () => {
    const code = guest.code("let n = 0; await new Promise((resolve) => setTimeout(resolve, 300)); return () => ++n");
    const outcomes = await Promise.all([1, 2, 3].map(() => guest.start(code).outcome));
    assert.deepEqual(
      outcomes.map(({ result }) => result),
      ["1", "2", "3"],
    );
    assert.equal((await guest.start(code).outcome).result, "4");
  });

  it("the guest reports whether code takes a context", async () => {
    assert.equal(await needsContext("() => 42"), 0);
    assert.equal(await needsContext("async function main( /* nothing */ ) { return 1 }"), 0);
    assert.equal(await needsContext("module.exports = (cb) => cb(null, 1)"), 0);
    assert.equal(await needsContext("(context) => 1"), 1);
    assert.equal(await needsContext("(context = {}) => 1"), 1);
    assert.equal(await needsContext("(...all) => 1"), 1);
    assert.equal(await needsContext("function f() { return arguments.length }"), 1);
    assert.equal(await needsContext("export default { fetch() { return new Response('') } }"), 1);
  });

  it("code that takes no context runs without a context", async () => {
    assert.equal((await guest.start(guest.code("() => 42"), null).outcome).result, "42");
  });

  it("forgotten code may be sent again with another id", async () => {
    const code = guest.code("() => 1");
    await guest.start(code).outcome;
    guest.forget(code);
    assert.equal(await guest.value("() => 1"), 1);
  });
});

describe("a body that gives the value of its last statement", () => {
  let guest: GuestProcess;
  before(async () => {
    guest = await GuestProcess.start();
  });
  after(() => guest.close());

  const VALUES: [text: string, value: unknown][] = [
    ["const a = 6; a * 7", 42],
    ["const a = 6\na * 7", 42],
    ["const a = 6; // six\n// seven\na *\n  7; // done\n", 42],
    ["const a = await Promise.resolve(6);\nawait Promise.resolve(a * 7)", 42],
    ["if (globalThis.never) return 1;\n[1, 2].length", 2],
    ["const a: number = 6;\na * 7", 42],
    ["function f() { return 1 }\nf()", 1],
    ["for (const a of [1]) {}\n({ a: 1 })", { a: 1 }],
    ["const f = () => 1\nmodule.exports = () => 2", 2],
    ["const a = 6; return a", 6],
    ["let a = 1\nconsole.log(a)", null],
    ["let a = 1; for (;;) { break }", null],
    ["6 * 7", 42],
    ["import path from 'node:path';\nconst a = path.posix;\na.sep;\n", "/"],
    ["import { sep } from 'node:path'\nconst a: string = sep\n  a.length // one", 1],
    ["import { sep } from 'node:path'\nawait Promise.resolve(sep)", "/"],
    ["import 'node:path';\nexport default 5;\n6", 5],
    ["import 'node:path';\nconst a = 1;", null],
  ];
  for (const [text, value] of VALUES) {
    it(`gives ${JSON.stringify(value)} of ${JSON.stringify(text)}`, async () => {
      const { result } = await guest.run(text, {}, { lastValue: true });
      assert.deepEqual(JSON.parse(result!), value);
    });
  }

  it("has the positions of its errors as they were sent", async () => {
    const thrown: [text: string, line: number, column: number][] = [
      ["const a = {}; a.b.c", 1, 19],
      ["const a = {};\na.b.c", 2, 5],
      ["const a = null; // none\n\n[1].map(() => {\n  return a.b })", 4, 12],
      ["const f = () => null.x; f()", 1, 22],
      ["import path from 'node:path';\n path.a.b", 2, 9],
      ["const f = (a) => {\n  throw new Error(a) }; f(1)", 2, 9],
    ];
    for (const [text, line, column] of thrown) {
      const { fault } = await guest.run(text, {}, { lastValue: true });
      assert.deepEqual([fault?.at?.line, fault?.at?.column], [line, column], text);
      assert.ok(fault!.error!.stack!.includes(`task.js:${line}:${column}`), fault!.error!.stack);
    }
  });
});

describe("code that is only parsed", () => {
  it("is never evaluated, and each run reports its syntax error", async () => {
    await using guest = await GuestProcess.start();
    for (const text of ["process.exit(1)", "process.exit(1); export default 1", "await new Promise(() => {})"]) {
      for (let times = 0; times < 3; times++) {
        assert.equal((await guest.run(text, {}, { parseOnly: true })).result, "null", text);
      }
    }
    const code = guest.code("export const a = ;", { parseOnly: true });
    for (let times = 0; times < 2; times++) {
      const { fault } = await guest.start(code).outcome;
      assert.match(fault!.detail, /^Unexpected token ';' \(line 1, column 18\)/);
    }
    assert.equal(await guest.value("export default 42"), 42);
  });
});
