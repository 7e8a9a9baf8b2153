import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { FROM_GUEST } from "../../src/wire/messages.ts";
import { GuestProcess } from "./guest-process.ts";

describe("the shapes of code", () => {
  let guest: GuestProcess;
  before(async () => {
    guest = await GuestProcess.start();
  });
  after(() => guest.close());

  const VALUES: [title: string, text: string, value: unknown][] = [
    ["an async function answers by its value, for any parameters", "async (cb, more) => typeof cb", "object"],
    ["a single parameter is the context", "(ctx) => ctx.container", "demo"],
    ["a single parameter called cb is a callback", "(cb) => { cb(null, 42) }", 42],
    ["a single parameter called done is a callback", "function (done) { setImmediate(done, null, 42) }", 42],
    ["a single parameter called next, without brackets, is a callback", "next => { next(null, 42) }", 42],
    ["the name of a callback is found behind a comment", "function (/* first */ callback) { callback(null, 42) }", 42],
    ["a method may answer by its callback", "({ run(cb) { cb(null, 42) } }).run", 42],
    ["two parameters are context and callback", "(context, cb) => cb(null, context.container)", "demo"],
    [
      "only the first call of a callback counts",
      "(context, cb) => { cb(null, 1); cb(new Error('late')); cb(null, 2) }",
      1,
    ],
    ["a promise that a function with a callback returns is the answer", "(context, cb) => Promise.resolve(42)", 42],
    [
      "a promise of undefined leaves the answer to the callback",
      "(context, cb) => Promise.resolve().then(() => { setImmediate(cb, null, 42) })",
      42,
    ],
    ["a callback may receive a promise", "(cb) => { cb(null, Promise.resolve(42)) }", 42],
    [
      "a single parameter with a default receives the context",
      "(context = { container: 'own' }) => context.container",
      "demo",
    ],
    ["a thenable is awaited", "() => ({ then(resolve) { resolve(42) } })", 42],
    [
      "an instance of a class may be a fetch handler",
      "class A { fetch() { return new Response('x') } }; return typeof new A().fetch",
      "function",
    ],
  ];
  for (const [title, text, value] of VALUES) {
    it(title, async () => {
      assert.deepEqual(await guest.value(text), value);
    });
  }

  it("a built-in function of two parameters that is the result is not called with a callback", async () => {
    const fault = await guest.fault("return Math.max");
    assert.equal(fault.code, "code_shape");
    assert.match(fault.detail, /built-in function max/);
    assert.match(fault.hint!, /^Call it with its arguments/);
    assert.equal(await guest.value("((context, cb) => cb(null, 1)).bind(null)"), 1);
    assert.equal(typeof (await guest.value("return Math.random")), "number");
  });

  it("a class, too many parameters and an object without fetch are code_shape", async () => {
    for (const text of [
      "class X {}",
      "export default class {}",
      "(a, b, c, d) => 1",
      "async (a, b, c, d) => 1",
      "module.exports = { a: 1 }",
      "exports.a = 1",
      "export default { a: 1 }",
      "export const a = 1",
    ]) {
      assert.equal((await guest.fault(text)).code, "code_shape", text);
    }
  });

  it("an error passed to the callback is task_error, with the status of the error if it has one", async () => {
    const fault = await guest.fault("(cb) => cb(new TypeError('bad'))");
    assert.equal(fault.code, "task_error");
    assert.equal(fault.error?.name, "TypeError");
    assert.equal(fault.error?.message, "bad");
    assert.equal(fault.status, undefined);
    assert.equal((await guest.fault("(cb) => cb('plain')")).error?.message, "plain");
    assert.equal((await guest.fault("(cb) => cb(Object.assign(new Error('x'), { status: 404 }))")).status, 404);
  });

  it("a function with a callback that throws or rejects is task_threw", async () => {
    assert.equal((await guest.fault("(cb) => { throw new Error('x') }")).code, "task_threw");
    assert.equal((await guest.fault("(context, cb) => Promise.reject(new Error('x'))")).code, "task_threw");
  });

  it("a Node handler answers with the head and the bytes that it writes", async () => {
    const text = `(context, req, res) => {
      res.setHeader("X-One", "1");
      res.setHeader("x-gone", "1");
      res.removeHeader("X-Gone");
      res.writeHead(201, { "content-type": "text/plain", "transfer-encoding": "chunked" });
      res.write("a");
      res.end("b");
    }`;
    const { head, body, ended } = await guest.run(text);
    assert.deepEqual(head, { status: 201, headers: ["X-One", "1", "content-type", "text/plain"] });
    assert.equal(body, "ab");
    assert.ok(ended);
  });

  it("a Node handler reads its request as a stream", async () => {
    const text = `(context, req, res) => {
      let body = "";
      req.on("data", (chunk) => { body += chunk });
      req.on("end", () => res.end(req.method + " " + req.url + " " + req.headers["x-a"] + " " + body));
    }`;
    const { body } = await guest.run(text, {
      method: "PUT",
      url: "http://h/p?q=1",
      headers: { "x-a": "b" },
      body: { n: 1 },
    });
    assert.equal(body, 'PUT /p?q=1 b {"n":1}');
  });

  it("a Node handler that throws before its head is task_threw", async () => {
    const { fault, head } = await guest.run("(context, req, res) => { throw new Error('x') }");
    assert.equal(fault?.code, "task_threw");
    assert.equal(head, undefined);
  });

  it("a fetch handler receives request, env and ctx", async () => {
    const text = `export default {
      greeting: "hi",
      async fetch(request, env, ctx) {
        ctx.waitUntil(Promise.resolve());
        const json = await request.json();
        return new Response([this.greeting, request.method, request.url, request.headers.get("x-a"), json.n, env.p].join(" "), {
          status: 202, headers: { "x-b": "c" },
        });
      },
    }`;
    const context = { url: "http://h/p?q=1", headers: { "x-a": "b" }, body: { n: 1 }, params: { p: "param" } };
    const { head, body, ended } = await guest.run(text, context);
    assert.equal(body, "hi POST http://h/p?q=1 b 1 param");
    assert.equal(head?.status, 202);
    assert.deepEqual(head?.headers, ["content-type", "text/plain;charset=UTF-8", "x-b", "c"]);
    assert.ok(ended);
  });

  it("a fetch handler reads a form with formData", async () => {
    const text = "export default { async fetch(r) { return new Response((await r.formData()).getAll('a').join()) } }";
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    assert.equal((await guest.run(text, { headers, body: { a: ["1", "2"] } })).body, "1,2");
  });

  it("a fetch handler may be a named export, a value or module.exports", async () => {
    for (const text of [
      "export const fetch = () => new Response('x')",
      "({ fetch: () => new Response('x') })",
      "module.exports = { fetch: () => new Response('x') }",
      "exports.fetch = async () => new Response('x')",
    ]) {
      assert.equal((await guest.run(text)).body, "x", text);
    }
  });

  it("a fetch handler that does not return a Response is task_threw", async () => {
    const fault = await guest.fault("export default { fetch: () => 5 }");
    assert.equal(fault.code, "task_threw");
    assert.match(fault.detail, /not a Response/);
  });

  it("a rejection of waitUntil work is reported as a late error, and the run succeeds", async () => {
    const run = guest.start(
      guest.code(
        "export default { fetch(r, e, ctx) { ctx.waitUntil(Promise.reject(new Error('later'))); return new Response('') } }",
      ),
    );
    assert.ok((await run.outcome).ended);
    const { fault } = guest.lateErrors.find((each) => each.run === run.id)!;
    assert.equal(fault.detail, "waitUntil: the task threw Error: later");
  });

  const WAITING = {
    "a fetch handler":
      "export default { fetch(r, e, ctx) { ctx.waitUntil(globalThis.work.promise); return new Response('') } }",
    "a value": "(context) => { context.waitUntil(globalThis.work.promise); return 1 }",
    "a callback": "(context, cb) => { context.waitUntil(globalThis.work.promise); cb(null, 1) }",
    "a Node handler": "(context, req, res) => { context.waitUntil(globalThis.work.promise); res.end() }",
    "a run that fails": "(context) => { context.waitUntil(globalThis.work.promise); throw new Error('x') }",
  };
  for (const [what, code] of Object.entries(WAITING)) {
    it(`waitUntil keeps ${what} after its answer until the work has settled`, async () => {
      await guest.value("globalThis.work = Promise.withResolvers(), 1");
      const waits = guest.frame(FROM_GUEST.waits);
      const done = guest.frame(FROM_GUEST.done);
      const run = guest.start(guest.code(code));
      assert.equal((await waits).id, run.id);
      await run.outcome;
      let over = false;
      void done.then(() => (over = true));
      await guest.ping();
      assert.equal(over, false);
      await guest.value("work.resolve(), 1");
      assert.equal((await done).id, run.id);
    });
  }

  it("waitUntil work and its signal end at the deadline, and the work continues if the caller disconnects", async () => {
    await guest.value("globalThis.work = Promise.withResolvers(), 1");
    const code = guest.code(`(context) => {
      context.signal.onabort = () => console.log("aborted " + context.signal.reason.name);
      context.waitUntil(work.promise);
      return 1;
    }`);
    const linesOf = (run: number): string[] => guest.logs.filter((line) => line.run === run).map(({ text }) => text);
    const [late, abandoned] = [guest.start(code), guest.start(code)];
    await Promise.all([late.outcome, abandoned.outcome]);
    guest.abort(late.id, "deadline");
    guest.abort(abandoned.id, "gone");
    const done = guest.frame(FROM_GUEST.done);
    await guest.value("work.resolve(), 1");
    assert.equal((await done).id, abandoned.id, "only the abandoned run sends a done frame");
    assert.deepEqual([linesOf(late.id), linesOf(abandoned.id)], [["aborted TimeoutError"], ["aborted AbortError"]]);
  });
});
