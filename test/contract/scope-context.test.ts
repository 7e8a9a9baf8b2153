import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import type { RequestOptions } from "./http.ts";
import { assertProblem } from "./problem.ts";
import { type Service, shareService } from "./service.ts";

let service: Service;
before(async () => {
  service = await shareService();
});
after(() => service.stop());

async function value(code: string, options: RequestOptions = {}): Promise<unknown> {
  const answer = await service.run("scope", code, { query: { n: "7" }, ...options });
  assert.equal(answer.status, 200, answer.text);
  return answer.json();
}

/** Runs a named task with this code. */
async function ofTask(code: string, options: RequestOptions = {}, name = "task"): Promise<unknown> {
  const put = await service.request("PUT", `/api/tasks/scope/${name}`, { json: { code } });
  assert.ok(put.status < 300, put.text);
  const answer = await service.request("POST", `/api/run/scope/${name}`, options);
  assert.equal(answer.status, 200, answer.text);
  return answer.json();
}

describe("context in the scope of a text", () => {
  const forms = [
    "context.query.n",
    "return context.query.n",
    "const { query } = context;\nreturn query.n",
    "return await Promise.resolve(context.query.n)",
    "await Promise.resolve(context.query.n)",
    "const n: string = context.query.n as string;\nreturn n",
    "(context.query.n as string)",
    "const handler = (context) => context.query.n; return handler(context)",
    "module.exports = context.query.n",
    "return { ...context }.query.n",
    "return JSON.parse(JSON.stringify(context)).query.n",
    "setTimeout(() => {}, 1); return new Promise((done) => setImmediate(() => done(context.query.n)))",
  ];
  for (const code of forms) {
    it(`is the context of the run: ${code}`, async () => {
      assert.equal(await value(code), "7");
      assert.equal(await value(code, { query: { n: "8" } }), "8", "also when the code is known");
    });
  }

  it("belongs to the run that executes, also in a function that is kept", async () => {
    const code = "let calls = 0; module.exports = () => [context.query.n, (calls += 1)]";
    assert.deepEqual(
      [await value(code), await value(code, { query: { n: "8" } })],
      [
        ["7", 1],
        ["8", 2],
      ],
    );
  });

  it("has every member, and the data of the envelope", async () => {
    const code = `return [context.container, context.method, context.url.endsWith("?n=7"), context.body, context.data,
      context.params, context.secrets, typeof context.headers.host, context.signal.aborted, typeof context.waitUntil,
      context.runId.length > 12]`;
    assert.deepEqual(await value("", { json: { code, data: { a: 1 } } }), [
      ...["scope", "POST", true, { a: 1 }, { n: "7", a: 1 }, {}, {}, "string", false, "function", true],
    ]);
  });

  it("has the whole body of the request of a named task", async () => {
    const json = { json: { a: 1 } };
    assert.deepEqual(await ofTask("return context.body", json), { a: 1 });
    assert.deepEqual(await ofTask("context.data.a", json), 1);
    assert.equal(await ofTask("return context.body.length", { body: "x".repeat(200_000) }), 200_000);
    const kept = "module.exports = () => context.body";
    assert.equal(await ofTask(kept, { body: "one" }), "one");
    assert.equal(await ofTask(kept, { body: "two" }), "two");
    const handler =
      "module.exports = { async fetch(request) { return Response.json([context.method, await request.text()]) } }";
    assert.deepEqual(await ofTask(handler, { body: "one" }), ["POST", "one"]);
  });

  it("leaves the body to a handler that has context as a parameter, and reports that", async () => {
    const streams =
      "module.exports = { async fetch(request, env, context) { return new Response(await request.text()) } }";
    assert.equal(await ofTask(streams, { body: "1" }), 1);
    const late =
      "module.exports = { async fetch(request) { return Response.json(((context) => context)(context).body) } }";
    await service.request("PUT", "/api/tasks/scope/late", { json: { code: late } });
    const problem = assertProblem(
      await service.request("POST", "/api/run/scope/late", { body: "1" }),
      500,
      "task_threw",
    );
    assert.match(problem.detail, /take context as a parameter/);
  });
});

describe("a text that declares context itself", () => {
  const own = [
    "const context = { query: { n: 'own' } }; return context.query.n",
    "let context = 'own'; return context",
    "var context; context ??= 'own'; return context",
    "class context { static n = 'own' } return context.n",
    "return context(); function context() { return 'own' }",
    "const context = await 'own'; return context",
    "const context: string = 'own'; return context",
    "import os from 'node:os'; const context = 'own'; export default () => context",
    "const { context } = { context: 'own' }; return context",
    "(function (context) { return context })('own')",
    "((context) => context)('own')",
  ];
  for (const code of own) {
    it(`has its own: ${code}`, async () => {
      assert.equal(await value(code), "own");
    });
  }

  it("is still a function of (context) as before", async () => {
    for (const code of [
      "(context) => context.query.n",
      "module.exports = function (context, cb) { cb(null, context.query.n) }",
    ]) {
      assert.equal(await value(code), "7");
    }
  });
});

describe("a text without the word", () => {
  it("has no context in its scope", async () => {
    assert.equal(await value('typeof globalThis["con" + "text"]'), "undefined");
    assert.equal(await value('eval("typeof con" + "text")'), "undefined");
  });

  it("that is an ES module receives it as a parameter, and the error states that", async () => {
    const problem = assertProblem(await service.run("scope", "export default context.query.n"), 500, "task_threw");
    assert.match(problem.hint!, /export default \(context\) =>/);
  });
});
