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
  assert.equal((await guest.run(advised)).fault, undefined);
}

function haveNone(codes: readonly string[]): void {
  for (const code of codes) it(`has no hint: ${code}`, async () => assert.equal(await guest.hint(code), undefined));
}

function ofPackage(name: string): string {
  return `Add "packages": {"${name}":"*"} to the request, or import "npm:${name}". If the package is not permitted here, bundle the code: \`caisson run --bundle task.ts\`.`;
}

function ofArrow(name: string): string {
  return `An arrow function has no this: write ${name}(...) { ... } instead of ${name}: (...) => ...`;
}

describe("an expression in a text in quotes", () => {
  const NAME = "Only a text between backticks reads ${name}: write backticks instead of the quotes around the text.";
  haveHints(
    () => guest,
    [
      ['const name = "Ann"; return "Hello ${name}"', NAME],
      ['const name = "Ann"; return { a: "<p>Hello ${name}</p>\\n" }', NAME],
      ["const name = 'Ann'; return '<h1>Say \"hi\" to ${name}</h1>'", NAME],
      ['const f = (a: number, name: string) => "Hello ${name}"; return f(1, "b")', NAME],
      ['const name = "Ann"; throw new Error("no user ${name}")', NAME],
      [
        'export default { fetch() { const user = { name: "a" }; return new Response("Hello ${user.name}") } }',
        NAME.replace("name", "user.name"),
      ],
      ['const base = "https://a"; return fetch("${base}/users")', NAME.replace("name", "base")],
    ],
    mustWork,
  );
  haveNone([
    'return "Hello ${name}"',
    "const name = 'Ann'; return `Hello ${name}`",
    'const name = "Ann"; return "Hello \\${name}".length > 1 ? "Hello ${name}" : ""',
    'return { name: "Ann", text: "Hello ${name}" }',
    'const text = "Hello ${name}"; const name = "Ann"; return { text, done: text.replace("${name}", name) }',
    'const name = "Ann"; console.log("Hello ${name}"); return ["$", "{name", "}"].join("")',
    'const HOME = "/a"; return "echo ${HOME:-b}"',
  ]);
});

describe("an assignment to a const", () => {
  const LET = "Declare the variable with let instead of const.";
  const EITHER = "To compare m, write ===. To give it a value, declare it with let instead of const.";
  haveHints(
    () => guest,
    [
      [
        'const role = "user"; if (role = "admin") return "secret"',
        "= gives a value to role: to compare, write ===.",
        'const role = "user"; if (role === "admin") return "secret"',
      ],
      ['const m: string = "1"; while ((m = "2")) return m as string', "= gives a value to m: to compare, write ===."],
      ["const m = 1; if (m = Math.max(1, 2)) return 1", EITHER],
      ["const m = 1; return m = 2", EITHER],
      ['const m = 1; return ["a"].filter((x) => m = "a")', EITHER],
      ["const m = 1; m = 2; return m", LET],
      ["const m = 1; if (true) { m = 2 } return m", LET],
      ["const m = 1; if ([1].some(() => { m = 2; return true })) return m", LET],
      ["for (const i = 0; i < 3; i++) {}", LET],
    ],
    mustWork,
  );
});

describe("the name of a member with a dash", () => {
  haveHints(
    () => guest,
    [
      [
        "return context.headers.user-agent",
        'The - subtracts: write context.headers["user-agent"].',
        'return context.headers["user-agent"]',
      ],
      ["return context.headers.x-request-id", 'The - subtracts: write context.headers["x-request-id"].'],
      ["export default ({ headers }) => headers.content-type", 'The - subtracts: write headers["content-type"].'],
      ['const o = { "my-key": 5 }; return o.my-key', 'The - subtracts: write o["my-key"].'],
      [
        "export default { fetch(request) { return new Response(request.headers.content-type) } }",
        'The - subtracts: write request.headers.get("content-type") for the header.',
      ],
      [
        "const order = { total: 5 }; return order.total-discount",
        "Nothing declares discount: declare it with const or let, import it, or correct the name.",
      ],
      [
        "const headers = { size: 5 }; return headers.size - shift",
        "Nothing declares shift: declare it with const or let, import it, or correct the name.",
      ],
    ],
    mustWork,
  );
});

