import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { memberReads } from "../../src/guest/member-reads.ts";
import type { RunContext } from "../../src/wire/messages.ts";
import { GuestProcess } from "./guest-process.ts";

let guest: GuestProcess;
before(async () => {
  guest = await GuestProcess.start();
});
after(() => guest.close());

type Row = readonly [code: string, context: Partial<RunContext>];

function haveHint(hint: RegExp, rows: readonly Row[]): void {
  for (const [code, context] of rows) it(code, async () => assert.match((await guest.hint(code, context)) ?? "", hint));
}

function haveNone(rows: readonly Row[]): void {
  for (const [code, context] of rows)
    it(`has no hint: ${code}`, async () => assert.equal(await guest.hint(code, context), undefined));
}

const SIGNED = { headers: { "x-signature": "abc" } };
const JSON_BODY = { method: "POST", body: { name: "Ann" } };

describe("a header whose name has capital letters has the name in lower case", () => {
  haveHint(/^The names of headers are in lower case: write headers\["x-signature"\] instead of "X-Signature"\.$/, [
    ['export default ({ headers }) => ({ sig: headers["X-Signature"] })', SIGNED],
    ['export default ({ headers }) => headers["X-Signature"]', {}],
    ['export default ({ headers }) => headers["X-Signature"].length', SIGNED],
    [
      'export default ({ headers }) => { if (headers["X-Signature"] !== "abc") throw new Error("bad signature"); return 1 }',
      SIGNED,
    ],
    [
      'export default ({ headers }) => {\n  const sig = headers["X-Signature"];\n  if (sig !== "abc") {\n    throw new Error("bad");\n  }\n  return 1;\n}',
      SIGNED,
    ],
    ['const { headers } = context; return { a: 1, sig: headers["X-Signature"] }', SIGNED],
    ['return "signed by " + context.headers["X-Signature"]', SIGNED],
    ['module.exports = (context, req, res) => { res.end(req.headers["X-Signature"].trim()) }', SIGNED],
  ]);
  haveNone([
    ['export default ({ headers }) => ({ sig: headers["x-signature"] })', SIGNED],
    ['export default ({ headers }) => ({ sig: headers["X-Signature"] ?? headers["x-signature"] })', SIGNED],
    ['const headers = { "X-Signature": "a" }; return { sig: headers["X-Signature"], none: undefined }', {}],
    ['const headers = {}; headers["X-A"] = undefined; return { a: 1, b: headers["X-A"] }', {}],
    [
      'export default ({ headers }) => { if (headers["x-signature"] !== "abc") throw new Error("bad signature"); return 1 }',
      {},
    ],
    ['const r = { headers: {} }; return { a: 1, b: r.headers["X-A"] }', {}],
  ]);
});

describe("a member of the body of a Request has the call that reads the body", () => {
  haveHint(
    /^The body of a Request is a stream, so request\.body\.name is undefined: write \(await request\.json\(\)\)\.name\.$/,
    [
      ['export default { async fetch(request) { return new Response("Hello " + request.body.name) } }', JSON_BODY],
      ['export default { async fetch(request) { return new Response("Hello " + request.body.name) } }', {}],
      ["export default { fetch: (req, env) => new Response(req.body.name.trim()) }", JSON_BODY],
      [
        "export default { fetch: async (req) => { const { name } = req.body; return Response.json({ name }) } }",
        JSON_BODY,
      ],
    ],
  );
  haveNone([
    ["export default { async fetch(request) { return new Response(request.body) } }", JSON_BODY],
    [
      "export default { async fetch(request) { const { name } = await request.json(); return new Response(name) } }",
      JSON_BODY,
    ],
    ['export default { async fetch(request) { return new Response("undefined is a word") } }', {}],
    ["export default { fetch(request) { return new Response(`${request.body?.locked ?? 'undefined'}`) } }", {}],
    ["export default (request) => `Hello ${request.body.name}`", JSON_BODY],
  ]);
});

