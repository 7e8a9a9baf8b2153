import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { hintOfRun, type Sent } from "./hint-of-run.ts";
import { type Service, shareService } from "./service.ts";

let service: Service;
before(async () => {
  service = await shareService();
});
after(() => service.stop());

function hintOf(code: string, sent: Sent = {}): Promise<string> {
  return hintOfRun(service, "habits", code, sent);
}

type Row = readonly [code: string, hint: RegExp, sent?: Sent];

function haveHints(rows: readonly Row[]): void {
  for (const [code, hint, sent] of rows) {
    const more = sent === undefined ? "" : ` with ${JSON.stringify(sent)}`;
    it(`${code}${more}`, async () => assert.match(await hintOf(code, sent), hint));
  }
}

describe("a name that nothing declares has the fix", () => {
  haveHints([
    ["return prices.length", /^Nothing declares prices: declare it/],
    [
      "return prices.length",
      /^No variable has the name prices, .*: write context\.body\.prices\.$/,
      { data: { prices: [] } },
    ],
    ["return plan + 1", /: write context\.query\.plan\.$/, { query: { plan: "pro" } }],
    [
      "import os from 'node:os';\nexport default () => os.EOL + plan",
      /: write export default \(context\) => \.\.\., and read context\.query\.plan\.$/,
      { query: { plan: "pro" } },
    ],
    ["return consol.log(1)", /^Did you mean console\?$/],
    ["const total = 1; return totla", /^Did you mean total\?$/],
    ["const rows = 1; return prose + rows", /^Nothing declares prose/],
    ["return structuredCloen({})", /^Did you mean structuredClone\?$/],
  ]);
});

