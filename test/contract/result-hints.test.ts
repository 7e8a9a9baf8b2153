import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, it } from "node:test";

import { command } from "../cli/command.ts";
import { respond } from "./http.ts";
import { type Home, leave, makeHome, NO_WALL, type Service, startService } from "./service.ts";

let home: Home;
let service: Service;
before(async () => {
  home = await makeHome();
  service = await startService([...NO_WALL, "--log-level", "debug"], home);
});
after(() => leave(service, home));

async function hintOf(body: string): Promise<[result: unknown, hint: string | null]> {
  const { result, hint } = (await service.request("POST", "/api/runs/hint", { body })).json() as {
    result: unknown;
    hint: string | null;
  };
  return [result, hint];
}

function hintAt(line: number): string {
  return `The code returned nothing: put return before its last statement, in line ${line}.`;
}

describe("a body that returns nothing, and whose last statement is an expression", () => {
  const forgotten: [string, number][] = [
    ["const a = 6; a * 7", 1],
    ["const a = 6;\na * 7;\n", 2],
    ["const a = [1, 2]\na.map((n) => {\n  return n;\n})\n  .filter(Boolean) // all\n", 2],
    ["const a = await Promise.resolve(1);\nawait Promise.resolve(a)", 2],
    ["function f() { return 1 }\nf()", 2],
    ["if (globalThis.never) { return 1 }\n({ a: 1 })", 2],
    ["const a: number = 6;\na * 7", 2],
    ["const text = `;\n${1}`;\n`${text}`", 3],
    ["// const b = 1; b\nlet a = /;\\//.test(';'); a = 2", 2],
    ["for (const a of [1]) {}\n[1, 2].length;", 2],
  ];
  for (const [code, line] of forgotten) {
    it(`has a hint with its line: ${code}`, async () => {
      assert.deepEqual(await hintOf(code), [null, hintAt(line)]);
      assert.deepEqual(await hintOf(code), [null, hintAt(line)], "also when the code is known");
    });
  }

  it("has the hint in the answer of /api/run, in the log, and in caisson run", async () => {
    const answer = await service.run("hint", "const a = 6;\na * 7");
    assert.deepEqual([answer.text, answer.headers["caisson-hint"]], ["null", hintAt(2)]);
    const run = answer.headers["caisson-run"]!;
    const line = await service.logLine((text) => text.includes(run) && text.includes("put return before"));
    assert.match(line, /"level":"debug".*"taskLevel":"warn"/);
    const folder = await mkdtemp(path.join(tmpdir(), "caisson-hint-"));
    try {
      const file = path.join(folder, "task.js");
      await writeFile(file, "const a = 6;\na * 7");
      const shown = await command(["run", file, "--port", String(service.port), "--data", home.data]);
      assert.deepEqual(shown, { code: 0, stdout: "null\n", stderr: `caisson: ${hintAt(2)}\n` });
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  it("has the hint for its author, and not for strangers who call it as a public task", async () => {
    const json = { code: "const a = 6; a * 7", public: true };
    await service.request("PUT", "/api/tasks/hint/task", { json });
    const stranger = await service.request("GET", "/api/run/hint/task", { token: null });
    assert.deepEqual([stranger.text, stranger.headers["caisson-hint"]], ["null", undefined]);
    await service.request("PUT", "/api/tasks/hint/task", { json: { errors: "shown" } });
    const shown = await service.request("GET", "/api/run/hint/task", { token: null });
    assert.equal(shown.headers["caisson-hint"], hintAt(1));
  });
});

describe("a result of which JSON keeps nothing", () => {
  const lost: [code: string, place: string, what: RegExp][] = [
    ["new Map([[1, 2]])", "", /^The result has a Map, .*Object\.fromEntries/],
    ["new Set([1])", "", /a Set, .*\[\.\.\.set\]/],
    ["return [1, 2].map(async (n) => n)", "[0]", /is a promise, .*Promise\.all/],
    ["export default () => ({ user: Promise.resolve(1), a: {} })", ".user", /is a promise, .*await it first/],
    ["module.exports = (cb) => cb(null, { a: { b: new Map() } })", ".a.b", /is a Map/],
    ["({ error: new Error('x') })", ".error", /is an error, .*return its message/],
    ["({ found: /a/ })", ".found", /is a regular expression/],
    ["({ res: await fetch('data:,1') })", ".res", /is a Request or a Response/],
    ["({ headers: new Headers({ a: 'b' }) })", ".headers", /Object\.fromEntries/],
    ["new Map([[1, 2]]).keys()", "", /an iterator, .*\[\.\.\.iterator\]/],
    ["class A { #b = 1 } return { a: [new A()] }", ".a[0]", /instance of a class without public fields/],
    ["({ run: () => 1 })", ".run", /is a function, which JSON leaves out/],
    ["({ 'a b': new Map() })", "", /^The result has a Map/],
    ["0 / 0", "", /^The result is NaN or infinite/],
  ];
  for (const [code, place, what] of lost) {
    it(`has a hint with its place: ${code}`, async () => {
      const hint = (await hintOf(code))[1] ?? "(no hint)";
      assert.match(hint, what);
      assert.ok(place === "" || hint.startsWith(`result${place} is `), hint);
    });
  }

  it("has the hint in the answer of /api/run", async () => {
    const answer = await service.run("hint", "new Map()");
    assert.deepEqual([answer.status, answer.text], [200, "{}"]);
    assert.match(answer.headers["caisson-hint"]!, /a Map/);
  });

  it("is looked for without calling code of the task", async () => {
    const trap = "throw new Error('called')";
    const code = `let n = 0;
const value = { a: {}, get b() { if (n++) { ${trap} } return {} } };
return [value, new Proxy({}, { getPrototypeOf() { ${trap} } })]`;
    assert.deepEqual(await hintOf(code), [[{ a: {}, b: {} }, {}], null]);
  });
});

it("is looked for in a chain of promises with many spaces, and the guest stays responsive", async () => {
  const [result] = await hintOf(`Promise.resolve(1).then((x) => console.log(x)${" ".repeat(1_900)}, 0)`);
  assert.equal(result, null);
});

it("names an interval that nothing waits for and nothing ends", async () => {
  const rows: [code: string, hint: RegExp | null][] = [
    ["setInterval(() => console.log('tick'), 3_600_000); return 'on'", /^The result ends the run, and the interval/],
    ["const t = setInterval(() => {}, 3_600_000); clearInterval(t); return 1", null],
    ["setInterval(() => {}, 3_600_000); export default () => 1", null],
  ];
  for (const [body, expected] of rows) {
    const { hint } = (await service.request("POST", "/api/runs/interval", { body })).json() as { hint: string | null };
    if (expected === null) assert.equal(hint, null, body);
    else assert.match(hint ?? "(no hint)", expected);
  }
});

describe("an envelope that is not sent as JSON", () => {
  it("is an expression, and its answer names how to send it", async () => {
    const body = '{"code": "return context.data", "data": {"n": 1}}';
    for (const type of [undefined, "text/plain"]) {
      const headers = type === undefined ? {} : { "Content-Type": type };
      const answer = await service.run("hint", body, { headers });
      assert.deepEqual([answer.status, answer.json()], [200, JSON.parse(body)]);
      assert.match(answer.headers["caisson-hint"]!, /is an envelope .*Content-Type: application\/json\.$/);
    }
    for (const nearly of ["{'code': 'return 1'}", '{code: "return 1"}', '{"code": "() => 1",}']) {
      assert.match((await service.run("hint", nearly)).headers["caisson-hint"] ?? "", /is an envelope/, nearly);
    }
    for (const other of ['{"code": 1}', "{code: 'AB'}", "{code: 'return 1', status: 2}"]) {
      assert.equal((await service.run("hint", other)).headers["caisson-hint"], undefined, other);
    }
    for (const other of ['{"code": 1}', '{"code": "x", "status": 2}', '{"data": "code"}']) {
      assert.equal((await service.run("hint", other)).headers["caisson-hint"], undefined, other);
    }
  });
});

describe("JSON like an envelope that is not sent as JSON", () => {
  const sent =
    "The code is JSON like an envelope, so its result is that object: send it with Content-Type: application/json.";
  const wrong: [body: string, fix: string][] = [
    [
      '{"code":"6*7","language":"javascript"}',
      "language: leave it out. Code may be JavaScript or TypeScript, for the Node of the service.",
    ],
    ['{"code":"return context.data","input":{}}', "input: did you mean data?"],
    ['{"code":"6*7","timeout":5}', "timeout: POST /api/runs/{container} takes it."],
    [
      '{"code":"6*7","secrets":{"A":"b"}}',
      "secrets: a task or a token sets it, in PUT /api/tasks/{container}/{name} or POST /api/tokens.",
    ],
    ['{"script":"6*7"}', "script: did you mean code?"],
  ];
  for (const [body, fix] of wrong) {
    it(`has a hint that names the wrong member: ${body}`, async () => {
      const answer = await service.run("hint", body, {
        headers: { "Content-Type": "application/x-www-form-urlencoded" },
      });
      assert.deepEqual([answer.status, answer.json()], [200, JSON.parse(body)]);
      assert.equal(answer.headers["caisson-hint"], `${sent} An envelope has no member ${fix}`);
    });
  }

  it("has no hint if it may be a result", async () => {
    for (const other of [
      '{"code":"DE","language":"de"}',
      '{"code":"6*7","name":"x"}',
      '{"text":"f()"}',
      '{"script":1}',
      '{"constructor":1,"code":"f()"}',
    ])
      assert.equal((await service.run("hint", other)).headers["caisson-hint"], undefined, other);
  });
});

describe("a result that is sent, but is not what was meant", () => {
  const meant: [code: string, hint: RegExp][] = [
    ["// const a = 1; return a", /^The code has only comments\. .*--data-binary/],
    ["export default (event) => ({ statusCode: 404, headers: {}, body: 'gone' })", /return new Response\(body, /],
    ["() => { 42 }", /^The function returned nothing: .* put return before/],
    ["const a = 1; module.exports = () => { a }", /^The function returned nothing/],
    ["export default (ctx) => { ctx.query.a }", /^The function returned nothing/],
    [
      "export default (ctx) => { a: 1 }",
      /^The function returned nothing: .* in parentheses: \(context\) => \(\{ a: 1 \}\)\.$/,
    ],
    ["({ query }) => {\n  total: query.a\n}", /^The function returned nothing: .* in parentheses/],
    ["const f = () => { return\n  42 }; return f()", /^A line ends after return, .* bracket, in the line of return\.$/],
    ["export default () => {\n  return\n  { a: 1 };\n}", /^A line ends after return/],
    [
      "const out = []; [1, 2].forEach(async (n) => { await fetch('data:,1'); out.push(n) }); return out",
      /^forEach does not wait/,
    ],
    [
      "export default () => { let n = 0; [1].forEach(async () => { await 1; n += 1 }); return n }",
      /^forEach does not wait/,
    ],
    ["return process.env.API_KEY", /^process\.env has no variables of yours/],
    ["export default () => process.env['API_KEY']", /^process\.env has no variables of yours/],
  ];
  for (const [code, hint] of meant) {
    it(`has a hint: ${code}`, async () => {
      for (let time = 0; time < 2; time++) assert.match((await hintOf(code))[1] ?? "(no hint)", hint);
    });
  }
});

describe("any other code", () => {
  const others = [
    "({ a: {}, b: [], c: [{}], d: undefined, e: Object.create(null) })",
    "({ a: new Date(0), b: {}, c: new Number(1) })",
    "({ a: {}, toJSON() { return {} } })",
    "new (class { toJSON() { return {} } })()",
    "null",
    "[null]",
    "({ _events: { end() {} } })",
    "({ statusCode: 404 })",
    "({ a: 1, statusCode: 404, body: '' })",
    "return undefined",
    "const a = 6; return a * 7",
    "const a = 6; console.log('done')",
    "const a = 6; console.log(`done`, 1)",
    "const a = 6; console.log('start'); console.log(a)",
    "if (globalThis.never) return 1; else return",
    "(context) => console.log(context.method)",
    "Promise.resolve(1).then((x) => { console.log(x); return null })",
    "export default (context) => { console.log(context.method); return }",
    "const r = fetch('data:,1'); return r.then(() => null)",
    "const r = fetch('data:,1'); const s = await r; return s.body?.nothing ?? null",
    "const r = fetch('data:,1'); await Promise.all([r]); return null",
    "const f = async () => ({ a: 1 }); const r = await f(); return { b: r.b }",
    "const find = (r) => r.status; const r = fetch('data:,1'); return find(await r) === 0 ? 1 : null",
    "const fetch = () => ({ n: undefined }); const r = fetch(); return r.n ?? null",
    "return context.traceparent",
    "const context = { n: undefined }; return context.n ?? null",
    "return context.body ?? null",
    "if (true) { 6 * 7 }",
    "if (true)\n  Math.max(1)",
    "if (false) {} else\n  Math.max(1)",
    "for (const a of [1]) Math.max(a)",
    "label: Math.max(1)",
    "function f() {}",
    "const a = 1; class A {}",
    "const a = 1; {}",
    "const a = 1; void a",
    "let a; // a; 1",
    "let a; /* a;\n1 */",
    "const a = 1; if (a) { Math.max(1) }",
    "const list = [1, null].map((n) => n && null); return list",
    "return [undefined, 1]",
    "return new Array(3)",
    "return 'x is undefined'",
    "try { globalThis.never.x } catch (error) { return `failed: ${error}` }",
    "return { on: 1, _events: {}, _eventsCount: 0 }",
    "do { Math.max(1) } while (false)",
    "undefined",
    "(context) => { context.query.a = 1; return null }",
    "() => {}",
    "(context, cb) => { if (globalThis.never) return cb(null, 1); cb(null) }",
    "() => { if (globalThis.never) { return 1 } else { return undefined } }",
    "() => { const f = () => { return 1 }; f(); return undefined }",
    "() => { try { return undefined } finally { Math.max(1) } }",
    "() => { outer: for (const a of [1]) { continue outer } return null }",
    "(context) => {\n  if (context.body === undefined)\n    return\n  context.query.a = 1\n}",
    "(context) => {\n  if (context.body === undefined) {\n    return\n  }\n  globalThis.n = 1\n}",
    "async () => { await Promise.resolve(1); return null }",
    "(context, cb) => { cb(null) }",
    "[1].forEach((n) => n); return []",
    "return [process.env.HOME_OF_NONE ?? 1]",
    "return process.env.NODE_ENV ?? null",
    "try { Math.max(1) } finally { Math.max(2) }",
  ];
  for (const code of others) {
    it(`has no hint: ${code}`, async () => {
      assert.equal((await hintOf(code))[1], null);
    });
  }
});

/** The hint of a run that fails, or whose result is probably not meant. */
async function hintOfRun(code: string, data?: unknown): Promise<string | null> {
  const json = { code, ...(data !== undefined && { data }) };
  return ((await service.request("POST", "/api/runs/hint", { json })).json() as { hint: string | null }).hint;
}

describe("a result that JSON or a text changes", () => {
  const rows: readonly [code: string, hint: RegExp | null][] = [
    ["return { avg: 0 / 0, list: [1] }", /^result\.avg is NaN or infinite\./],
    ["return { a: { b: [1, 2, Infinity], c: null } }", /^result\.a\.b\[2\] is NaN or infinite\./],
    ["return { a: null, b: 1 }", null],
    // The path of the member is not shown, and the result is not null.
    ["return { ['a-b']: 0 / 0, has: context.secrets.KEY !== '' }", null],
    ["return { ['a-b']: new Date('x') }", null],
    ["return new Date('x')", /^The result is an invalid date/],
    ["return [{ at: new Date('x') }]", /^result\[0\]\.at is an invalid date/],
    ["const get = async () => 1;\nreturn get() + 1", /^The result has the text \[object Promise\]: await/],
    ["return { text: `total: ${{ a: 1 }}` }", /such as \[object Object\]: add JSON\.stringify\(value\)/],
    ["return JSON.stringify({ a: 1 })", /a text of JSON.*return the value/],
    ["return '[draft] a {b}'", null],
    ["return { status: 404, body: 'no' }", /return new Response\(body/],
    ["return { status: 404, body: 'no', id: 1 }", null],
    ["return context.secrets.KEY", /^The run has no secrets\.KEY\. A task or a token sets it/],
    ["return require('fs').readFileSync(0, 'utf8') || null", /has no stdin/],
    ["'abc'.lenght", /no member lenght/],
    ["export default ({ query }) => query.name", /^The query has no name: send it in the URL/],
    ["return undefined", null],
    ["const user = { name: 'x' };\nreturn user.nmae", /did you mean name\?$/],
    ["[].lenght", /no member lenght: did you mean length\?$/],
    ["const all = [{ total: 1 }]; return all[0].totla", /no member totla: did you mean total\?$/],
    ["const one = { name: 'x' }; return one.names", /no member names: check its name/],
    ["return context.n", /^A context has no member n, .* context\.data\.n reads it/],
    ["return context.payload", /^A context has no member payload, .* context\.body is the parsed body/],
    ["const { n } = context;\nreturn n", /^A context has no member n, .* context\.data\.n reads it/],
    ["({ n }) => n", /^A context has no member n/],
    ["export default async function ({ n }) { return n; }", /^A context has no member n/],
    ["const { data } = { n: 1 }; return data", null],
    ["const { n } = context.data; return n", /^context\.data has no n: /],
    ["const a = [1]; return a.size", /no member size: did you mean length\?$/],
    ["const s = new Set([1]); return s.length", /^s is a Set, which has no length: write s\.size\.$/],
    [
      "const s = fetch('data:,1').status;\nreturn s",
      /^fetch\(\.\.\.\) is a promise, .* write \(await fetch\(\.\.\.\)\)\.status\.$/,
    ],
    ["const s = (await fetch('data:,1')).nothing ?? null;\nreturn s", null],
    ["return fetch('data:,1').then(() => null)", null],
    ["return context.body", null],
    ["const { body } = context; return body", null],
    ["return context.env", /^A context has no member env, .* use context\.params and context\.secrets\.$/],
    ["(ctx) => ctx.user", /^A context has no member user/],
    [
      "const r = fetch('data:,1'); return r.status",
      /^r is a promise, so r\.status is undefined: put await before fetch\(/,
    ],
    ["const r = fetch('data:,1');\nreturn { status: r.status }", /^r is a promise, so r\.status is undefined/],
    ["const r = await fetch('data:,{}'); const d = r.json(); return d.name", /put await before r\.json\(/],
    ["async function load() { return { a: 1 } }\nconst d: any = load();\nreturn d.a", /put await before load\(/],
    [
      "const name: string = context.url as string;\nconsole.log(name);",
      /^The code returned nothing, and console writes to the log .* after line 2\.$/,
    ],
    [
      "Promise.resolve({ a: 1 }).then((r) => r).then((d) => console.log(d))",
      /^The last function in then prints its value/,
    ],
    ["Promise.resolve(1).then(x => console.log('got', x)).catch(console.error);", /^The last function in then prints/],
    ["const p = Promise.resolve(1);\nreturn p.then(console.log)", /^The last function in then prints/],
    [
      "Promise.resolve().then(() => console.log('done'))",
      /^The last function in then prints .* null: return the value/,
    ],
    [
      "async function main() { return 42 }\nmain().then((r) => console.log(r)).catch(console.error)",
      /^The last function in then prints .*: put return before the statement in line 2, and return the value in that/,
    ],
    ["(() => { 42 })()", /^The function returned nothing, .* put return before the value/],
    ["(function () { const a = 1; a + 1 })();", /^The function returned nothing, .* put return before the value/],
    ["(function () { globalThis.a = 1; return })();", null],
    ["console.log('hi')", /^The code returned nothing, and console writes to the log .* after line 1\.$/],
    ["const a = 6;\nconsole.log(a * 7);", /after line 2\.$/],
    ["[1].forEach(async () => { await 1 })", /^forEach does not wait for an async function/],
    ["return [3, 1].sort().forEach((n) => n)", /^forEach returns nothing: map returns a list/],
    ["[3, 1].forEach((n) => n)", null],
    ["export default (ctx) => ctx.headers['User-Agent']", /^The names of headers are in lower case/],
    ["export default (ctx) => ctx.headers['User-Agent'] ?? ctx.headers['x-none'] ?? null", null],
    ["export default (ctx) => (ctx.headers.hasOwnProperty('X') ? 1 : null)", null],
    ["export default (ctx) => { ctx.status = 404; ctx.body = 'no' }", /^The context is not the answer: return/],
    [
      "module.exports = async function (context, req) { context.res = { body: 'hi' } }",
      /^The context is not the answer: return/,
    ],
    ["export default (ctx) => { if (ctx.status === 1) return 1; return null }", null],
    ["return new Response(new Map())", /^The Response has the text of an object/],
    ["return new Response('[object Map] and more')", null],
    ["const x = 6*7;", /its last statement, in line 1, declares x\. Put return x after it\.$/],
    ["const a = [1];\nconst b = a\n  .map((n) => {\n    return n;\n  });\n", /in line 2, declares b\./],
    ["const a = 5\n+ 3", /in line 1, declares a\./],
    ["const a = 1 // ;a", /in line 1, declares a\./],
    ["const a = 1; // first return a", /^The text has one line only, so its comment hides .*--data-binary @task\.js/],
    ["const x = [1, 2].map((n) => { n * 2 });\nreturn x", /^The result is a list of undefined, .* Put return between/],
    ["return { n: [1, 2].map((n) => { n * 2 }) }", /^result\.n is a list of undefined/],
    ["return process.env.HOST + process.env.API_KEY", /^process\.env has no variables of yours/],
    ["return process.env.API_URL + '/users'", /^process\.env has no variables of yours/],
    ["return `Hello ${context.query.name}`", /^The query has no name/],
    ["const user = {};\nreturn `Hello ${user.name}`", /^The result is a text with undefined in it/],
    ["const r = fetch('data:,1');\nreturn r.status * 2", /^r is a promise, so r\.status is undefined/],
    ["return require('node:net').connect(9, '127.0.0.1').on('error', () => {})", /^The result is a stream, a socket/],
    ["return { at: new (require('node:events'))() }", /^result\.at is a stream, a socket/],
  ];
  for (const [code, hint] of rows) {
    it(`${hint === null ? "has no hint" : "has a hint"}: ${code}`, async () => {
      const found = await hintOfRun(code);
      if (hint === null) assert.equal(found, null);
      else assert.match(found ?? "(no hint)", hint);
    });
  }
});

describe("a Response with the text of an object", () => {
  it("has the hint in its head", async () => {
    const { text, headers } = await service.run("hints", "return new Response({ a: 1 })");
    assert.equal(text, "[object Object]");
    assert.match(headers["caisson-hint"]!, /^The Response has the text of an object/);
  });

  it("has no hint for the callers of a public task, because they are not its authors", async () => {
    const json = { code: "export default () => new Response({ a: 1 })", public: true };
    assert.equal((await service.request("PUT", "/api/tasks/hints/page", { json })).status, 201);
    const { text, headers } = await service.run("hints/page", "", { token: null });
    assert.deepEqual([text, headers["caisson-hint"]], ["[object Object]", undefined]);
  });

  it("has its head at once if its body is a stream of another type", async () => {
    const code = `new Response(new ReadableStream({ start() {} }), { headers: { "content-type": "text/plain" } })`;
    const answer = await respond(service.port, "POST", "/api/run/hints", { token: service.admin, body: code });
    assert.equal(answer.statusCode, 200);
    answer.on("error", () => {}).destroy();
  });
});

describe("code whose names do not fit into a hint", () => {
  const long = "n".repeat(65);
  const texts = [
    "const 変数 = 6",
    "let naïve = () => 1",
    `const ${long} = 6`,
    `const r = fetch("data:,1");\nreturn r.${long}`,
    "const é = fetch('data:,1');\nreturn é.status * 2",
    `const r = await fetch("data:,1");\nreturn r.${long}`,
    `const f = async () => 1;\nreturn [f()].${long}`,
    `return process.env.${long}`,
    "return context.naïve",
    `return context.query.${long}`,
  ];
  for (const code of texts) {
    it(`keeps its guest: ${code.replaceAll(long, "n...n")}`, async () => {
      const answer = await service.run("names", code);
      assert.equal(answer.status, 200, answer.text);
    });
  }
});

describe("an error of JavaScript", () => {
  const rows: readonly [code: string, hint: RegExp][] = [
    ["const user = {};\nreturn usr.name", /^Did you mean user\?$/],
    ["consol.log('x')", /^Did you mean console\?$/],
    ["return totl + 1", /^Nothing declares totl: declare it/],
    ["await sleep(100)", /setTimeout\(resolve, ms\)/],
    [
      "return path.join('a', 'b')",
      /^path is a module of Node: write const path = require\("node:path"\), or import path from/,
    ],
    ["export default () => fs.readFileSync('x')", /^fs is a module of Node: .* import fs from "node:fs"/],
    ["const paths = 1; return path + paths", /^Did you mean paths\?$/],
    ["return crypto.createHash('sha256')", /^The global crypto is Web Crypto: .* require\("node:crypto"\)/],
    ["return crypto.randomBytes(8)", /^The global crypto is Web Crypto/],
    ["return crypto.frobnicate()", /no function frobnicate/],
    ["ls -la", /command of a shell/],
    ["console.lgo('x')", /^Did you mean log\?$/],
    ["[1].mpa((x) => x)", /^Did you mean map\?$/],
    ["const price = '12.5'; return price.toFixed(2)", /^Only a number has toFixed: write Number\(value\)/],
    ["return 'a,b'.map((x) => x)", /^Only a list has map, .* split of a text\.$/],
    ["return Date.now().toISOString()", /^Only a date has toISOString: write new Date\(value\)/],
    ["const user = { name: 'x' }; return user.getName()", /^The value in front of \.getName has no function getName/],
    ["return JSON.parse(context.body).n", /^The value is undefined\. .* leave JSON\.parse out\.$/],
    ["return JSON.parse({ n: 1 }).n", /^The value is an object already/],
    [
      "const r = Object.create(null, {}); const f = async () => 1; const p = f(); p.json()",
      /^p is a promise: put await before f\(\.\.\.\)/,
    ],
    ["const o = { a: 1 };\nreturn o.b.c", /^o\.b is undefined here: test it first, or write o\.b\?\.c\.$/],
    ["const o = null;\nconst { a } = o", /^o is null here: test it first, or write \{ a \} = o \?\? \{\}\.$/],
    ["return context.body.name", /The request has no data.* or caisson run --input, or as the body of a named task/],
    ["const { items } = context.body; return items", /The request has no data/],
    ["return context.query.items.map((x) => x)", /The query has no items: send it in the URL/],
    ["return context.data.items.length", /context\.data has no items/],
    ["return context.user.name", /context\.data for the query and the members of the body/],
    ["export default (c) => c.secret.KEY", /^The context has no secret: did you mean secrets\?$/],
    [
      "export default async (event) => event.queryStringParameters.name",
      /^The context has no queryStringParameters: it has data \(the query/,
    ],
    [
      "// first\nexport default function main(req: any) { return req.bdoy.name }",
      /^The context has no bdoy: did you mean body\?$/,
    ],
    ["export default ({ request }) => request.body.name", /^The context has no request: it has data \(the query/],
    [
      "module.exports = async ({ query, res }) => { return res.json({}) }",
      /^The context has no res: it has data \(the query/,
    ],
    ["export default ({ query: { user } }) => user.name", /^The query has no user: send it in the URL/],
    ["export default (c) => { const req = {}; return req.a.b }", /^req\.a is undefined here/],
    ["const user = (u) => u.a.b; return user({})", /^u\.a is undefined here/],
    ["export default (c) => c.traceparent.length", /^c\.traceparent is null here/],
    ["return process.env.API_KEY.length", /The code then reads context\.secrets\.API_KEY/],
    ["export default { fetch(request, env) { return new Response(env.KV.get('x')) } }", /env has .* no KV/],
    [
      "export default { async fetch(request) { return Response.json(await request.json()) } }",
      /A request without a body/,
    ],
    ["const x = 1; x = 2", /let instead of const/],
    ["function f() { f() } f()", /calls itself without end/],
    ["for (const [k] of { a: 1 }) {}", /Object\.entries/],
    ["throw { reason: 'x' }", /^Throw an Error/],
    [
      "async function get() { return { a: { b: 1 } } }\nconst x = get();\nreturn x.a.b",
      /^x is a promise, so x\.a is undefined: put await before get\(\.\.\.\)\.$/,
    ],
    ["async function get() { return {} }\nconst x = await get();\nreturn x.a.b", /^x\.a is undefined here/],
    ["const { data } = await fetch('data:,1'); return data.x", /^A Response has no data: write const data = await/],
    ["const r = new Response('{}'); return r.json", /^A function was called without its object/],
    ["return eval('1+')", /^The text that the code gives to eval or Function does not parse/],
    ["return eval('1') + JSON.parse('{')", /^The parsed text is not JSON/],
    ["export default { Fetch() { return new Response('x') } }", /^Rename Fetch to fetch/],
    ["export default { scheduled() {} }", /^The service has no schedule/],
    ["exports.handler = async (event) => 1", /`module\.exports = module\.exports\.handler` at the end of CommonJS/],
    ["throw undefined", /^Throw an Error/],
    ["return [].lenght.toFixed()", /^The value has no lenght: did you mean length\?$/],
    ["const one = { total: 1 };\nreturn one.totla.toFixed()", /^The value has no totla: did you mean total\?$/],
    [
      "throw Object.assign(new Error('EPERM: x, watch'), { code: 'EPERM', syscall: 'watch' })",
      /^Files cannot be watched here/,
    ],
    [
      "throw new Error('A system error occurred: uv_os_get_passwd returned ENOENT (no such file or directory)')",
      /^The user of a guest has no name/,
    ],
    ["throw new Error()", /has no message/],
    ["export async function GET(request) { return new Response('x') }", /export default \{ fetch: GET \}/],
    ["module.exports.handler = (event, context, callback) => callback(null, 1)", /has two parameters/],
    ["import x from 'https://esm.sh/lodash'; export default () => x", /A URL cannot be imported/],
    ["(req, res) => { res.send('hi') }", /^A function of two parameters .* of Express: return the value/],
    [
      "module.exports = async (event, context) => event.queryStringParameters.name",
      /^event is the context of caisson, and no event of AWS Lambda, so it has no queryStringParameters: it has query/,
    ],
    ["import http from 'node:http'; export default http.createServer(() => {})", /^No client can connect to a task/],
    ["res.send('hi')", /^The result of the code is its answer: return the value/],
    ["self.addEventListener('message', () => {})", /^There is no page here/],
    ["localStorage.setItem('a', 1)", /^There is no storage of a browser/],
    [
      "export default { fetch(request) { return new Response(request.query.name) } }",
      /^A Request has no query: read new URL\(request\.url\)\.searchParams/,
    ],
    [
      "export default { fetch(request) { return new Response(new URL(request.url).searchParams.get('n').trim()) } }",
      /^The query has no n: send it in the URL/,
    ],
    [
      "export default { fetch(request) { return new Response(request.headers.get('x-api-key').trim()) } }",
      /^The request has no header x-api-key/,
    ],
    ["import.meta.env.KEY", /^Only bundlers such as Vite set/],
    ["cb(null, 1)", /^Return the result: .* \(context, cb\) => cb\(null, value\)\.$/],
    ["return await fetch('data:,1').json()", /^fetch returns a promise: write \(await fetch\(url\)\)/],
    ["return 'abc'.length()", /^length is a value, and no function/],
    ["return context.body().n", /^The members of the context are values/],
    ["return [1].contains(1)", /^JavaScript has no contains: did you mean includes\?$/],
    ["return context.json()", /^The context is no Request: context\.body is the parsed body/],
    [
      "throw new Error('Could not load the \"sharp\" module using the linux-x64 runtime\\n    npm install --include=optional sharp')",
      /^The package has native code, which does not run here: use a package that is JavaScript or WebAssembly\.$/,
    ],
    ["return context.done(null, 1)", /^The context has no callback: return the result/],
    ["export class Greeter { hello() {} }", /export default \(context\) => new Greeter\(\)\.hello\(context\)\.$/],
    ["export default class { fetch() {} }", /^Export an instance: export default new Name\(\)\.$/],
    ["import x from 'npm:@four'; export default x", /^Name a package, and a version, .*: npm:zod, /],
    ["import x from 'npm:zod@^9!'; export default x", /^Name a package, and a version, .*: npm:zod, /],
  ];
  for (const [code, hint] of rows) {
    it(`has a hint that its text shows: ${code}`, async () => {
      assert.match((await hintOfRun(code)) ?? "(no hint)", hint);
    });
  }

  it("has no hint if the code itself throws an error", async () => {
    assert.equal(await hintOfRun("throw new Error('no such order')"), null);
  });
});

describe("a body that is a text", () => {
  const rows: readonly [code: string, body: string, hint: RegExp | null][] = [
    [
      "export default (context) => context.body.n",
      '{"n":1}',
      /^context\.body is a text, so context\.body\.n is undefined/,
    ],
    [
      "export default (context) => context.data.n",
      '{"n":1}',
      /^context\.body is a text, so context\.data\.n is undefined/,
    ],
    [
      "export default (context) => context.body.user.name",
      '{"n":1}',
      /^context\.body is a text, because it came as text\/plain, so it has no user: send/,
    ],
    [
      "(c) => c.body.items.length",
      '{"items":[1]}',
      /^context\.body is a text, because it came as text\/plain, so it has no items: send/,
    ],
    ["(c) => { const r = { body: {} }; return r.body.items.length }", '{"n":1}', /^r\.body\.items is undefined here/],
    ["export default (context) => context.data.n", "hello", /no member n: check its name/],
    ["export default (context) => context.body.length", "", /The request has no data/],
    ["export default (context) => context.body.length", "hello", null],
  ];
  for (const [code, body, hint] of rows) {
    it(`${hint === null ? "has no hint" : "has a hint"} for its members: ${code} with ${body}`, async () => {
      await service.request("PUT", "/api/tasks/hint/text", { json: { code } });
      const headers = { "Content-Type": "text/plain" };
      const answer = await service.request("POST", "/api/run/hint/text", { body, headers });
      const shown = answer.status === 200 ? answer.headers["caisson-hint"] : (answer.json() as { hint: string }).hint;
      if (hint === null) assert.equal(shown, undefined);
      else assert.match(shown ?? "(no hint)", hint);
    });
  }
});

describe("a text that does not parse because of its grammar", () => {
  const rows: readonly [code: string, hint: RegExp][] = [
    ["const a = 1;\nfunction f(x) {\n  return x;\nconst b = f(a);\nreturn b;", /^The \{ in line 2 has no \}\.$/],
    ["const o = { a: 1, b: 2\nconst x = 4", /^The \{ in line 1 has no \}\.$/],
    ["function a() {\n  if (true) {\n    return 1\n}\nconst b = 1\nreturn b", /^The \{ in line 2 has no \}\.$/],
    ["(a, b) = > a + b", /^Write => without a space\.$/],
    ["(a: number): number = > a + b", /^Write => without a space\.$/],
    ["if (a < = 3) { return 1 }", /^Write <= without a space\.$/],
    ["const n: = 5", /^A type is missing after :\.$/],
    ["const x = a as ; return x", /^A type is missing after as\.$/],
    ["function first<T>(a: T[]: T { return a[0] }", /^The \( in line 1 has no \) before this colon\.$/],
    ["const a: string[ = []; return a", /^The \[ in line 1 has no \] before this =\.$/],
    ["let x: Map<string, number = new Map(); return x", /^The < in line 1 has no >\.$/],
    ["interface A { a: string b: number }", /^Put ; or a line break before b\.$/],
    ["enum A { B C }", /^A comma is missing before C\.$/],
    ["const {a b} = context", /^A comma is missing before b\.$/],
    ["if (1) { } else if { }", /^if needs a condition before this brace: if \(\.\.\.\)/],
    ["for { }", /^for needs its head before this brace/],
    ["interface { a: string }", /^interface needs a name/],
    ["if (a) then { return 1 }", /^JavaScript has no then/],
    ["foreach (const a of b) { }", /^Write for \(const item of list\)/],
    ["return a <> b", /^Write !== instead of <>\.$/],
    ["return {a: 1,, b: 2}", /^One of the two commas/],
    ["const x = 1 +* 2", /^A value is missing between \+ and \*\.$/],
    ['{"a": 1, "b": }', /^A value is missing after :\.$/],
    ["{'a': 1, 'b' 2}", /^A colon is missing after 'b'\.$/],
    ["function f(): { return 1 }", /^A type is missing between the colon and the brace\.$/],
    ["export default async (c: object): Promise<string> { return 1 }", /^An arrow function has => between its type/],
    ["return 1 => 2", /^=> cannot follow 1 here: /],
    ["function f( { return 1 }", /^The \( in line 1 has no \)\.$/],
    ["type X = { a: number; return 1", /^The \{ in line 1 has no \}\.$/],
    ["return f(1, [2, 3)", /^The \[ in line 1 has no \] before this \)\.$/],
    ["return 1)", /^Nothing opens this \)\.$/],
    ['return "abc', /has no " at its end/],
    ["return `abc", /^The ` in line 1 has no `\.$/],
    ["export default () => {  const a = 1; // one  return a;};", /--data-binary @task\.js/],
    ["const a = 1const b = 2return a + b", /--data-binary @task\.js/],
    ["retrun 42", /^Did you mean return\?$/],
    ["cosnt x = 1", /^Did you mean const\?$/],
    ["fucntion f() {}", /^Did you mean function\?$/],
    ["return { a: 1; b: 2 }", /by commas/],
    ["const x = 5 +; return x", /^A value is missing after \+\.$/],
    ["return 1 +", /in the middle of a statement/],
    ["let a = 1; let a = 2", /^Assign to a without const or let/],
    ["export { foo }", /^Declare foo in the code/],
    ['print "hi"', /looks like Python/],
    ["/* comment", /^The comment that begins here has no \*\/ at its end\.$/],
    ["return 2\u2013 1", /^Write - instead of the typographic dash\.$/],
    ["export async () => 1", /^An export without a declaration needs default/],
    ["export deafult () => 1", /^Did you mean export default\?$/],
    ["/*\n export all of it\n*/\nreturn 1 +", /in the middle of a statement/],
    ["export default function () { return 1 } export default function b() {}", /^A module has one default export/],
    ["export default 1;\nexport default 2;", /^A module has one default export/],
    ["yield 1", /function\*/],
    ["export default () => {  // the name  const a = 1  return a}", /--data-binary @task\.js/],
    ["const a = fetch('data:,1')  const b = 2  return a", /--data-binary @task\.js/],
    ["const x = {  a: 1,  b: 2}return x", /--data-binary @task\.js/],
    ["let total = 0for (const x of [1]) {  total += x}", /--data-binary @task\.js/],
    ["const x = {\n  a: { b: 1,\n  c: 2\n};\nreturn x", /^The \{ in line 1 has no \} before this ;\.$/],
    ["const o = { f() { return 1 }; return o", /^The \{ in line 1 has no \} before this ;\.$/],
    ["import os from 'os';\nconst n: number = 1;\nreturn n", /^A module cannot return: use export default/],
    ["import type { A } from './a.ts';\nconst n: number = 1;\nreturn n", /^A module cannot return: use export default/],
    ["return { a: { x: 1 }; b: 2 }", /by commas/],
    ["const user = { name: 'a', age: 3 ;\nreturn user", /^The \{ in line 1 has no \} before this ;\.$/],
    ["const s = `a ${1 + 2;\nreturn s", /^The \$\{ in line 1 has no \}\.$/],
    ["f(1, {\n  b: JSON.stringify({ a: 1 },\n});", /^The \( in line 2 has no \) before this \}\.$/],
    ["export default () => { return 1 }}", /^Nothing opens the \} in line 1\.$/],
    ["const x = { a: 1 b: 2 }; return x", /^A comma is missing before b\.$/],
    ["return [1 2]", /^A comma is missing before 2\.$/],
    ["return f(1 2)", /^A comma is missing before 2\.$/],
    ["const x = 5 y = 6; return x", /^A semicolon or a line break is missing before y\.$/],
    ["let 1x = 5", /^A name cannot begin with a digit\.$/],
    [
      "const a = 1;\\nreturn a",
      /^The text contains the two characters \\n instead of line breaks\. In JSON, write \\n and not \\\\n; in a shell, use real line breaks, \$'\.\.\.', or --data-binary @task\.js\.$/,
    ],
    ["import fs from 'fs';\\nexport default 1", /^The text contains the two characters \\n instead of line breaks/],
    ["const a: number = 1;\\nreturn a", /^The text contains the two characters \\n instead of line breaks/],
    ["return 'a\\nb' 1", /^(?!The text contains)/],
    ["const class = 1", /^class is a word of the language/],
    ["if (1) { else { return 2 }", /^The block before this else has no \}\.$/],
    ["else { return 2 }", /^This else has no if/],
    ["const x == 5", /^Write = instead of ==/],
    ["const x; return x", /with let\.$/],
    ["break", /^break is valid only in a loop/],
    ["import fs from fs", /^Write the name of the module in quotes: import fs from "fs"\.$/],
    ["import { fs } from 'fs'; export default 1", /^Import the module without braces: import fs from "fs"\.$/],
    ["import { sha256 } from 'crypto'; export default 1", /^Import createHash: createHash\("sha256"\)\.update\(text\)/],
    [
      "import { uuid } from 'node:crypto'; export default 1",
      /^The module exports (?=[^:]*\brandomUUID\b)[\w, ]+ and \d+ more: import one of its names\.$/,
    ],
    ["import { readFileSync } from 'fs/promises'; export default 1", /^Did you mean readFile\?$/],
    ["export default fetch(request) { return new Response('x') }", /^Write export default \{ fetch\(request\)/],
    ["main(request) { return 1 }", /^Write function main\(\.\.\.\) \{ \.\.\. \}\.$/],
    ["const x = (1 + 2; return x", /^The \( in line 1 has no \) before this ;\.$/],
    ["const x: number = (1 + 2; return x", /^The \( in line 1 has no \)/],
    ["const x = [1, 2; return x", /^The \[ in line 1 has no \] before this ;\.$/],
    ["console.log('a'; return 1", /^The \( in line 1 has no \)/],
    ["for (let i = 0; i < 3; i++ { }", /^The \( in line 1 has no \) before this \{\.$/],
    ["if (context.body { return 1 }", /^The \( in line 1 has no \)/],
    ["if true { return 1 }", /^Put what follows if in parentheses: if \(\.\.\.\) \{ \.\.\. \}\.$/],
    ["while context.body { return 1 }", /^Put what follows while in parentheses/],
    ["export default (c) => { a: 1, b: 2 }", /^To return an object from an arrow function, put it in parentheses/],
    ["return [1].map((n): object => { n: n, m: 2 })", /^To return an object from an arrow function/],
    ["try { x() }", /^A try needs catch \(error\) \{ \.\.\. \} or finally/],
    ["switch (1) { case 1 return 2 }", /^A colon is missing after case\.$/],
    ["switch (1) { case 1: return 2; default return 3 }", /^A colon is missing after default\.$/],
    ["for (i = 0, i < 3, i++) {}", /^A for has two semicolons/],
    ["return context.a ?? 2 || 3", /^\?\? cannot stand next to \|\| or &&/],
    ["return context.a || 2 ?? 3", /^\?\? cannot stand next to/],
    ['import p from "./p.json" assert { type: "json" }; export default p', /^Write with instead of assert/],
    ["async main() { return 1 }", /^Write async function main\(\.\.\.\) \{ \.\.\. \}\.$/],
    ["[object Object]", /^The text is an object that was converted to a text: .*JSON\.stringify/],
    ["puts 'hello'", /looks like Ruby/],
    ["<code>1</code>", /markup/],
    ["return+1%2B1", /The text is a form/],
    ["const x = 1 # one\nreturn x", /^A comment of JavaScript begins with \/\/, and not with #\.$/],
    ["const x = 1 #one\nreturn x", /^A comment of JavaScript begins with \/\//],
  ];
  for (const [code, hint] of rows) {
    it(`has a hint: ${code}`, async () => {
      assert.match((await hintOfRun(code)) ?? "(no hint)", hint);
    });
  }
});

it("names three expected tokens at most", async () => {
  for (const [body, detail] of [
    ["const n: = 5", /^Unexpected token `=`\. Expected a type \(line 1/],
    ["let x: string[ = []; return x", /^Unexpected token `=`\. Expected a type \(line 1/],
  ] as const)
    assert.match(((await service.run("hint", body)).json() as { detail: string }).detail, detail);
});

describe("an import that is not valid", () => {
  const rows: readonly [code: string, line: number, hint: RegExp][] = [
    ['import * from "node:os";\nexport default 1', 1, /^Name what \* stands for: import \* as name from "module"\.$/],
    ['import a from "node:os";\nimport { b c } from "node:fs";\nexport default 1', 2, /^\(no hint\)$/],
  ];
  for (const [code, line, hint] of rows) {
    it(`has its line: ${code}`, async () => {
      const { error } = (await service.request("POST", "/api/runs/hint", { body: code })).json() as {
        error: { hint: string | null; at: { line: number } | null };
      };
      assert.equal(error.at?.line, line);
      assert.match(error.hint ?? "(no hint)", hint);
    });
  }
});

it("a module that returns is refused before anything of it runs", async () => {
  const body = 'import os from "node:os";\nconsole.log("ran", os.EOL);\nreturn 1';
  const answer = await service.request("POST", "/api/runs/hint", { body });
  const { console: lines, error } = answer.json() as {
    console: readonly unknown[];
    error: { message: string; hint: string; at: { line: number } };
  };
  assert.match(error.message, /^Illegal return statement/);
  assert.match(error.hint, /^A module cannot return: use export default/);
  assert.deepEqual([lines, error.at.line], [[], 3]);
  const inFunctions = 'import os from "node:os";\nexport default () => { if (os.EOL) { return "}" } return 2 }';
  assert.equal(
    ((await service.request("POST", "/api/runs/hint", { body: inFunctions })).json() as { result: unknown }).result,
    "}",
  );
});

it("a run whose waitUntil work does not end in time has a hint in its record", async () => {
  const body =
    "export default (context) => { context.waitUntil(new Promise((done) => setTimeout(done, 60_000))); return 1 }";
  // A slow machine may need more than the first of them for the answer itself.
  let run = "";
  for (const timeout of ["100ms", "2s", "15s"]) {
    const answer = await service.request("POST", `/api/runs/late?timeout=${timeout}`, { body });
    const record = answer.json() as { run: string; status: string };
    ({ run } = record);
    if (record.status === "ok") break;
  }
  await service.logLine((line) => line.includes(run) && line.includes("waitUntil"));
  const record = (await service.request("GET", `/api/runs/late/${run}`)).json() as { status: string; hint: string };
  assert.equal(record.status, "ok");
  assert.match(record.hint, /Pass less work to waitUntil/);
});
