import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { parseHead } from "../../src/containers/guest/parse-messages.ts";
import { GuestProcess } from "./guest-process.ts";

describe("an invalid head", () => {
  let guest: GuestProcess;
  before(async () => {
    guest = await GuestProcess.start();
  });
  after(() => guest.close());

  const MISTAKES: [title: string, statements: string, message: RegExp][] = [
    ["a value outside Latin-1", "res.setHeader('x-a', '\\u2603'); res.end()", /header "x-a" contains .*U\+2603/],
    ["a line feed", "res.writeHead(200, { 'x-a': 'b\\nc: d' }); res.end()", /header "x-a" contains .*U\+a/],
    ["one bad value of many", "res.setHeader('x-a', ['b', '\\0']); res.end()", /header "x-a" contains .*U\+0/],
    ["a space in a name", "res.setHeader('x a', 'b'); res.end()", /header "x a" has a name/],
    [
      "201 headers",
      "for (let n = 0; n < 201; n++) res.setHeader('x-' + n, 'b'); res.end('x')",
      /201 headers; at most 200/,
    ],
    ["70 KB of headers", "res.setHeader('x-a', 'b'.repeat(70000)); res.write('x'); res.end()", /bytes; at most 65536/],
    ["a status that is text", "res.statusCode = '200'; res.end('x')", /the status is the string "200"/],
    ["a status without a body", "res.statusCode = 101; res.end()", /the status is 101/],
    ["a status that throws", "res.statusCode = { toString() { throw new Error('own') } }; res.end()", /own/],
  ];
  for (const [title, statements, message] of MISTAKES) {
    it(`fails the run with task_threw: ${title}`, async () => {
      const outcome = await guest.run(`(context, req, res) => { ${statements} }`);
      assert.equal(outcome.head, undefined);
      assert.equal(outcome.fault?.code, "task_threw");
      assert.match(outcome.fault.detail, message);
    });
  }

  it("is reported at the line of the task that sets the header", async () => {
    const fault = await guest.fault("(context, req, res) => {\n  res.setHeader('x-a', '\\u2603')\n}");
    assert.match(fault.error!.stack!, /task\.js:2:7/);
  });

  it("fails the run even if the task catches the error", async () => {
    const swallowed = "(context, req, res) => { res.statusCode = 'x'; try { res.end('x') } catch {} }";
    assert.match((await guest.fault(swallowed)).detail, /the string "x"/);
    const late = "(context, req, res) => { res.statusCode = 99; setImmediate(() => { res.write('a'); res.end() }) }";
    assert.match((await guest.fault(late)).detail, /the status is 99/);
  });

  it("can be corrected by a task that catches the error", async () => {
    const text = `(context, req, res) => {
      try { res.setHeader('x-a', '\\u2603') } catch { res.setHeader('x-a', 'snowman') }
      res.statusCode = 'ok';
      try { res.flushHeaders() } catch { res.statusCode = 201 }
      res.end('x');
    }`;
    const { head, ended } = await guest.run(text);
    assert.deepEqual(head, { status: 201, headers: ["x-a", "snowman"] });
    assert.ok(ended);
  });

  it("of an object that only looks like a Response fails the run, and its body is cancelled", async () => {
    for (const [status, header] of [
      ["200", "'\\u2603', 'x-a'"],
      ["200", "'b', 'x a'"],
      ["200", "{ toString: () => 'b' }, 'x-a'"],
      ["200", "'b', { toLowerCase: () => 'x-a' }"],
      ["200", "'b', Symbol('x')"],
      ["700", "'b', 'x-a'"],
      ["NaN", "'b', 'x-a'"],
    ] as const) {
      const run = guest.start(guest.code(fakeResponse(status, header)));
      assert.equal((await run.outcome).fault?.code, "task_threw", `${status} ${header}`);
      while (!guest.logs.some(({ run: id, text }) => id === run.id && text === "cancelled")) await guest.ping();
    }
  });

  it("does not include a head of 200 headers with all characters that the service accepts", async () => {
    const text = `(context, req, res) => {
      for (let n = 0; n < 200; n++) res.setHeader('x-' + n, '\\u00e9\\t"'.repeat(40));
      res.end();
    }`;
    const { head } = await guest.run(text);
    assert.equal(head?.headers.length, 400);
    assert.deepEqual(parseHead(Buffer.from(JSON.stringify(head))), head);
  });
});

/** Returns a handler whose answer has the members of a Response. */
function fakeResponse(status: string, header: string): string {
  return `export default { fetch() {
    const body = new ReadableStream({ cancel() { console.log('cancelled') } });
    const headers = { forEach(each) { each(${header}) } };
    return { [Symbol.toStringTag]: 'Response', status: ${status}, headers, body };
  } }`;
}