describe("a text that ends at a quote inside of it has the fix", () => {
  haveHints([
    ["const text = 'it's me';\nreturn text", /^The ' before s ends the text: write \\' .* in double quotes\.$/],
    ["return { a: 'don't' }", /^The ' before t ends the text/],
    ['return "say "hi" now"', /^The " before hi ends the text: write \\" .* in single quotes\.$/],
    ["return `a `b` c`", /^The ` before b ends the text: write \\` inside of it\.$/],
    ["return { a: 'x' b: 1 }", /^A comma is missing before b\.$/],
    ["const x = 'a' y = 1", /^A semicolon or a line break is missing before y\.$/],
  ]);
});

describe("habits of other languages and runtimes have the fix", () => {
  haveHints([
    ["const x = {}; for (const [k] of x.items()) {}", /^JavaScript has no items: Object\.entries\(value\)/],
    ["const x = {}; return x.keys()", /Object\.keys\(value\)/],
    ["const list = [1]; return ','.join(list)", /write list\.join\(","\)\.$/],
    ["await setTimeout(10)", /^A timer takes a function first\. .*setTimeout\(resolve, ms\)/],
    ["const [a] = Promise.all([1]); return a", /^Promise\.all\(\.\.\.\) returns a promise: put await before/],
    ["for (const a of Promise.allSettled([1])) {}", /put await before Promise\.allSettled\(/],
    ["const [a] = { b: 1 }; return a", /^(?!Promise)/],
    ["import fetch from 'node-fetch'; export default () => fetch('data:,1')", /without an import: remove the line\.$/],
    ["const app = require('express')(); app.listen(3000)", /^No client can connect to a task/],
    ["require('dotenv').config()", /^A task has no file \.env/],
    ["import _ from 'lodsh'; export default () => _", /^Did you mean lodash\? Add "packages": \{"lodash":"\*"\}/],
    [
      "import { z } from 'Zod'; export default () => z",
      /^npm has names in lower case; did you mean zod\? Add "packages": \{"zod":"\*"\} to the request, or import "npm:zod"\./,
    ],
    ["import x from 'Zod/mini'; export default () => x", /did you mean zod\? .* or import "npm:zod\/mini"\./],
    ["import x from 'JSONStream'; export default () => x", /^Add "packages": \{"JSONStream":"\*"\}/],
    ["import x from 'ledash-x'; export default () => x", /^Add "packages": \{"ledash-x":"\*"\}/],
    ["return JSON.parse(`{'a': 1}`)", /^The parsed text is not JSON: JSON has names and texts in double quotes/],
    ['return JSON.parse(\'{"a": "b\')', /^The parsed text is not JSON: JSON has names/],
    ["return await (await fetch('data:,{a')).json()", /^The parsed text is not JSON\. For an answer of fetch/],
    ["return await (await fetch('data:,<html>')).json()", /^The text is a page, such as HTML/],
  ]);
});

describe("an import of types has the fix, if nothing else is imported", () => {
  const hint =
    /^Order is used only as a type: write import type \{ Order \} from "\.\/types", which needs no module\.$/;
  const other = /^Send it with the code: /;
  haveHints([
    ['import { Order } from "./types";\nconst o: Order = { id: 1 };\nexport default () => o.id', hint],
    [
      'import { Order, Item } from "./types";\nconst f = (o: Order): Item[] => [];\nexport default () => f(null as Order)',
      /^The names are used only as a type: write import type \{ Order, Item \}/,
    ],
    [
      'import { Order } from "./types";\ninterface A { order: Order; all?: Order[] }\ntype B = Order;\nexport default () => { const a: A | Order | null = null; return a }',
      hint,
    ],
    ['import { Order } from "./types";\nexport default () => new Order()', other],
    ['import { Order } from "./types";\nexport default (c) => (c ? (1) : Order)', other],
    ['import { Order } from "./types";\nexport default () => ({ b: 1, a: Order })', other],
    ['import { Order } from "./types";\nexport default () => ({ a: Order })', other],
    ['import { Order } from "./types";\nexport default (o: Order) => Order.parse(o)', other],
    ['import { order } from "./types";\nexport default () => 1', other],
  ]);
});

describe("a function that takes the context for a value has the fix", () => {
  haveHints([
    ["export default (name) => name.trim()", /^name is the context, .* read context\.data\.name\.$/],
    ["export default function f(name, count) { return name.trim() }", /^name is the context, /],
    ["(data) => data.map((x) => x)", /^The first parameter is the context, .* context\.body, which is the list\.$/],
    ["(event) => event.split(',')", /^event is the context, which has no split: event\.body is the parsed body/],
    [
      'export default (c) => c.json({ hello: "world" })',
      /^c is the context of caisson, and not that of Hono: return the value/,
    ],
    [
      'export default async (ctx) => ctx.text("hi")',
      /^ctx is .*not that of Hono: return the value, or Response\.json\(value\)/,
    ],
    ["return context.html('hi')", /^context is .*not that of Hono/],
    ["const c = {};\nreturn c.json(1)", /^(?!c is the context)/],
    ["export default (c) => c.json()", /^c is the context, which has no json: c\.body is the parsed body/],
    ["(context) => context.foo()", /^The parameter is the context, which has no foo/],
    ["(user) => { user = {}; return user.trim() }", /^Only a text has trim|^Did you mean|^The value in front/],
    ["const f = (name) => name.trim(); export default () => f(1)", /^(?!name is the context)/],
    ["(name) => [1].map((name) => name.trim())", /^(?!name is the context)/],
  ]);
});

describe("a member that is misspelt in a declaration has the fix", () => {
  haveHints([
    ["const o = { name: 'x' };\nconst n = o.nmae;\nreturn n.length", /^The value has no nmae: did you mean name\?$/],
    ["const o = { name: 'x' };\nconst n = o.city;\nreturn n.length", /^n is undefined here: test it first/],
  ]);
});

/** Returns the result and the hint of a run that succeeds. */
async function outcomeOf(code: string, sent: Sent = {}): Promise<[result: unknown, hint: string | null]> {
  const answer = await service.request("POST", "/api/runs/habits", { json: { code, ...sent } });
  const { status, result, hint } = answer.json() as { status: string; result: unknown; hint: string | null };
  assert.equal(status, "ok");
  return [result, hint];
}

function haveNoHint(rows: readonly (readonly [code: string, sent?: Sent])[]): void {
  for (const [code, sent] of rows) {
    const more = sent === undefined ? "" : ` with ${JSON.stringify(sent)}`;
    it(`has no hint: ${code}${more}`, async () => assert.equal((await outcomeOf(code, sent))[1], null));
  }
}

const NAME = { data: { name: "x", userName: "y" } };

describe("a value that the context does not have, and the run has elsewhere, is named", () => {
  const name = /^The context has no name, but the run has it: write context\.body\.name, with the context as/;
  haveHints([
    ["export default ({ name }) => ({ hello: name })", name, NAME],
    ["export default ({ name }) => `hello ${name}`", name, NAME],
    ["export default async (event) => ({ message: event.name, ok: true })", name, NAME],
    ["({ a, b }) => ({ sum: a + b })", /^The context has no a, but the run has it/, { data: { a: 1, b: 2 } }],
    ["(event) => ({ n: event.count, ok: true })", /^The context has no count: it has data /],
    [
      "return context.params.plan",
      /^context\.params has no plan, .* write context\.query\.plan\.$/,
      { query: { plan: "a" } },
    ],
    ["return context.params.plan.length", /write context\.query\.plan\.$/, { query: { plan: "a" } }],
    ["return context.body.username", /^The body has no username, but the run has userName: /, NAME],
    ["return { a: context.body.nmae, b: 1 }", /: write context\.body\.name\.$/, NAME],
    ["return context.query.nmae.trim()", /^The query has no nmae, but the run has name: /, { query: { name: "x" } }],
  ]);
  haveNoHint([
    ["return { name: context.query.page, b: 1 }", { query: { pages: "1" } }],
    ["(ctx) => ({ n: ctx.data.n, more: ctx.data.more })", { data: { n: 1 } }],
    ["const list = [1].map((ctx) => ({ a: ctx.foo, b: 1 })); return list"],
    ["const ctx = { a: 1 }; return { b: ctx.b, c: 1 }"],
    ["function add(a) { return a.n }\nreturn { sum: add({}), ok: true }"],
    ["({ data, name = undefined }) => ({ a: data.name, b: name })", NAME],
    ["(context) => { context.user = undefined; return { a: context.user, b: 1 } }"],
    ["return { url: context.url, traceparent: context.traceparent ?? undefined }"],
  ]);

  it("without the names of secrets and params that the code does not name", async () => {
    const json = { code: "return { key: context.data.apiKye, ok: true }", secrets: { apiKey: "bbbbbb" } };
    await service.request("PUT", "/api/tasks/habits/secret", { json });
    const answer = await service.request("POST", "/api/runs/habits?task=secret");
    assert.equal((answer.json() as { hint: string | null }).hint, null);
  });
});

describe("a result without a member that the code meant to set has the reason", () => {
  haveHints([
    [
      "async function load() { return { total: 1 } }\nconst res = load();\nreturn { total: res.total, ok: true }",
      /^res is a promise, so res\.total is undefined: put await before load\(/,
    ],
    [
      "const o = { name: 'x' };\nconst n = o.nmae;\nreturn n",
      /^The code reads the member nmae, .* did you mean name\?$/,
    ],
    ["const o = { name: 'x' };\nreturn { n: o.nmae, ok: true }", /did you mean name\?$/],
    ["const o = { price: 2 };\nreturn { total: o.pricee * 2 }", /did you mean price\?$/],
    ["const rows = [{ id: 1, name: 'a' }];\nreturn rows.map((r) => ({ id: r.id, n: r.nmae }))", /did you mean name\?$/],
    ["const rows = [{ id: 1, name: 'a' }];\nreturn rows.map((r) => r.nmae)", /did you mean name\?$/],
    ["const o = JSON.parse('{\"name\": 1}');\nreturn { n: o.nmae, ok: true }", /did you mean name\?$/],
  ]);
  haveNoHint([
    ["return { a: undefined, b: 1 }"],
    ["const o = { a: { n: 1 } };\nreturn { v: o.a.m, w: 1 }"],
    ["const o = { form: 1 };\nreturn { v: o.form, w: Array.from([1]), x: undefined }"],
    ["const o = { items: [] };\nreturn { v: o.items[0]?.item, w: 1 }"],
    ["const load = async () => ({ a: 1 });\nconst r = await load();\nreturn { a: r.a, b: r.b }"],
    ["const o = { name: 'x' };\no.nmae = undefined;\nreturn { v: o.nmae, w: 1 }"],
    ["const f = ({ a, b }) => ({ a, b, c: 1 }); return f({ a: 1 })"],
  ]);
});

describe("code that prints its result instead of giving it has the fix", () => {
  haveHints([
    ['import fs from "node:fs";\nconsole.log(1 + 1);', /^The module exports nothing, .* after line 2\.$/],
    [
      'import os from "node:os";\nconst x: number = 1;\nconsole.log(x);',
      /^The module exports nothing, .* after line 3\.$/,
    ],
    [
      'import os from "node:os";\nconst f = () => { return 1 };\nf();',
      /put export default before its last statement, in line 3/,
    ],
    [
      "function f(x) { return x * 2 }\nconsole.log(f(2));",
      /^The code returned nothing, and console .* after line 2\.$/,
    ],
    ["process.stdout.write('42')", /^The code returned nothing, and console/],
    ["const a = 42;\nprocess.stdout.write(String(a));", /after line 2\.$/],
    ['import os from "node:os";\nconst x = os.EOL;', /, in line 2, declares x\. Put export default x after it\.$/],
    [
      "function main() {\n  const total = 1;\n  console.log(total);\n}\nmain();",
      /^main\(\) returns nothing, .* at the end of main, and return before main\(\), in line 5\.$/,
    ],
    ["function main() { console.log(1) }\nreturn main();", /^main\(\) returns nothing, .* at the end of main\.$/],
    ["const main = async () => { console.log(1) };\nawait main();", /^main\(\) returns nothing, /],
    [
      "async function main(): Promise<void> { console.log(1) }\nmain().catch(console.error);",
      /^main\(\) returns nothing/,
    ],
    ["async function main() { return 7 }\nmain()", /^The code returned nothing: put return before its last statement/],
  ]);
  haveNoHint([
    ["function work() { globalThis.n = 1 }\nreturn work()"],
    ["function log() { console.log('done'); return undefined }\nreturn log()"],
    ['import os from "node:os";\nconst x = os.EOL;\nconsole.log("done");'],
    ['import os from "node:os";\nconsole.log(os.EOL);\nexport const x = 1;\nexport default () => 2'],
    ["return process.stdout.isTTY === undefined"],
    ["true"],
  ]);
});

describe("an async function that is used like its value has the fix", () => {
  haveHints([
    [
      "return [1, 2, 3].map(async (n) => n * 2).filter((n) => n > 2)",
      /^map with an async function returns promises, and filter does not wait/,
    ],
    ["const load = async (n) => n;\nreturn [1].map(load).find((n) => n === 1) ?? 0", /^map with .* find does not wait/],
    [
      "const isOk = async () => false;\nif (isOk()) return 1;\nreturn 0",
      /^isOk\(\.\.\.\) returns a promise, which always counts/,
    ],
    [
      "const isOk = async () => false;\nif (!isOk(1, 'a') && true) return 1;\nreturn 0",
      /^isOk\(\.\.\.\) returns a promise/,
    ],
    ["async function isOk() { return false }\nreturn isOk() ? 1 : 0", /^isOk\(\.\.\.\) returns a promise/],
  ]);
  haveNoHint([
    ["return (await Promise.all([1].map(async (n) => n * 2))).filter((n) => n > 1)"],
    ["return (await Promise.all([1].map(async (n) => n).filter(Boolean))).length"],
    ["const isOk = async () => false;\nif (await isOk()) return 1;\nreturn 0"],
    ["const isOk = async () => false;\nconst isSet = () => true;\nif (isSet()) return (await isOk()) ? 1 : 2"],
    ["// if (isOk()) isOk is async\nconst isOk = async () => 'if (isOk())';\nreturn await isOk()"],
    ["const load = async () => ({ n: 1 });\nconst p = load();\nreturn (await p) ? 1 : 2"],
  ]);
});

describe("numbers of the query that + joins", () => {
  haveHints([
    [
      "return context.query.a + context.query.b",
      /^The values of a query are texts, .* Number\(context\.query\.a\) \+ Number\(context\.query\.b\)\.$/,
      { query: { a: "6", b: "7" } },
    ],
  ]);
  haveNoHint([
    ["return Number(context.query.a) + Number(context.query.b)", { query: { a: "6", b: "7" } }],
    ["return `${context.query.a}`", { query: { a: "67", b: "7" } }],
    ["return '2026' + '11'", { query: { a: "2026", b: "11" } }],
  ]);
});

it("a hint never changes the result", async () => {
  assert.deepEqual((await outcomeOf("const o = { name: 'x' }; return { n: o.nmae, ok: true }"))[0], { ok: true });
  const trap = "throw new Error('called')";
  const code = `const o = { a: undefined, get b() { return 1 } };
return [o, new Proxy({}, { getOwnPropertyDescriptor() { ${trap} }, getPrototypeOf() { ${trap} } })]`;
  assert.deepEqual(await outcomeOf(code), [[{ b: 1 }, {}], null]);
});

describe("an answer whose cookie the client does not receive", () => {
  for (const code of [
    `export default () => new Response("x", { headers: { "Set-Cookie": "a=b" } })`,
    `(context, req, res) => { res.setHeader("Set-Cookie", "a=b"); res.end("x"); }`,
  ]) {
    it(`has a hint: ${code}`, async () => {
      const { status, headers } = await service.run("cookies", code);
      assert.deepEqual([status, headers["set-cookie"]], [200, undefined]);
      assert.match(headers["caisson-hint"] ?? "", /^The client does not receive Set-Cookie/);
    });
  }
});

describe("a body that is not parsed, or parsed too early", () => {
  it("has a hint if it is a form with parts", async () => {
    const body = '--x\r\nContent-Disposition: form-data; name="name"\r\n\r\nAnn\r\n--x--\r\n';
    const headers = { "Content-Type": "multipart/form-data; boundary=x" };
    const said =
      /^context\.body is the text of a form with parts, so it has no name: .*\(await request\.formData\(\)\)\.get\("name"\)\.$/;
    for (const code of ["({ body }) => ({ name: body.name })", "({ body }) => body.name.length"]) {
      const name = `form-${code.length}`;
      assert.equal((await service.request("PUT", `/api/tasks/habits/${name}`, { json: { code } })).status, 201);
      const answer = await service.request("POST", `/api/run/habits/${name}`, { body, headers });
      const problem = answer.status === 200 ? null : (answer.json() as { hint: string });
      assert.match(problem?.hint ?? answer.headers["caisson-hint"] ?? "", said);
    }
  });
  haveHints([
    [
      "const { createHmac } = require('node:crypto'); return createHmac('sha256', 'a').update(context.body).digest('hex')",
      /^The function takes a text or bytes\. context\.body is parsed JSON; .*await request\.text\(\)\.$/,
      { data: { a: 1 } },
    ],
  ]);
});

function appOfHono(base: string): string {
  return `class Hono { basePath(path) { this.base = path; return this } fetch(request) {
    return new URL(request.url).pathname === (this.base ?? "") + "/hello" ? new Response("hi") : new Response("404 Not Found", { status: 404 }) } }
  export default new Hono()${base}`;
}

describe("a router that does not expect the whole path", () => {
  it("has a hint, and one with the base of its path has none", async () => {
    assert.match(await hintOf(appOfHono("")), /^The code sees the whole path .* write new Hono\(\)\.basePath\(/);
    assert.equal(await hintOf(appOfHono(".basePath('/api')")), "(none)");
  });
});