describe("a variable that holds a whole module of Node", () => {
  haveHints(
    () => guest,
    [
      [
        'import readFile from "fs"; export default () => readFile("a")',
        'readFile holds the whole module node:fs, which is no function: write import { readFile } from "node:fs".',
      ],
      [
        'const createHash = require("crypto"); return createHash("sha256").update("a").digest("hex")',
        'createHash holds the whole module node:crypto, which is no function: write const { createHash } = require("node:crypto").',
        'const { createHash } = require("node:crypto"); return createHash("sha256").update("a").digest("hex")',
      ],
      [
        'import Worker from "worker_threads"; export default () => new Worker("a")',
        'Worker holds the whole module node:worker_threads, which is no function: write import { Worker } from "node:worker_threads".',
      ],
      [
        'import * as q from "querystring"; export default () => q("a")',
        "q holds the whole module node:querystring, which is no function: call one of its functions, as in q.unescapeBuffer(...).",
      ],
      [
        'const join = require("path"); { const join = 5; return join() }',
        "Only a function can be called, and join is none: leave () out, or check the line that declares join.",
      ],
    ],
    mustWork,
  );
});

describe("an import of a module that is not there", () => {
  haveHints(
    () => guest,
    [
      [
        'import { APIGatewayProxyEvent } from "aws-lambda";\nexport default (e: APIGatewayProxyEvent) => 1',
        'APIGatewayProxyEvent is used only as a type: write import type { APIGatewayProxyEvent } from "aws-lambda", which needs no module.',
        'import type { APIGatewayProxyEvent } from "aws-lambda";\nexport default (e: APIGatewayProxyEvent) => 1',
      ],
      ['import { Type } from "some-pkg";\nexport default () => new Type()', ofPackage("some-pkg")],
      ['import { Type, value } from "some-pkg";\nexport default (a: Type) => value', ofPackage("some-pkg")],
      [
        'import { NextResponse } from "next/server";\nexport default { fetch: () => NextResponse.json({}) }',
        "A task is no part of an application of Next.js. Response and Request are there without an import: write Response.json(value) instead of NextResponse.json(value).",
        "export default { fetch: () => Response.json({}) }",
      ],
      [
        'import { env } from "cloudflare:workers";\nexport default () => env',
        "The code runs in Node, which has no module of Cloudflare, and a bundler has none either. A fetch handler has the params and the secrets as env: fetch(request, env, ctx). A task has no other bindings.",
      ],
    ],
    mustWork,
  );
});

describe("this in a function that has none", () => {
  const METHOD =
    "The method get was called without its object, so it has no this: call it as object.get(...), and hand it on as (...args) => object.get(...args).";
  haveHints(
    () => guest,
    [
      [
        'export default { greet(x) { return x }, fetch: (req) => new Response(this.greet("x")) }',
        ofArrow("fetch"),
        'export default { greet(x) { return x }, fetch(req) { return new Response(this.greet("x")) } }',
      ],
      [
        "export default { greet: 1, fetch: async (req: Request): Promise<Response> => {\n  if (req) { return this.greet.x; }\n} }",
        ofArrow("fetch"),
      ],
      ["const o = { n: { a: 1 }, get: () => this.n.a }; return o.get()", ofArrow("get")],
      ["const o = { f() {}, get: x => this.f() }; return o.get()", ofArrow("get")],
      ["class A { n = { a: 1 }; get() { return this.n.a } }\nconst { get } = new A();\nreturn get()", METHOD],
      [
        "class A { get() { return this.n.a } }\nreturn new A().get()",
        "this.n is undefined here: test it first, or write this.n?.a.",
      ],
      [
        "class A { o = { f: () => this.n.a } }\nreturn new A().o.f()",
        "this.n is undefined here: test it first, or write this.n?.a.",
      ],
      [
        "function F() { this.o = { f: () => this.n.a } }\nreturn new F().o.f()",
        "this.n is undefined here: test it first, or write this.n?.a.",
      ],
    ],
    mustWork,
  );
});

describe("the event of a WebSocket that cannot connect", () => {
  it("is named, and the hint has the way to its reason", async () => {
    const fault = await guest.fault(
      'const ws = new WebSocket("ws://127.0.0.1:1"); await new Promise((res, rej) => { ws.onopen = res; ws.onerror = rej })',
    );
    assert.equal(fault.detail, "the task threw ErrorEvent: an event of the type error without a message");
    assert.equal(
      fault.hint,
      "A WebSocket that cannot connect names no reason. A fetch of the same host names it: await fetch(url), with https:// instead of wss://, or http:// instead of ws://.",
    );
  });

  it("is not what other code without a message throws", async () => {
    assert.equal((await guest.fault('throw { message: "" }')).detail, "the task threw Error: ");
  });
});
