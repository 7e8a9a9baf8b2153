import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { collectionMember } from "../../src/guest/collection-member.ts";
import { emptyHintsOf } from "../../src/guest/empty-hints.ts";
import { returnsInForEach } from "../../src/guest/for-each-return.ts";
import { isFilledLate } from "../../src/guest/late-callback.ts";
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

function ofMethod(name: string): string {
  return `The code returns the function ${name} of a value, so the service calls it without that value: call it, as in value.${name}(...).`;
}

function haveNone(codes: readonly string[]): void {
  for (const code of codes) it(`has no hint: ${code}`, async () => assert.equal(await guest.hint(code), undefined));
}

describe("a result that a callback fills later", () => {
  const LATE =
    "The result was sent before a callback of the code ran: put await before the promise. For a timer or another callback, await new Promise((resolve) => ...), and call resolve(value) in the callback.";
  haveHints(
    () => guest,
    [
      [
        "const fs = require('fs'); let out; fs.readdir('/tmp', (e, f) => { out = f }); return out",
        LATE,
        "const fs = require('fs'); const out = await new Promise((resolve) => fs.readdir('/tmp', (e, f) => resolve(f ?? []))); return { n: out.length }",
      ],
      [
        "const http = require('http'); let data = ''; http.get('http://127.0.0.1:1/', res => { res.on('data', c => data += c) }).on('error', () => {}); return data",
        LATE,
      ],
      ["let html = ''; setTimeout(() => { html += 'x' }, 10); return html", LATE],
      ["export default () => { const list = []; setTimeout(() => list.push(1), 10); return list }", LATE],
      ["let i = 0;\nconst id = setInterval(() => { i++; if (i === 3) { clearInterval(id); return i } }, 5);", LATE],
    ],
    mustWork,
  );
  haveNone([
    "let html = ''; setTimeout(() => { html += 'x' }, 10); await new Promise((r) => setTimeout(r, 1)); return html",
    "return new Promise((resolve) => { let html = ''; setTimeout(() => { html += ''; resolve(html) }, 1); return html })",
    "let text = ''; let isLate = 0; setTimeout(() => { isLate = 1 }, 10); return text",
    "let text = ''; [1].forEach(() => { text = '' }); return text",
    "const fs = require('fs'); const names = fs.readdirSync('/').filter((n) => n === '?'); return names.join()",
    "let out = ''; const e = new (require('events'))(); e.on('a', (v) => { out = v }); e.emit('a', ''); return out",
  ]);
});

describe("forEach", () => {
  const VALUE = "forEach returns nothing: map returns a list of what its function returns.";
  const RETURN =
    "A return in the function of forEach ends that function only, and forEach returns nothing: write for (const item of list) { ... }, or return list.find(...), list.filter(...) or list.map(...).";
  haveHints(
    () => guest,
    [
      [
        "const words = ['a']; const out = words.forEach((w) => w.toUpperCase());\nreturn out",
        VALUE,
        "const words = ['a']; const out = words.map((w) => w.toUpperCase());\nreturn out",
      ],
      ["const words = ['a']; const out = words.forEach((w) => w.toUpperCase());\nreturn { out }", VALUE],
      [
        "function find(list) { list.forEach((x) => { if (x > 1) return x }) }\nreturn find([1, 2])",
        RETURN,
        "function find(list) { for (const x of list) { if (x > 1) return x } }\nreturn find([1, 2])",
      ],
      ["export default (c) => { [1, 2].forEach(function (x) { if (x > 1) { return x } }) }", RETURN],
    ],
    mustWork,
  );
  haveNone([
    "const out = []; [1].forEach((x) => { if (x > 1) return; out.push(x) }); return out",
    "const out = []; [1].forEach((x) => { if (x > 1) return 5; }); return { out }",
    "let n = null; [[1]].forEach((list) => { n = list.map((x) => { return x }).find((x) => x > 1) ?? null }); return n",
  ]);
});

describe("a member of a Map or a Set", () => {
  haveHints(
    () => guest,
    [
      ["return { n: new Set([1, 2]).length }", "A Set has no length: write value.size."],
      [
        "const map = new Map([['a', 1]]); return { a: map.a }",
        'map is a Map, which has no member a: write map.get("a").',
        "const map = new Map([['a', 1]]); return { a: map.get('a') }",
      ],
      [
        "const seen = new Set([1]); return { a: 1, n: seen.length }",
        "seen is a Set, which has no length: write seen.size.",
      ],
      [
        "const seen = new Set([1]); return seen.first",
        "seen is a Set, which has no member first: it has size and has(value), and [...seen] is a list of its values.",
      ],
    ],
    mustWork,
  );
  haveNone([
    "const map = new Map(); map.label = undefined; return { a: 1, b: map.label }",
    "const seen = new Set(); return { a: undefined, n: seen.size }",
    "const map = new Map(); const f = (map) => map.a; return { a: 1, b: f({}) }",
    "return { a: undefined }",
    "return { user: [1].find((x) => x > 1) }",
  ]);
});

describe("a method that the code returns and does not call", () => {
  haveHints(
    () => guest,
    [
      ["return [...'abc'].reverse().join", ofMethod("join"), "return [...'abc'].reverse().join('')"],
      ["return new Date().getDay", ofMethod("getDay")],
      ["const text = [1, 2].join;\nreturn text;", ofMethod("join")],
      ["return new Map().get", ofMethod("get")],
      [
        "return Object.keys(context.nothing)",
        "context.nothing is undefined or null here: test it first, or write context.nothing ?? {}.",
      ],
    ],
    async (advised) => assert.equal((await guest.run(advised)).fault, undefined),
  );
});

describe("a long text", () => {
  const PARTS = [
    "setTimeout(() => a = 1);",
    "x.forEach(() => { return 1 ",
    "new Set(",
    "const a = new Map();",
    "a.a ",
    " ",
    "return a",
    "a = 1;",
  ];
  for (const part of PARTS)
    it(`is read for callbacks in linear time: ${part}`, () => {
      const text = `setTimeout(() => { x = 1 }); x.forEach(y); new Set(); ${part.repeat(250_000)}`;
      isFilledLate(text);
      returnsInForEach(text);
      collectionMember(text.slice(0, 32 * 1024));
      emptyHintsOf(part.repeat(250_000).slice(0, 32 * 1024));
    });
});
