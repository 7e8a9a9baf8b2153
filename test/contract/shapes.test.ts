import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { assertProblem } from "./problem.ts";
import { type Service, shareService } from "./service.ts";

let service: Service;

before(async () => {
  service = await shareService();
});
after(() => service.stop());

/** Tests that each code answers 200 with this JSON. */
function testResults(result: unknown, codes: readonly string[], type?: string): void {
  for (const code of codes) {
    it(code, async () => {
      const answer = await service.run("shapes", code, type ? { headers: { "content-type": type } } : {});
      assert.equal(answer.status, 200, answer.text);
      assert.match(answer.headers["content-type"]!, /^application\/json/);
      assert.deepEqual(answer.json(), result);
    });
  }
}

describe("an expression returns its value", () => {
  testResults(42, [
    "6 * 7",
    "6 * 7;",
    " 6 * 7 ; \n",
    "await Promise.resolve(42)",
    "() => 42",
    "async () => 42;",
    "(() => 42)()",
  ]);
  testResults(42, [
    "function () { return 42 }",
    "function named() { return 42 }",
    "async function () { return 42 }",
    "6 * 7 // end",
  ]);
  testResults({ a: 1 }, ["({ a: 1 })", "{ a: 1 }", "{ a: 1 };", "() => ({ a: 1 })", "new (class { a = 1 })()"]);
  testResults([1, 2], ["[1, 2]", "[1].concat(2)", "await Promise.all([1, Promise.resolve(2)])"]);
});

describe("a function body returns what it returns explicitly", () => {
  testResults(42, [
    "const x = 6; return x * 7",
    "return 42",
    "await null; return 42",
    "if (true) { return 42 }",
    "return () => 42",
  ]);
  testResults(42, [
    "let n = 0; for await (const m of [40, 2]) n += m; return n",
    "return async () => 42",
    "return function (cb) { cb(null, 42) }",
  ]);
  testResults(null, ["const x = 6", "return", ";", "return undefined", "void 0"]);
  testResults(42, ["const { createHash } = require('node:crypto'); return createHash('sha256') ? 42 : 0"]);
});

describe("CommonJS", () => {
  testResults(42, [
    "module.exports = () => 42",
    "module.exports = async (context) => 42",
    "exports.default = () => 42",
    "module.exports = 42",
  ]);
  testResults(42, [
    "module.exports = (cb) => cb(null, 42); return 7",
    "exports.__esModule = true; exports.default = () => 42; exports.other = 1",
  ]);
  testResults("text", ["module.exports = 'text'", "module.exports = Promise.resolve('text')"]);
});

describe("an ES module", () => {
  testResults(42, [
    "export default () => 42",
    "export default async (context) => 42",
    "export default function () { return 42 }",
    "export default 42",
  ]);
  testResults(42, [
    "const n = await Promise.resolve(42); export default n",
    "export const other = 1; export default () => 42",
  ]);
  testResults(64, [
    "import { createHash } from 'node:crypto'; export default () => createHash('sha256').update('').digest('hex').length",
  ]);
  testResults(64, [
    "import * as crypto from 'crypto'\nexport default () => crypto.createHash('sha256').digest('hex').length",
  ]);
});

describe("a function is called by its parameters", () => {
  testResults("POST", [
    "(context) => context.method",
    "(c) => c.method",
    "({ method }) => method",
    "async (cb) => cb.method",
  ]);
  testResults(42, [
    "(cb) => cb(null, 42)",
    "(callback) => callback(null, 42)",
    "(done) => setTimeout(done, 1, null, 42)",
    "next => next(null, 42)",
  ]);
  testResults("POST", [
    "(context, cb) => cb(null, context.method)",
    "module.exports = function (context, cb) { cb(null, context.method) }",
  ]);
  testResults(42, [
    "(context, cb) => Promise.resolve(42)",
    "(context, cb) => { cb(null, 42); cb(null, 43) }",
    "(cb) => { cb(null, 42); throw new Error() }",
  ]);
  testResults(null, ["(cb) => cb()", "(cb) => cb(null)", "(cb) => cb(undefined, undefined)"]);
});

describe("a Node handler answers with res", () => {
  it("with its status, headers and body", async () => {
    const code = `function (context, req, res) {
      res.statusCode = 201;
      res.setHeader("X-Made", req.method);
      res.setHeader("Content-Type", "text/plain");
      res.write("a");
      res.end("b");
    }`;
    const answer = await service.run("shapes", code);
    assert.equal(
      `${answer.status} ${answer.headers["x-made"]} ${answer.headers["content-type"]}`,
      "201 POST text/plain",
    );
    assert.equal(answer.text, "ab");
  });

  it("with writeHead, later, from module.exports", async () => {
    const code =
      "module.exports = (context, req, res) => setTimeout(() => res.writeHead(202, { 'x-a': '1' }).end(req.url), 5)";
    const answer = await service.request("POST", "/api/run/shapes?q=1", { body: code });
    assert.equal(`${answer.status} ${answer.headers["x-a"]}`, "202 1");
    assert.match(answer.text, /\?q=1$/);
  });

  it("without a body", async () => {
    const answer = await service.run("shapes", "(context, req, res) => { res.statusCode = 204; res.end() }");
    assert.equal(`${answer.status} ${answer.text}`, "204 ");
  });
});

