import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { GuestProcess } from "./guest-process.ts";

describe("code that does not parse", () => {
  let guest: GuestProcess;
  before(async () => {
    guest = await GuestProcess.start();
  });
  after(() => guest.close());

  const DETAILS: [title: string, text: string, detail: string][] = [
    [
      "shows the line with a caret",
      "let a = 1;\n\n  let x = ;\n",
      "Unexpected token ';' (line 3, column 11)\n    let x = ;\n            ^",
    ],
    [
      "counts columns of the first line in the submitted text",
      "let x = ;",
      "Unexpected token ';' (line 1, column 9)\n  let x = ;\n          ^",
    ],
    [
      "counts columns of a first line that awaits in the submitted text",
      "let x = await ;",
      "Unexpected token ';' (line 1, column 15)\n  let x = await ;\n                ^",
    ],
    [
      "shows the position of a return in a module",
      "\n\nreturn 1;\nexport default 2",
      "Illegal return statement (line 3, column 1)\n  return 1;\n  ^",
    ],
    [
      "shows the position of a return in a module that imports and awaits",
      'import fs from "node:fs";\n  const a = await fs.promises.readdir("/");\n  for await (const b of a) {}\n  return a',
      "Illegal return statement (line 4, column 3)\n    return a\n    ^",
    ],
    [
      "reports the syntax error of a module, and not its import or export",
      "import fs from 'node:fs';\nexport default async () => {\n  let x = ;\n}",
      "Unexpected token ';' (line 3, column 11)\n    let x = ;\n            ^",
    ],
    [
      "reports a text that ends too early",
      "let x = (",
      "Unexpected end of input (line 1, column 10)\n  let x = (\n           ^",
    ],
    [
      "reports a text with await that ends too early",
      "if (await 1) {\n",
      "Unexpected end of input (line 2, column 1)\n  \n  ^",
    ],
    [
      "reports the syntax error of TypeScript, and not its first type",
      "const a: number = 1;\nlet b: string = ;",
      "Expression expected (line 2, column 17)\n  let b: string = ;\n                  ^",
    ],
    [
      "counts a tab as one column",
      "const a: number = 1;\n\tlet b: string = ;",
      "Expression expected (line 2, column 18)\n   let b: string = ;\n                   ^",
    ],
    [
      "reports an import that a built-in module does not export",
      "import { nope } from 'node:fs';\nexport default 1",
      "The requested module 'node:fs' does not provide an export named 'nope' (line 1, column 10)\n" +
        "  import { nope } from 'node:fs';\n           ^",
    ],
  ];
  for (const [title, text, detail] of DETAILS) {
    it(title, async () => {
      const fault = await guest.fault(text);
      assert.equal(fault.code, "code_syntax");
      assert.equal(fault.detail, detail);
    });
  }

  it("shows the part of a long line around the error", async () => {
    const { detail } = await guest.fault(`${"a + ".repeat(100)}; )`);
    const [message, line, caret] = detail.split("\n");
    assert.match(message!, /\(line 1, column 401\)/);
    assert.ok(line!.length < 110);
    assert.equal(line![caret!.indexOf("^")], ";");
  });

  it("reports only the line if V8 gives no column", async () => {
    assert.equal((await guest.fault(`\n${"a + ".repeat(1000)}; )`)).detail, "Unexpected token ';' (line 2)");
  });

  it("has a hint for a module that returns", async () => {
    assert.match((await guest.fault("return 1;\nexport default 2")).hint!, /export default/);
  });

  it("has a hint for Markdown and HTML", async () => {
    assert.match((await guest.fault("```js\n1\n```")).hint!, /fences/);
    assert.match((await guest.fault("\n<!DOCTYPE html><p>")).hint!, /page/);
    assert.match((await guest.fault("<html>")).hint!, /page/);
  });

  it("has a hint for Python, for a sentence, for a comment with # and for a form", async () => {
    const python = [
      "for i in range(3):\n    total = i",
      "for i in range(3): total = i",
      "return [x * x for x in range(3)]",
      "squares = [x*x for x in numbers if x]\nsquares",
      "if x is None:\n    x = 1",
      "while True:\n    break",
      "x = 1\nif x > 1:\n    y = 2\nelif x:\n    y = 3",
      'name = "a"\nreturn f"hello {name}"',
      "return sorted(items, key=lambda x: x.price)",
      "return 1 if a else 2",
      "try:\n    x = 1\nexcept ValueError as e:\n    x = 2",
    ];
    for (const text of python) assert.match((await guest.fault(text)).hint ?? text, /^The text looks like Python\./);
    for (const text of [
      "Sure! The answer is 42.",
      "Here is the code:\n\nreturn 1",
      "what is 2 plus 2",
      "I can't do that",
    ]) {
      assert.match((await guest.fault(text)).hint ?? text, /sentence\. Send only code/);
    }
    assert.match((await guest.fault("# the sum\nreturn 1 + 1")).hint!, /begins with \/\//);
    assert.match((await guest.fault("code=return 1")).hint!, /The text is a form\. Send the code itself/);
  });

  it("has a hint for a brace of a type that no other closes, before an export or another statement", async () => {
    for (const [text, line] of [
      ["interface A { a: string\nexport default (a: A) => a.a", 1],
      ["let n: number = 1;\ninterface A {\n  a: string;\n\nexport type B = string;\nexport default 1", 2],
      ["interface A {\n  a: string\nfunction f(a: A): string { return a.a }\nreturn 1", 1],
      ["interface A {\n  a: string\nconst a: A = { a: '1' };\nreturn a", 1],
    ] as const)
      assert.equal((await guest.fault(text)).hint, `The { in line ${line} has no }.`, text);
  });

  it("has a hint for words of other languages in front of a condition or a list", async () => {
    for (const word of ["elseif", "elseIf", "elsif", "elif"]) {
      const { hint } = await guest.fault(`if (a) { return 1 } ${word} (b) { return 2 }`);
      assert.equal(hint, `JavaScript has no ${word}: write else if (...) { ... }.`);
    }
    const { hint } = await guest.fault("foreach (items) { total += 1 }");
    assert.equal(hint, "JavaScript has no foreach: write for (const item of list) { ... }.");
  });

  it("has none of these hints for JavaScript with a fault", async () => {
    const texts = [
      "let x = ;",
      "for (const a of b) {\n  c(;\n}",
      "switch (a) {\n  case 1:\n    b(;\n  default:\n    c()\n}",
      "class A {\n  #a = 1;\n  b() { return ; }\n",
      "const a = b ? {\n  c: 1\n} :\n  ;",
      "return a b c d",
      "code = (;",
    ];
    for (const text of texts) {
      const { hint = "" } = await guest.fault(text);
      assert.match(
        hint,
        /^(?:|A value is missing after .+\.|The [{(] in line \d has no [})](?: before this [};])?\.)$/,
        text,
      );
    }
  });

  it("fails each run of the code with the same fault", async () => {
    const code = guest.code("let x = ;");
    const first = await guest.start(code).outcome;
    assert.equal(first.fault?.code, "code_syntax");
    assert.deepEqual(await guest.start(code).outcome, first);
  });

  it("and breaks the type stripper makes the guest ask to be replaced, and JavaScript still runs", async () => {
    await using broken = await GuestProcess.start();
    const fault = await broken.fault(`const x: number = ${"(".repeat(1500)}1${")".repeat(1500)}`);
    assert.equal(fault.code, "code_syntax");
    assert.equal(fault.retire, true);
    assert.equal(await broken.value("6 * 7"), 42);
  });

  it("does not include deeply nested JavaScript, which never reaches the type stripper", async () => {
    assert.equal(await guest.value(`return ${"(".repeat(1500)}1${")".repeat(1500)}`), 1);
  });
});

