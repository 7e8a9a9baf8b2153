import assert from "node:assert/strict";
import { isBuiltin } from "node:module";
import { describe, it } from "node:test";
import vm from "node:vm";

import { BODY_PARAMETERS, moduleBody } from "../../src/guest/module-body.ts";

/** Evaluates a text as the guest does. @returns what it exports */
function evaluate(text: string): Record<string, unknown> {
  const body = moduleBody(text, isBuiltin);
  assert.ok(body, text);
  const call = vm.compileFunction(body.head + body.text + body.tail, [...BODY_PARAMETERS], {
    filename: "task.js",
    columnOffset: -body.head.length,
  }) as (imports: object[], exports: (found: Record<string, unknown>) => void) => void;
  if (body.trial !== null) vm.compileFunction(body.head + body.trial + body.tail, [...BODY_PARAMETERS]);
  let exported: Record<string, unknown> | null = null;
  const imports = body.imports.map(({ specifier }) => {
    const module = process.getBuiltinModule(specifier) as object;
    return { ...module, default: module };
  });
  Reflect.apply(call, undefined, [imports, (found: Record<string, unknown>) => (exported = found)]);
  return exported!;
}

/** Loads a text with Node's loader. */
function load(text: string): Promise<Record<string, unknown>> {
  return import(`data:text/javascript,${encodeURIComponent(text)}`) as Promise<Record<string, unknown>>;
}

const MODULES = [
  "export default 42",
  "export default function () { return 1 }",
  "export default function(a, b) { return a + b }",
  "export default async function (context) {\n  return 2\n}",
  "export default function named() { return named.name }",
  "export default async function named() {}",
  "export default class { static a = 1 }\n;[1].forEach(() => {})",
  "export default class extends Map {}",
  "export default class Named extends Map {}",
  "export default () => 3",
  "export default async () => { await null; return 3 }",
  "export default { fetch() { return 1 } }",
  "export default (function () { return this })()",
  "export const a = 1\nexport let b = a + 1;\nexport default b",
  "export function later() { return now() }\nfunction now() { return 4 }\nexport default later()",
  "export class Thing {}\nexport default new Thing()",
  "export const { length } = 'abc'".replace("{ length }", "size"),
  "import fs from 'node:fs'\nexport default typeof fs.readFileSync",
  'import { join, sep as separator } from "path";\nexport default join("a", separator, "b")',
  'import * as os from "node:os"\nexport default typeof os.default.cpus + typeof os.cpus',
  'import url, { URL as Address } from "node:url"\nexport default url.URL === Address',
  'import {\n  join,\n  resolve,\n} from "node:path"\nexport default [join, resolve].map((f) => f.name).join()',
  '// the comment says\nimport { EventEmitter } from "events"\n\nexport default typeof EventEmitter',
  'import fs from "node:fs"; export default typeof fs.readFileSync',
  'import { join } from "node:path";import os from "node:os";  export const a = join("a", "b")\nexport default typeof os',
  "export default typeof module + typeof this",
  "export default 1 // the end",
  "'use strict'\nexport default 1",
  "export default async () => await (async () => 5)()",
  "export default async () => { const [a] = await [1]; return a + (await\n(2)) + await -1 }",
  "async function get() { return await (await Promise.all([1])).length }\nexport default get",
  "export default async () => { for await (const a of [1]) return a }",
  "export default () => ({ a: 1 }).await",
  "const type = 'image/png' /* of the answer */\nexport default type",
  "const f = (a) => a\nexport default f([1, 2].at(1))",
];

