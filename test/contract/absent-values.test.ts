import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { type Service, shareService } from "./service.ts";

let service: Service;
before(async () => {
  service = await shareService();
});
after(() => service.stop());

async function hintOf(code: string, data?: unknown): Promise<string | null> {
  const json = { code, ...(data !== undefined && { data }) };
  return ((await service.request("POST", "/api/runs/absent", { json })).json() as { hint: string | null }).hint;
}

const ENV =
  /^process\.env has no variables of yours, so process\.env\.KEY is undefined\. .*"KEY": .*reads context\.secrets\.KEY\./;
const SECRET = /^The run has no secrets\.KEY\. A task or a token sets it: \{"secrets": \{"KEY": "\.\.\."\}\}/;
const PARAM = /^The run has no params\.key\. A task or a token sets it: \{"params": \{"key": "\.\.\."\}\}/;
const QUERY = /^The query has no key: send it in the URL, as \?key=/;
const DATA = /^context\.data has no key: /;

describe("an error whose cause is a value that the run does not have", () => {
  const rows: readonly [code: string, hint: RegExp][] = [
    ["const u = new URL(process.env.KEY); return u.host", ENV],
    ["return new URL('/x', process.env.KEY).href", ENV],
    ["const r = await fetch(process.env.KEY); return r.status", ENV],
    ["return JSON.parse(process.env.KEY).a", ENV],
    ["return require('crypto').createHmac('sha256', process.env.KEY).digest('hex')", ENV],
    ["return Buffer.from(process.env['KEY']).toString('base64')", ENV],
    ["const { KEY } = process.env; return KEY.split(',')", ENV],
    ["const { KEY: names } = process.env;\nfor (const name of names) {}", ENV],
    ["const { env } = process; const k = process.env.KEY; return k.length", ENV],
    ["const key = process.env.KEY; if (!key) throw new Error('KEY is not set'); return 1", ENV],
    ["const url = `https://${process.env.KEY}/x`; return (await fetch(url)).status", ENV],
    ["return new URL(context.secrets.KEY).href", SECRET],
    ["const k = context.secrets.KEY;\nreturn k.slice(0, 4)", SECRET],
    ["export default ({ secrets: { KEY } }) => KEY.length", SECRET],
    ["export default (c) => new URL(c.secrets.KEY).href", SECRET],
    [
      "import { createHmac } from 'node:crypto'; export default ({ secrets }) => createHmac('sha256', secrets.KEY)",
      SECRET,
    ],
    ["export default async ({ params }) => (await fetch(params.key)).status", PARAM],
    ["return new URL(context.query.key).host", QUERY],
    ["export default (ctx) => new Date(ctx.query.key).toISOString()", QUERY],
    ["export default ({ data: { key } }) => key.name", DATA],
    ["export default ({ body: { user } }) => user.name", /^The request has no data, so its body is undefined/],
    [
      "export default { fetch(request, env) { return new Response(env.KEY.slice(1)) } }",
      /^env has .* no KEY\. .*"KEY"/,
    ],
    ["export default { fetch(request, { KEY }) { return new Response(KEY.slice(1)) } }", /^env has .* no KEY\. /],
  ];
  for (const [code, hint] of rows) {
    it(`has a hint that names the value: ${code}`, async () => {
      assert.match((await hintOf(code)) ?? "(no hint)", hint);
    });
  }

  it("names a member of the body that was not sent", async () => {
    const hint = await hintOf("export default ({ body }) => new URL(body.key).href", { other: 1 });
    assert.match(hint ?? "(no hint)", /^The body has no key: send it as a member of the JSON body/);
  });

  const others: readonly [code: string, hint: RegExp | null][] = [
    ["const port = process.env.PORT ?? 1; return new URL('no url').port + port", /^Give the full URL/],
    ["process.env.OWN = 'x'; return new URL('no url').port + process.env.OWN", /^Give the full URL/],
    ["const k = context.secrets.KEY; return new URL('no url').href + k", /^Give the full URL|^The run has no secrets/],
    ["if (context.query.key) return 1; throw new Error('no such order')", null],
    ["// process.env.KEY\nreturn new URL('no url').href", /^Give the full URL/],
    ["const o = {}; const k = process.env.KEY; return o.a.b", /^o\.a is undefined here/],
    ["return new URL(context.data.key).host", null],
  ];
  for (const [code, hint] of others) {
    it(`has another hint if the value is not the cause: ${code}`, async () => {
      const found = await hintOf(code, code.includes("data.key") ? { key: "https://example.com" } : undefined);
      if (hint === null) assert.equal(found, null);
      else assert.match(found ?? "(no hint)", hint);
    });
  }
});

