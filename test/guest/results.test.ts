import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { DATA_FRAME_COST_BYTES, FROM_GUEST, WINDOW_BYTES } from "../../src/wire/messages.ts";
import { GuestProcess } from "./guest-process.ts";

describe("results", () => {
  let guest: GuestProcess;
  before(async () => {
    guest = await GuestProcess.start();
  });
  after(() => guest.close());

  const JSON_RESULTS: [text: string, json: string][] = [
    ["'text'", '"text"'],
    ["0", "0"],
    ["''", '""'],
    ["false", "false"],
    ["null", "null"],
    ["undefined", "null"],
    ["NaN", "null"],
    ["[1, undefined, () => 1]", "[1,null,null]"],
    ["({ a: undefined, b: Symbol() })", "{}"],
    ["new Date(0)", '"1970-01-01T00:00:00.000Z"'],
    ["new Map([[1, 2]])", "{}"],
    ["({ toJSON() { return 'own' } })", '"own"'],
    ["Object.create(null)", "{}"],
    ["'\\u{1f600}é'", '"😀é"'],
    ["'x'.repeat(6291454)", `"${"x".repeat(6_291_454)}"`],
  ];
  for (const [text, json] of JSON_RESULTS) {
    it(`${text} is sent as JSON`, async () => {
      const { result } = await guest.run(text);
      assert.ok(result === json);
    });
  }

  it("a BigInt in the result has a hint with its place, for which no getter is called", async () => {
    for (const [text, place] of [
      ["(c) => 1n", "a BigInt"],
      ["(c) => ({ a: { b: [0, 1n] } })", "result.a.b[1]"],
      ["(c) => ({ get a() { this.read = true; return 1 }, b: 2n })", "result.b"],
      ["(c) => ({ 'not a name': 1n })", "a BigInt"],
    ])
      assert.equal(
        (await guest.fault(text!)).hint,
        `Return String(...) of ${place}, or Number(...) of a small one.`,
        text,
      );
  });

  it("a value without a JSON form is result_unserializable", async () => {
    for (const text of ["10n", "({ a: 10n })", "Symbol()", "() => () => 1", "const a = {}; a.a = a; return a"]) {
      assert.equal((await guest.fault(text)).code, "result_unserializable", text);
    }
  });

  it("an error that toJSON or a Proxy throws is task_threw", async () => {
    assert.equal((await guest.fault("({ toJSON() { throw new TypeError('own') } })")).code, "task_threw");
    assert.equal(
      (await guest.fault("new Proxy({}, { getPrototypeOf() { throw new Error('trap') } })")).code,
      "task_threw",
    );
  });

  it("a result of more than 6 MiB is result_too_large", async () => {
    for (const text of [
      "'x'.repeat(6291455)",
      "'é'.repeat(3145728)",
      "new Uint8Array(6291457)",
      "new Blob([new Uint8Array(6291457)])",
    ]) {
      assert.equal((await guest.fault(text)).code, "result_too_large", text);
    }
  });

  it("a returned Error fails the run as a thrown error does", async () => {
    const fault = await guest.fault("() => Object.assign(new RangeError('returned'), { statusCode: 418 })");
    assert.equal(fault.code, "task_threw");
    assert.equal(fault.error?.name, "RangeError");
    assert.equal(fault.status, 418);
  });

  it("bytes are sent unchanged", async () => {
    for (const text of [
      "Buffer.from('hi')",
      "new Uint8Array([104, 105])",
      "new Uint8Array([104, 105]).buffer",
      "new DataView(new Uint8Array([104, 105]).buffer)",
    ]) {
      const { head, body, ended } = await guest.run(text);
      assert.deepEqual(head, {
        status: 200,
        headers: ["content-type", "application/octet-stream", "content-length", "2"],
      });
      assert.equal(body, "hi");
      assert.ok(ended);
    }
    assert.deepEqual((await guest.run("new Blob(['hi'], { type: 'text/x' })")).head?.headers, [
      "content-type",
      "text/x",
      "content-length",
      "2",
    ]);
  });

  it("streams and generators are sent piece by piece", async () => {
    for (const text of [
      "(function* () { yield 'a'; yield new Uint8Array([98]) })()",
      "(async function* () { yield 'a'; await 1; yield 'b' })()",
      "async function* main() { yield 'a'; yield 'b' }",
      "new ReadableStream({ start(c) { c.enqueue('a'); c.enqueue(new Uint8Array([98])); c.close() } })",
    ]) {
      const { head, body, ended } = await guest.run(text);
      assert.deepEqual(head?.headers, ["content-type", "application/octet-stream"], text);
      assert.equal(body, "ab");
      assert.ok(ended);
    }
  });

  it("a Response that any form of code returns is sent with its status, headers and body", async () => {
    const { head, body } = await guest.run(
      "() => new Response('x', { status: 404, headers: { 'x-a': '1', connection: 'close' } })",
    );
    assert.equal(head?.status, 404);
    assert.deepEqual(head?.headers, ["content-type", "text/plain;charset=UTF-8", "x-a", "1"]);
    assert.equal(body, "x");
    assert.deepEqual(await guest.run("new Response(null, { status: 204 })").then(({ head: empty }) => empty), {
      status: 204,
      headers: [],
    });
    assert.equal((await guest.fault("Response.error()")).code, "task_threw");
    assert.equal((await guest.fault("const r = new Response('x'); await r.text(); return r")).code, "task_threw");
  });

  it("the guest sends no more than the window before the service grants more", async () => {
    let seen = 0;
    // Five frames are started, and the cost of each frame counts too.
    const first = WINDOW_BYTES - 4 * DATA_FRAME_COST_BYTES;
    const full = Promise.withResolvers<void>();
    const code = guest.code("new Response(new Uint8Array(1000000).fill(97))");
    const run = guest.start(
      code,
      {},
      {
        refill: false,
        onData: (bytes) => {
          seen = bytes;
          if (bytes === first) full.resolve();
        },
      },
    );
    await full.promise;
    await guest.ping();
    assert.equal(seen, first);
    guest.window(run.id, DATA_FRAME_COST_BYTES);
    await guest.ping();
    await guest.ping();
    assert.equal(seen, first);
    guest.window(run.id, 1000);
    await guest.ping();
    await guest.ping();
    assert.equal(seen, first + 1000);
    guest.window(run.id, 1_000_000);
    assert.equal((await run.outcome).bodyBytes, 1_000_000);
  });

  it("a write of a Node handler waits for the window", async () => {
    const text = `(context, req, res) => {
      let writes = 0;
      const more = () => { while (writes < 40) { writes += 1; if (!res.write(Buffer.alloc(50000))) return res.once("drain", more) } res.end() };
      more();
    }`;
    assert.equal((await guest.run(text)).bodyBytes, 2_000_000);
  });

  it("a stream that fails after its head ends with a fault", async () => {
    const outcome = await guest.run("(function* () { yield 'a'; throw new Error('broke') })()");
    assert.equal(outcome.head?.status, 200);
    assert.equal(outcome.body, "a");
    assert.equal(outcome.ended, false);
    assert.equal(outcome.fault?.error?.message, "broke");
  });

  it("a stream that fails before its first piece is a failed run without a head", async () => {
    for (const text of [
      "(function* () { throw new Error('first') })()",
      "async function* main() { throw new Error('first') }",
      "async function* main() { await new Promise(setImmediate); throw new Error('first') }",
      "new ReadableStream({ pull(c) { c.error(new Error('first')) } })",
    ]) {
      const { head, ended, fault } = await guest.run(text);
      assert.deepEqual(
        [head, ended, fault?.code, fault?.error?.message],
        [undefined, false, "task_threw", "first"],
        text,
      );
    }
  });

  it("a stream whose first piece cannot be sent is result_unserializable, with a hint what can be sent", async () => {
    for (const text of [
      "(function* () { yield { a: 1 } })()",
      "(async function* () { yield 5 })()",
      "(function* () { yield null })()",
      "new ReadableStream({ start(c) { c.enqueue({ a: 1 }) } })",
    ]) {
      const { head, fault } = await guest.run(text);
      assert.deepEqual([head, fault?.code], [undefined, "result_unserializable"], text);
      assert.match(fault!.hint!, /JSON\.stringify/);
    }
  });

  it("the head of a slow generator is sent after a limited delay", async () => {
    const run = guest.start(
      guest.code(
        "(async function* () { await new Promise((go) => { globalThis.go = go }); throw new Error('late') })()",
      ),
    );
    await guest.frame(FROM_GUEST.head);
    await guest.value("go(), 1");
    const { head, fault } = await run.outcome;
    assert.deepEqual([head?.status, fault?.error?.message], [200, "late"]);
  });

  it("the source of an aborted stream is cancelled", async () => {
    const started = Promise.withResolvers<void>();
    const code = guest.code(
      "new ReadableStream({ pull(c) { c.enqueue(new Uint8Array(65536)) }, cancel() { console.log('cancelled') } })",
    );
    const run = guest.start(
      code,
      {},
      { refill: false, onData: (bytes) => bytes > WINDOW_BYTES / 2 && started.resolve() },
    );
    await started.promise;
    guest.abort(run.id, "gone");
    while (!guest.logs.some(({ run: id, text }) => id === run.id && text === "cancelled")) await guest.ping();
  });
});
