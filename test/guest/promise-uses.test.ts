import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { promiseUse } from "../../src/guest/promise-uses.ts";
import { GuestProcess } from "./guest-process.ts";
import { haveHints } from "./hint-rows.ts";

let guest: GuestProcess;
before(async () => {
  guest = await GuestProcess.start();
});
after(() => guest.close());

async function mustWork(advised: string): Promise<void> {
  assert.equal(await guest.hint(advised), undefined);
}

function ofVariable(variable: string, member: string, call: string): string {
  return `${variable} is a promise, so ${variable}.${member} is undefined: put await before ${call}(...), where ${variable} is declared.`;
}

function likeValue(call: string): string {
  return `${call}(...) returns a promise, and the code uses it like a value: put await before ${call}(...).`;
}

const TEXT = "'data:application/json,{}'";

describe("a member of a promise that nothing awaits has the call to await", () => {
  haveHints(
    () => guest,
    [
      [
        `const r = fetch(${TEXT});\nif (!r.ok) throw new Error("HTTP " + r.status);\nreturn r.json()`,
        ofVariable("r", "ok", "fetch"),
        `const r = await fetch(${TEXT});\nif (!r.ok) throw new Error("HTTP " + r.status);\nreturn r.json()`,
      ],
      [
        `const r = fetch(${TEXT});\nif (!r.ok) return { error: "request failed" };\nreturn r.json()`,
        ofVariable("r", "ok", "fetch"),
      ],
      [
        "async function load() { return { a: 1 } }\nconst cfg = load();\nif (!cfg.a) {\n  throw new Error('no config');\n}\nreturn cfg.a",
        ofVariable("cfg", "a", "load"),
      ],
      [
        "const db = { find: async () => ({ id: 1 }) };\nconst row = db.find();\nreturn { id: row.id }",
        ofVariable("row", "id", "db.find"),
        "const db = { find: async () => ({ id: 1 }) };\nconst row = await db.find();\nreturn { id: row.id }",
      ],
      [
        "const db = { find: async () => ({ id: 1 }) };\nconst row = db.find();\nreturn row.id",
        ofVariable("row", "id", "db.find"),
      ],
      [
        "class Db { async find() { return [1] } }\nconst db = new Db();\nconst rows = db.find();\nreturn { n: rows.length }",
        ofVariable("rows", "length", "db.find"),
      ],
      [
        "class Db { async find() { return [1] } count() { return this.find().length ?? null } }\nreturn new Db().count()",
        "this.find(...) is a promise, so its length is undefined: write (await this.find(...)).length.",
      ],
      [
        "const fs = require('fs/promises');\nconst text = fs.readFile('/etc/hosts');\nreturn { n: text.length }",
        ofVariable("text", "length", "fs.readFile"),
      ],
      [
        "import { readdir } from 'node:fs/promises';\nexport default () => ({ n: readdir('/tmp').length })",
        "readdir(...) is a promise, so its length is undefined: write (await readdir(...)).length.",
      ],
      [
        `const res = await fetch(${TEXT});\nif (res.json().a === 1) return 'one';\nreturn 'other'`,
        "res.json(...) is a promise, so its a is undefined: write (await res.json(...)).a.",
        `const res = await fetch(${TEXT});\nif ((await res.json()).a === 1) return 'one';\nreturn 'other'`,
      ],
    ],
    mustWork,
  );
});

describe("a promise that is used like its value has the call to await", () => {
  haveHints(
    () => guest,
    [
      [
        "async function items() { return [1] }\nconst out = [];\nfor (const x of items()) out.push(x);\nreturn out",
        likeValue("items"),
        "async function items() { return [1] }\nconst out = [];\nfor (const x of await items()) out.push(x);\nreturn out",
      ],
      ["async function pair() { return [1, 2] }\nconst [a, b] = pair();\nreturn a + b", likeValue("pair")],
      [
        "async function role() { return 'admin' }\nif (role() === 'admin') return 'yes';\nreturn 'no'",
        likeValue("role"),
        "async function role() { return 'admin' }\nif ((await role()) === 'admin') return 'yes';\nreturn 'no'",
      ],
      ["const count = async () => 3;\nconst x = count();\nreturn x > 2 ? 'many' : 'few'", likeValue("count")],
      [
        "async function n() { return 1 }\nswitch (n()) { case 1: return 'one'; default: return 'other' }",
        likeValue("n"),
      ],
      [
        "async function isOk() { return false }\nconst ok = isOk();\nif (!ok) return 'bad';\nreturn 'good'",
        likeValue("isOk"),
      ],
      [
        "async function getRole() { return 'admin' }\nconst role = getRole();\nreturn { isAdmin: role === 'admin' }",
        likeValue("getRole"),
      ],
      ["async function user() { return { a: 1 } }\nreturn { ...user(), age: 3 }", likeValue("user")],
      ["async function user() { return { a: 1 } }\nreturn Object.assign({}, user(), { age: 3 })", likeValue("user")],
      [
        "async function isAdmin() { return false }\nif (context.query.a !== '1' && isAdmin()) return 'secret';\nreturn 'no'",
        "isAdmin(...) returns a promise, which always counts as true: write await isAdmin(...) in the condition.",
      ],
    ],
    mustWork,
  );
});