describe("a header that the service withholds", () => {
  const WITHHELD =
    /^The service passes no header authorization to this code, because it may hold credentials for the service: send the value in another header/;
  const rows: readonly [code: string, hint: RegExp | null][] = [
    ["return context.headers.authorization", WITHHELD],
    ["export default (c) => c.headers['authorization']", WITHHELD],
    ["export default ({ headers }) => headers.authorization.split(' ')[1]", WITHHELD],
    ["export default ({ headers: { authorization } }) => authorization.slice(7)", WITHHELD],
    ["return context.headers.cookie.split(';')", /^The service passes no header cookie /],
    ["return context.headers.authorization ?? null", null],
    ["const headers = { a: 1 }; return [headers.a, headers.authorization ?? 2]", null],
    ["if (!context.headers.authorization) return 1; return 2", null],
  ];
  for (const [code, hint] of rows) {
    it(`${hint === null ? "has no hint" : "has a hint"} if the code reads it: ${code}`, async () => {
      const found = await hintOf(code);
      if (hint === null) assert.equal(found, null);
      else assert.match(found ?? "(no hint)", hint);
    });
  }
});

describe("a secret whose name is misspelt", () => {
  const MEANT =
    /^(?:context\.secrets|env) has no STRIPE_KY, but the run has STRIPE_KEY: write context\.secrets\.STRIPE_KEY\.$/;
  const OTHER = /^The run has no secrets\.STRIPE_KEY2\. A task or a token sets it/;
  const rows: readonly [code: string, hint: RegExp][] = [
    ["export default ({ secrets }) => secrets.STRIPE_KY.length", MEANT],
    ['return "Bearer " + context.secrets.STRIPE_KY', MEANT],
    ['export default (c) => ({ ok: true, auth: "Bearer " + c.secrets.STRIPE_KY })', MEANT],
    ["export default (c) => ({ ok: true, key: c.secrets.STRIPE_KY })", MEANT],
    ["const h = context.secrets.STRIPE_KY; throw new Error('Request failed with status code 401')", MEANT],
    ["export default { fetch(request, env) { return new Response(env.STRIPE_KY.slice(1)) } }", MEANT],
    ["return context.secrets.STRIPE_KEY2.length", OTHER],
  ];
  for (const [code, hint] of rows) {
    it(`has a hint with the name that the run has: ${code}`, async () => {
      const secrets = { STRIPE_KEY: "sk-value-of-a-test", STRIPE_KEY1: "other-value" };
      const token = await service.issue({ containers: ["absent"], secrets, secretsReadable: true });
      const answer = await service.request("POST", "/api/runs/absent", { json: { code }, token });
      const found = (answer.json() as { hint: string | null }).hint;
      assert.match(found ?? "(no hint)", hint);
    });
  }
});

