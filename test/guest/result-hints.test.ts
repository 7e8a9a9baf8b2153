import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

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

function haveNone(codes: readonly string[]): void {
  for (const code of codes) it(`has no hint: ${code}`, async () => assert.equal(await guest.hint(code), undefined));
}

function ofContext(name: string): string {
  return `The value of ${name} is the context, which is an object: write ${name}.query.name or ${name}.data.name for the value that the request calls name.`;
}

describe("a context that is used like a text or a number", () => {
  haveHints(
    () => guest,
    [
      [
        "export default (name) => 'hello ' + name",
        ofContext("name"),
        "export default (name) => 'hello ' + (name.query.name ?? 'you')",
      ],
      ["export default (name) => `hello ${name}`", ofContext("name")],
      ["export default function (n) { return n * 2 }", ofContext("n")],
      ["return 'hello ' + context", ofContext("context")],
      [
        "const user = {}; return 'hello ' + user",
        "The result has the text of an object, such as [object Object]: add JSON.stringify(value) to a text instead of the value.",
      ],
    ],
    mustWork,
  );
});

describe("a member of this", () => {
  haveHints(
    () => guest,
    [
      [
        "return this.name",
        "this has nothing of the request: write context.query.name or context.data.name. A function has the context as its first parameter.",
      ],
      [
        "export default function () { return this.name }",
        "this has nothing of the request: write context.query, context.body or context.data. A function has the context as its first parameter.",
      ],
      [
        "class A { get() { return this.x.y } }\nreturn new A().get()",
        "this.x is undefined here: test it first, or write this.x?.y.",
      ],
    ],
    mustWork,
  );
});

describe("a page that is sent as JSON", () => {
  const PAGE =
    'The result is a page, and is sent as JSON: return new Response(html, { headers: { "content-type": "text/html; charset=utf-8" } }).';
  haveHints(
    () => guest,
    [
      [
        "return '<h1>hi</h1>'",
        PAGE,
        'return new Response("<h1>hi</h1>", { headers: { "content-type": "text/html; charset=utf-8" } })',
      ],
      ["return `<!doctype html>\n<html><body>${1}</body></html>\n`", PAGE],
    ],
    mustWork,
  );
  haveNone(["return '<b'", "return '<note>a</note>'", "return { html: '<h1>hi</h1>' }", "return '<3 > 2'"]);
});

describe("an answer as AWS Lambda expects it, without a body", () => {
  const LAMBDA =
    "The result is sent as JSON. To set the status and the headers, return new Response(body, { status, headers }).";
  haveHints(
    () => guest,
    [
      [
        "return { statusCode: 302, headers: { Location: '/x' } }",
        LAMBDA,
        "return new Response(null, { status: 302, headers: { Location: '/x' } })",
      ],
      ["return { statusCode: 204, cookies: ['a=1'] }", LAMBDA],
      ["return { status: 302, headers: { location: '/x' } }", LAMBDA],
    ],
    mustWork,
  );
  haveNone([
    "return { statusCode: 404 }",
    "return { status: 302, next: { location: '/x' } }",
    "return { statusCode: 200, headers: { server: 'a' } }",
    "return { status: 200, headers: { a: 'b' } }",
  ]);
});

describe("a status that is set at the context", () => {
  const ASSIGNED =
    "The context is not the answer: return the value, or return new Response(body, { status, headers }) for a status and headers.";
  haveHints(
    () => guest,
    [
      ["context.status = 404; return 'a'", ASSIGNED, "return new Response('a', { status: 404 })"],
      ["export default (ctx) => { ctx.statusCode = 404; return { a: 1 } }", ASSIGNED],
    ],
    mustWork,
  );
  haveNone([
    "return context.status === 404 ? 1 : 2",
    "const ctx = {}; ctx.status = 404; return ctx",
    "export default (ctx) => { const app = { use: (f) => f(ctx) }; app.use((c) => { ctx.status = 404 }); return 1 }",
  ]);
});

describe("a function of a Response that is not called", () => {
  const CALL = "json is a function of the Response: write json().";
  haveHints(
    () => guest,
    [
      [
        'const r = await fetch(\'data:application/json,{"name":"a"}\'); const d = await r.json; return d.name',
        CALL,
        'const r = await fetch(\'data:application/json,{"name":"a"}\'); const d = await r.json(); return d.name',
      ],
      ["const r = await fetch('data:,1'); const { name } = r.json\nreturn name", CALL],
    ],
    mustWork,
  );
  haveNone(["const r = await fetch('data:,json'); return r.text()", "return 'json'"]);
});

describe("code in quotes", () => {
  const QUOTED =
    'The code is a text in quotes, so its result is that text: send the code without the quotes, or send {"code": "..."} with Content-Type: application/json.';
  haveHints(
    () => guest,
    [
      ['"return 6*7"', QUOTED, "return 6*7"],
      ['"const a = 1;\\nreturn a"', QUOTED],
      ["'(context) => 1'\n", QUOTED],
      ['"export default () => 1"', QUOTED],
    ],
    mustWork,
  );
  haveNone(['"hello"', '"return to sender"', '"let it be"', '"return 1" + "2"', '"import goods, export more"']);
});