/** Texts that are not modules for a body: Node's loader decides. */
const OTHERS = [
  "export { a as default }; const a = 1",
  "const a = 1\nexport { a }",
  "export * from 'node:fs'",
  "const a = 1; export default a",
  "import fs from 'node:fs'; /* */ export default 1",
  "import.meta.url\nexport default 1",
  "import './lib.js'\nexport default 1",
  "import lib from './lib.js'\nexport default lib",
  "import data from 'node:fs' with { type: 'json' }\nexport default data",
  "import 'node:fs'\nexport default 1",
  "export const a = 1, b = 2".replace("a = 1", "[a] = [1]"),
  "export default function* () {}",
  "export default async function * () {}",
  "export default 1\nexport default 2",
  "/*\nexport default 1\n*/ 5",
  "const a = 1; export default a",
  "export default $default$",
  "{\nexport default 1\n}",
  "function f() {\nimport fs from 'node:fs'\n}\nexport default 1",
  "module.exports = 1\nexport default 2",
  'const s = "usage: \\\nexport default 5";\nreturn s',
  "2 */*\nexport const y = 1\n*/ 3",
  "export default () => { const b = 0, a = -1; return a<!--b\n}",
  "<!-- hi\nexport default () => 1",
  "export const a = 1\n--> hi",
  "[].push(\nexport default 5\n)",
  "export default arguments.length",
  "export default () => 1\nnew.target",
  "export const a = 1\nexport { b }; const b = 1",
  "export const a = 1\nexport function a() {}",
  "6 * 7",
  "return 1",
  "",
];

describe("moduleBody", () => {
  for (const text of MODULES) {
    it(`has the exports that Node's loader finds: ${JSON.stringify(text.slice(0, 60))}`, async () => {
      const [own, loaded] = [evaluate(text), await load(text)];
      assert.deepEqual(Object.keys(own).toSorted(), Object.keys(loaded).toSorted());
      for (const name of Object.keys(own)) assert.equal(describeValue(own[name]), describeValue(loaded[name]));
    });

    it(`keeps every line and every column: ${JSON.stringify(text.slice(0, 60))}`, () => {
      const body = moduleBody(text, isBuiltin)!;
      assert.equal(body.text.length, text.length);
      assert.deepEqual(
        body.text.split("\n").map((line) => line.length),
        text.split("\n").map((line) => line.length),
      );
      assert.ok(!body.head.includes("\n"));
    });
  }

  for (const text of OTHERS) {
    it(`leaves a text to the loader: ${JSON.stringify(text)}`, () => {
      assert.equal(moduleBody(text, isBuiltin), null);
    });
  }

  it("leaves what a module may not contain to V8, which rejects it", () => {
    for (const text of [
      "export default await 1",
      "export default 1\nwith ({}) {}",
      "import { join } from 'path'\nconst join = 1\nexport default join",
      "let a\nexport let a = 1",
      "export default 1, 2",
    ]) {
      assert.throws(() => evaluate(text), SyntaxError, text);
    }
  });

  it("compares an await that could be a name with V8: it is one outside of async functions", () => {
    for (const text of [
      "const x = await (Promise.resolve(5))\nexport default () => x",
      "export default await [1]",
      "if (1) { await\n(1) }\nexport default 1",
      "export default () => await (1)",
      "export default await -1",
      "export default await /a/",
      "await `a`\nexport default 1".replace("`a`", "+1"),
      "const await = 7\nexport default await",
      "export default (await) => await",
      "let a = 1\nawait\na\nexport default a",
    ]) {
      assert.throws(() => evaluate(text), SyntaxError, text);
    }
  });

  it("rewrites no line of a template and of a comment", () => {
    for (const text of [
      "export default `\nexport default 1\n`",
      "export default 1\n/*\nexport const a = 1\n*/",
      "const a = `\nimport fs from 'node:fs'\n`\nexport default a",
    ]) {
      const body = moduleBody(text, isBuiltin);
      if (body !== null) assert.fail(JSON.stringify(body));
    }
  });

  it("gives an error the position that it has in the text", () => {
    const { default: fail } = evaluate(
      "import fs from 'node:fs'; \nexport default function () { throw new Error('here') }",
    );
    assert.throws(fail as () => void, (error: Error) => /task\.js:2:36\)/.test(error.stack!.split("\n")[1]!));
  });

  it("takes linear time: quadratic time would exceed the time of the test", { timeout: 60_000 }, () => {
    for (const text of ["export ", "import {", "export default ", "import a from ", "\nexport const a = 1", "`"]) {
      moduleBody(text.repeat(200_000), isBuiltin);
    }
  });
});

function describeValue(value: unknown): string {
  return typeof value === "function" ? `${value.toString().slice(0, 5)} ${value.length}` : JSON.stringify(value);
}