describe("a request that a server refuses because of a value that the run does not have", () => {
  const HEADER = "const h = { Authorization: `Bearer ${process.env.KEY}` };";
  const THROW = "const r = { status: 403 };\nif (h) throw new Error(`HTTP ${r.status}`)";
  const rows: readonly [code: string, hint: RegExp | null][] = [
    [`${HEADER} ${THROW}`, ENV],
    [`const KEY = process.env.KEY; const h = { Authorization: \`Bearer \${KEY}\` }; ${THROW}`, ENV],
    [`const KEY = process.env.KEY;\nexport default () => { const h = { "x-api-key": KEY }; ${THROW} }`, ENV],
    [`export default ({ secrets }) => { const h = { Authorization: secrets.KEY }; ${THROW} }`, SECRET],
    ["const h = context.secrets.KEY; throw new Error('Request failed with status code 401')", SECRET],
    ["const h = process.env.KEY; throw new Error('Unauthorized')", ENV],
    [`${HEADER} return { status: h ? 401 : 200 }`, ENV],
    [`${HEADER} return h ? 403 : 200`, ENV],
    [`${HEADER} return { message: h ? "Bad credentials" : "" }`, ENV],
    ["return { auth: `Bearer ${process.env.KEY}` }", ENV],
    ["const h = context.query.key; throw new Error('HTTP 403')", null],
    ["const h = process.env.REGION; throw new Error('HTTP 403')", null],
    [`${HEADER} throw new Error('HTTP 500')`, null],
    [`${HEADER} throw new Error('got 403 rows')`, null],
    [`const h = process.env.KEY ?? "none"; throw new Error('HTTP 403')`, null],
    ["throw new Error('HTTP 403')", null],
    [`${HEADER} return { total: h ? 403 : 1 }`, null],
    [`${HEADER} return { status: h ? 200 : 1 }`, null],
    ["return { auth: 'Bearer undefined' }", null],
  ];
  for (const [code, hint] of rows) {
    it(`${hint === null ? "has no hint" : "has a hint"}: ${code}`, async () => {
      const found = await hintOf(code);
      if (hint === null) assert.equal(found, null);
      else assert.match(found ?? "(no hint)", hint);
    });
  }
});

describe("a result that is empty because of a value that the run does not have", () => {
  const rows: readonly [code: string, hint: RegExp | null][] = [
    ["const { KEY } = process.env; return { key: KEY }", ENV],
    ["export default () => { const { KEY } = process.env; return { key: KEY } }", ENV],
    ["return parseInt(process.env.KEY)", ENV],
    ["return parseInt(process.env.KEY) * 2", ENV],
    ["const limit = Number(process.env.KEY);\nreturn { limit }", ENV],
    ["return `Bearer ${process.env.KEY}`", ENV],
    ["return [process.env.KEY]", ENV],
    ["return context.params.key + 1", PARAM],
    ["const { params } = context; return { n: params.key }", PARAM],
    ["export default ({ secrets }) => ({ key: secrets.KEY })", SECRET],
    ["return parseInt(context.query.key)", QUERY],
    ["return { n: context.query.key }", QUERY],
    ["return context.query.key", QUERY],
    ["export default (c) => c.data.key", DATA],
    ["export default ({ query: { key } }) => key", QUERY],
    ["export default ({ query: { key = null } }) => key", null],
    ["return context.query.key ?? null", null],
    ["if (!context.query.key) return null; return 1", null],
    ["const key = context.query.key; return key ? key.length : null", null],
    ["return { a: undefined }", null],
    ["return { greeting: `hello ${context.query.key}` }", QUERY],
    ["return [`hello ${context.data.key}`, 1]", DATA],
    ['return { a: `undefined ${1}`, b: context.query.other ?? "" }', null],
    ["return { kind: typeof context.query.key, b: `${1} is undefined` }", null],
    ["return { kind: `${typeof context.query.key}` }", null],
  ];
  for (const [code, hint] of rows) {
    it(`${hint === null ? "has no hint" : "has a hint"}: ${code}`, async () => {
      for (let time = 0; time < 2; time++) {
        const found = await hintOf(code);
        if (hint === null) assert.equal(found, null);
        else assert.match(found ?? "(no hint)", hint);
      }
    });
  }
});