describe("the envelope's modules", () => {
  let guest: GuestProcess;
  before(async () => {
    guest = await GuestProcess.start();
  });
  after(() => guest.close());
  const modules = {
    "./lib.ts": "import { two } from './deep/two.js'; export const six: number = 3 * two;",
    "./deep/two.js": "export const two = 2",
    "./old.js": "exports.seven = 7",
  };

  it("can be imported, including TypeScript", async () => {
    assert.equal(
      await guest.value("import { six } from './lib.ts'; export default () => six * 7", {}, { modules }),
      42,
    );
  });

  it("can be loaded with import() and with require", async () => {
    assert.equal(await guest.value("(await import('./lib.ts')).six", {}, { modules }), 6);
    assert.equal(await guest.value("require('./old.js').seven", {}, { modules }), 7);
  });

  it("are available only to the code of their request", async () => {
    assert.equal((await guest.fault("import { six } from './lib.ts'; export default six")).code, "module_missing");
  });

  it("are listed when one is missing", async () => {
    const fault = await guest.fault("import x from './nope.ts'; export default x", {}, { modules });
    assert.equal(fault.code, "module_missing");
    assert.match(
      fault.detail,
      /no module "\.\/nope\.ts": the request gives \.\/lib\.ts, \.\/deep\/two\.js, \.\/old\.js/,
    );
  });

  it("are named in their own errors", async () => {
    const invalid = { "./bad.ts": "export const a: number = ;" };
    assert.match(
      (await guest.fault("import { a } from './bad.ts'; export default a", {}, { modules: invalid })).detail,
      /^bad\.ts: .*line 1, column 26/,
    );
    const thrower = { "./thrower.js": "export const f = () => {\n  throw new Error('from there') }" };
    const { error } = await guest.fault(
      "import { f } from './thrower.js'; export default () => f()",
      {},
      { modules: thrower },
    );
    assert.match(error!.stack!, /at f \(thrower\.js:2:9\)\n.*task\.js:1:/);
  });

  it("do not make packages importable", async () => {
    assert.match((await guest.fault("import _ from 'lodash'; export default 1")).detail, /no module "lodash"/);
  });
});

describe("code that is parsed after a task has replaced Error.prepareStackTrace", () => {
  const REPLACED = {
    "with a list of call sites": "(error, sites) => sites",
    "as a source map library does": "(error, sites) => error + sites.map((site) => '\\n    at ' + site).join('')",
    "with a function that throws": "() => { throw new Error('no') }",
  };
  for (const [how, replacement] of Object.entries(REPLACED)) {
    it(`fails with line and caret, and the task's function stays: ${how}`, async () => {
      await using guest = await GuestProcess.start();
      assert.equal(await guest.value(`Error.prepareStackTrace = globalThis.own = ${replacement}; return 1`), 1);
      assert.equal(await guest.value("export default () => 42"), 42);
      assert.equal(await guest.value("const n: number = 42; return n"), 42);
      const { detail } = await guest.fault("let a = 1;\nlet x = ;");
      assert.equal(detail, "Unexpected token ';' (line 2, column 9)\n  let x = ;\n          ^");
      assert.equal(await guest.value("Error.prepareStackTrace === own"), true);
    });
  }
});