describe("a fetch handler without its secret has the name of the secret", () => {
  haveHint(
    /^(?:env has the params and the secrets of the task or the token, and no API_KEY\.|process\.env has no variables of yours)/,
    [
      ['export default { fetch(request, env) { return new Response("key " + env.API_KEY) } }', {}],
      ["export default { fetch(request, env) { return Response.json({ key: env.API_KEY }) } }", {}],
      ["export default { fetch(request, env) { const key = env.API_KEY; return new Response(key) } }", {}],
      [
        'export default { fetch(request, env) { if (!env.API_KEY) throw new Error("no key"); return new Response("a") } }',
        {},
      ],
      [
        'export default { fetch(request, env) {\n  if (request.method === "PUT" || !env.API_KEY) {\n    throw new Error("no key");\n  }\n  return new Response("a");\n} }',
        {},
      ],
      ["export default { fetch(request) { return new Response(process.env.API_KEY) } }", {}],
    ],
  );
  haveNone([
    ["export default { fetch(request, env) { return new Response(env.API_KEY) } }", { secrets: { API_KEY: "a" } }],
    ["export default { fetch(request, env) { return new Response(null) } }", {}],
    ["export default { fetch(request, env) { const key = env.OTHER; return new Response() } }", {}],
    ["export default { fetch(request, env) { const db = env.DB; return Response.json({}) } }", {}],
    ['export default { fetch(request, env) { if (env.MODE) return new Response("a"); return new Response("") } }', {}],
    [
      'export default { fetch(request, env) { const a = env.A;\nif (request.url) throw new Error("stop"); return new Response(a) } }',
      {},
    ],
    [
      'export default { fetch(request, env) { if (env.A && request.url || request.url) throw new Error("stop"); return new Response("") } }',
      {},
    ],
  ]);
});

describe("two values of the data, of which the run has one", () => {
  haveHint(/^context\.data has no b:/, [
    ["return context.data.a + context.data.b", { method: "POST", body: { a: "1" } }],
  ]);
  haveNone([["return context.data.a + 'undefined'", { method: "POST", body: { a: "v" } }]]);
});

describe("a long text", () => {
  for (const part of [
    "fetch(",
    "{fetch:async ",
    "async fetch(a, b",
    "new Response(",
    'headers["X-',
    "if (!env.A",
    "!a.",
  ])
    it(`is read for members in linear time: ${part}`, () => {
      memberReads(part.repeat(250_000));
    });
});

describe("TypeScript that asserts a value, or states its type, has the same hints", () => {
  haveHint(/^process\.env has no variables of yours, so process\.env\.API_(?:KEY|URL) is undefined\./, [
    ["export default async () => ({ auth: `Bearer ${process.env.API_KEY!}` })", {}],
    ["const KEY: string = process.env.API_KEY!;\nexport default async () => ({ auth: `Bearer ${KEY}` })", {}],
    ["const key = process.env.API_KEY!; return { key }", {}],
    [
      'import { createHmac } from "node:crypto";\nexport default () => createHmac("sha256", process.env.API_KEY!).update("x").digest("hex")',
      {},
    ],
    ["export default async () => process.env.API_KEY!.slice(0, 3)", {}],
    ["const key: string = process.env.API_KEY; return key.slice(0, 3)", {}],
    ["const r = process.env.API_KEY; return r!.length", {}],
    ["const r = await fetch(process.env.API_URL!); return r.json()", {}],
    ["return new URL(process.env.API_URL!).host", {}],
    ['const KEY: string | undefined = process.env.API_KEY; if (!KEY) throw new Error("no key"); return 1', {}],
  ]);
  haveHint(/^The run has no secrets\.API_KEY\./, [
    ["export default ({ secrets }: { secrets: Record<string, string> }) => secrets.API_KEY!.slice(0, 3)", {}],
    ['return require("node:crypto").createHmac("sha256", context.secrets.API_KEY!).digest("hex")', {}],
  ]);
});