describe("code that returns nothing", () => {
  const NONE = /^The function returned nothing, so the result is null: put return/;
  const PATH = /^The code returned nothing this time, .* in other cases only/;
  const rows: readonly [code: string, hint: RegExp][] = [
    ["export default () => { console.log('hi') }", NONE],
    ["export default function () { work() } function work() { return 1 }", NONE],
    ["module.exports = function (context) { const r = 1 + 2; }", NONE],
    ["export default async function handler(context) { await Promise.resolve(3) }", NONE],
    ["(async () => { console.log(42) })()", NONE],
    ["export default (c) => { [1].map((n) => { return n }); c.query.a = 1 }", NONE],
    ["export default (c) => { if (c.query.a) { return 1 } }", PATH],
    ["export default (c) => {\n  if (c.query.a) return 1\n  c.query.a = 2\n}", PATH],
    ["if (context.method === 'GET') { return 1 }", PATH],
  ];
  for (const [code, hint] of rows) {
    it(`has a hint: ${code}`, async () => {
      for (let time = 0; time < 2; time++) assert.match((await hintOf(code)) ?? "(no hint)", hint);
    });
  }
});

describe("an envelope in YAML", () => {
  it("has a hint that names its forms", async () => {
    assert.match(
      (await hintOf("code: 6*7")) ?? "(no hint)",
      /^The code begins with the label code, .*: send the code itself, or send \{"code": "\.\.\."\} with Content-Type: application\/json\.$/,
    );
    assert.equal(await hintOf("code: for (;;) { break code }\nreturn 1"), null);
  });
});

describe("code that uses a promise like its value", () => {
  const JSON_URL = `"data:application/json,{}"`;
  const LOAD = "async function load() { return { a: [1] } }\n";
  const CALLBACK = /^The result was sent before a callback of the code ran: /;
  const rows: readonly [code: string, hint: RegExp][] = [
    [`const data = fetch(${JSON_URL}); return data.a`, /^data is a promise, .* put await before fetch\(/],
    [`const query = fetch(${JSON_URL}); return query.json()`, /^query is a promise: put await before fetch\(/],
    [
      `const res = await fetch(${JSON_URL}); const data = res.json(); return data.a.b`,
      /^data is a promise, so data\.a is undefined: put await before res\.json\(/,
    ],
    [`const r = await fetch(${JSON_URL}); return r.data`, /^r is a Response, which has no data: .* await r\.json\(\)/],
    [`const r = await fetch(${JSON_URL}); return r.data.a`, /^r is a Response, which has no data/],
    [`const { data } = await fetch(${JSON_URL}); return data`, /^A Response has no data/],
    [`const body = await fetch(${JSON_URL}); return body.a.b`, /^body is a Response, which has no a/],
    [`${LOAD}const result = load(); for (const one of result) {}`, /^result is a promise: put await before load\(/],
    [`${LOAD}const result = load(); return result.map((n) => n)`, /^result is a promise: put await before load\(/],
    [`${LOAD}const { a } = load(); return a.length`, /^load\(\.\.\.\) is a promise, so its a is undefined/],
    [`${LOAD}const { a } = load(); return a`, /^load\(\.\.\.\) is a promise, so its a is undefined/],
    [`${LOAD}return { ...load() }`, /^load\(\.\.\.\) returns a promise, .* put await before load/],
    [`${LOAD}return JSON.stringify(load())`, /^load\(\.\.\.\) returns a promise/],
    [`${LOAD}return { n: load() * 2 }`, /^load\(\.\.\.\) returns a promise/],
    [`${LOAD}const one = load(); return \`Hi \${one.name}\``, /^one is a promise, so one\.name is undefined/],
    [
      `const data = await fetch(${JSON_URL}).then((r) => { r.json() }); return data.a`,
      /^The callback of then returns nothing/,
    ],
    [
      `const data = await fetch(${JSON_URL}).then((r) => { r.json() }); return data`,
      /put return before its last value/,
    ],
    [`let out; fetch(${JSON_URL}).then((r) => r.json()).then((d) => { out = d }); return out`, CALLBACK],
    ["const out = []; setTimeout(() => out.push(1), 10); return out", CALLBACK],
    ["return [1, 2].map(async (n) => n).join()", /\[object Promise\].* await Promise\.all\(list\)\.$/],
    [
      "const fs = require('fs').promises; const t = fs.readFile('x'); t.catch(() => {}); return t.trim()",
      /^t is a promise/,
    ],
  ];
  for (const [code, hint] of rows) {
    it(`has a hint: ${code}`, async () => {
      assert.match((await hintOf(code)) ?? "(no hint)", hint);
    });
  }
});