describe("a fetch handler answers with a Response", () => {
  const bodies = [
    "export default { fetch(request, env, ctx) { return new Response(request.method + JSON.stringify(env)) } }",
    "export default { async fetch(request, env) { return new Response(`${request.method}${JSON.stringify(env)}`) } }",
    "module.exports = { fetch: (request) => new Response(request.method + '{}') }",
    "exports.fetch = (request) => new Response(request.method + '{}')",
    "class App { fetch(request) { return new Response(request.method + '{}') } }\nexport default new App()",
    "({ fetch(request) { return new Response(request.method + '{}') } })",
    "return { fetch: async (request, env, ctx) => { ctx.waitUntil(Promise.resolve()); return new Response(request.method + '{}') } }",
  ];
  for (const code of bodies) {
    it(code, async () => {
      const answer = await service.run("shapes", code);
      assert.equal(answer.text, "POST{}");
      assert.equal(answer.status, 200);
      assert.match(answer.headers["content-type"]!, /^text\/plain/);
    });
  }

  it("with the URL and the headers of the request", async () => {
    const code =
      "export default { fetch: (r) => Response.json([new URL(r.url).pathname, r.headers.get('x-mine'), r.headers.get('authorization')]) }";
    const answer = await service.run("shapes", code, { headers: { "x-mine": "yes" } });
    assert.deepEqual(answer.json(), ["/api/run/shapes", "yes", null]);
  });
});

describe("TypeScript whose types can be erased", () => {
  testResults(42, [
    "const x: number = 42; return x",
    "(): number => 42",
    "export default (context: unknown): number => 42",
    "42 as number",
  ]);
  testResults(42, [
    "interface A { a: number }\nconst a: A = { a: 42 }; return a.a",
    "type N = number; export default async (): Promise<N> => 42",
  ]);
  testResults(42, [
    "const id = <T,>(x: T): T => x; return id<number>(42)",
    "import type { A } from './a.ts'; export default () => 42",
  ]);
  testResults(42, [
    "return (function <T>(x: T) { return x })<number>(42)",
    "42 satisfies number",
    "export const a: string = ''; export default 42 as const",
  ]);
  testResults(
    [false, true],
    ["const f = 1, a = 2, b = 3; return [f < a, b > (4 - 2)].map((x) => !x).map((x, i) => i === 1)"],
  );
  testResults(7, ["const f = (x) => x; const number = 1; return f<number>(7)"], "application/typescript");
  testResults(42, ["const x: number = 42; return x", "6 * 7"], "application/typescript; charset=utf-8");

  testResults(0, ["enum A { B }\nreturn A.B"], "application/typescript");
  testResults(1, ["namespace N { export const a = 1 }\nreturn N.a"], "application/typescript");
});

describe("code that cannot run", () => {
  const shapeless = [
    "class A {}",
    "return class {}",
    "export default class {}",
    "module.exports = class A {}",
    "(a, b, c, d) => 1",
  ];
  const objects = ["module.exports = { a: 1 }", "export default { a: 1 }", "exports.a = 1", "export default {}"];
  for (const code of [...shapeless, "function (a, b, c, d) {}", ...objects, "module.exports = { fetch: 1 }"]) {
    it(`is code_shape: ${code}`, async () => {
      assertProblem(await service.run("shapes", code), 400, "code_shape");
    });
  }

  for (const code of [
    "const = 1",
    "6 *",
    "return (",
    "}",
    "function {",
    "export default",
    "let a; let a;",
    "é ü",
    "<b>text</b>",
  ]) {
    it(`is code_syntax: ${code}`, async () => {
      assert.match(assertProblem(await service.run("shapes", code), 400, "code_syntax").detail, /\n.*\^/);
    });
  }

  for (const code of [
    "```js\n6 * 7\n```",
    "<!doctype html><p>",
    "<!DOCTYPE html>",
    "<html><body>",
    "\n  ```\n1\n```",
  ]) {
    it(`is not code, and the answer names what it is: ${code}`, async () => {
      const problem = assertProblem(await service.run("shapes", code), 400, "code_syntax");
      assert.match(`${problem.detail} ${problem.hint}`, /fence|markdown|html/i);
    });
  }

  it("is reported with the error of the module if the body fails only because of import and export", async () => {
    const problem = assertProblem(
      await service.run("shapes", "import a from 'node:fs';\nconst = 1"),
      400,
      "code_syntax",
    );
    assert.match(problem.detail, /const = 1/);
  });

  it("is reported with the name of a module that does not exist", async () => {
    const answer = await service.run("shapes", "import x from 'left-pad'; export default x");
    assert.ok(answer.status === 400 || answer.status === 500);
    assert.match(assertProblem(answer, answer.status, (answer.json() as { code: string }).code).detail, /left-pad/);
  });
});