describe("code that handles a promise", () => {
  const LOAD = "const load = async () => ({ a: 1 });\n";
  const codes = [
    "const p = load();\nconst r = await p;\nreturn r.a",
    "const p = load();\nif (p) return 'started';\nawait p",
    "let kept = null;\nfunction get() { if (!kept) kept = load(); return kept }\nreturn (await get()).a",
    "let kept;\nkept ??= load();\nreturn kept",
    "const kept = {};\nkept['a'] = load();\nreturn await kept['a']",
    "const current = load();\nconst p = load();\nif (current === p) return 1;\nreturn await p",
    "const [a, b] = await Promise.all([load(), load()]);\nreturn { a, b }",
    "const m = new Map();\nm.set(1, load());\nreturn await m.get(1)",
    "const isDev = true;\nisDev && load();\nreturn 2",
    "return load().then((x) => x.a)",
    "const t = load().then((x) => x.a);\nreturn await t",
    "const p = load();\nif (p instanceof Promise) return await p;\nreturn 2",
    "const p = Object.assign(load(), { cancel() {} });\nreturn (await p).a",
    "const x = (await load()).a === 1 ? 'y' : 'n';\nreturn x",
    "const p = load();\nconsole.log(p);\nreturn 5",
    "return typeof load() === 'object'",
    "context.waitUntil(load());\nreturn 1",
    "let n = 1;\nn++\nload();\n-n;\nreturn 1",
    "for (const load of [1, 2]) { if (load === 1) return 'x' }\nreturn 1",
    "function pick(load) { return load() === 1 }\nreturn pick(() => 1)",
    "const pick = ({ load }) => load() === 1;\nreturn pick({ load: () => 1 })",
    "const o = { load: () => ({ a: 1 }) };\nreturn [o.load().a, await load()]",
    "function f(r) { return r.a }\nconst r = load();\nawait r;\nreturn f({ a: 1 })",
    "const db = { load: () => [1] };\nreturn { n: db.load().length }",
    "function fill(r) { return r.a ?? 2 }\nreturn fill(await load())",
  ];
  for (const code of codes)
    it(`has no hint: ${code}`, async () => assert.equal(await guest.hint(`${LOAD}${code}`), undefined));
  const others = [
    "async function* gen() { yield 1 }\nconst out = [];\nfor await (const x of gen()) out.push(x);\nreturn out.length",
    "const db = { async find() { return [1] } };\nconst rows = await db.find();\nreturn { n: rows.length, m: (await db.find()).length }",
    "class Db { async find() { return [1] } all() { return [1, 2] } }\nconst db = new Db();\nreturn { n: db.all().length, m: (await db.find()).length }",
    "class Db { async find() { return [1] } async first() { return (await this.find())[0] } }\nreturn await new Db().first()",
    "const fs = require('fs');\nreturn { n: fs.readFileSync(process.execPath).length > 5 }",
    "const t = fetch('data:,a').then((r) => r.text());\nreturn (await Promise.all([t])).length",
    "export default { async fetch(request) { const text = await request.text(); return new Response(text === '' ? 'empty' : text) } }",
    "const a = [1, 2];\nasync function f(x) { return x }\nreturn (await Promise.all(a.map(f))).length + 1",
    "async function main() { return { ok: true } }\nreturn main()",
    "const fetch = () => ({ ok: true });\nconst r = fetch('a');\nreturn r.ok",
    "const get = (fetch) => fetch('a').ok;\nreturn get(() => ({ ok: 1 }))",
  ];
  for (const code of others) it(`has no hint: ${code}`, async () => assert.equal(await guest.hint(code), undefined));
});

describe("a long text", () => {
  const PARTS = [
    "async ",
    "load() ",
    "const a = load();",
    "(a):",
    "const [a] = load();",
    "x?(a):",
    "async a(",
    "{ a(",
    "import {",
    "const a = await import(",
  ];
  for (const part of PARTS) {
    it(`is not read for promises: ${part}`, () => {
      assert.equal(promiseUse(`const load = async () => 1;${part.repeat(250_000)}`), null);
    });
  }
});
