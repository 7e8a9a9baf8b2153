import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { GuestProcess } from "./guest-process.ts";

describe("the bytes of a response body", () => {
  let guest: GuestProcess;
  before(async () => {
    guest = await GuestProcess.start();
  });
  after(() => guest.close());

  it("never exceed the window, for all sizes of pieces and grants", async () => {
    const sizes = [0, 1, 255, 256, 257, 4_095, 4_096, 4_097, 16_384, 65_535, 65_536, 65_537, 300_000, 3];
    const text = `(function* () {
      let n = 0;
      for (const size of ${JSON.stringify(sizes)}) for (let times = 0; times < 9; times++) yield new Uint8Array(size).fill(n++ % 251);
    })()`;
    const grants = [1, 255, 256, 257, 258, 999, 70_000, 262_144, 1_000_000];
    const code = guest.code(text);
    for (const grant of grants.slice(4)) {
      let turn = 0;
      const run = guest.start(
        code,
        {},
        {
          refill: false,
          // Nine grants in turn, so that the rest of the window differs each time.
          onData: () => guest.window(run.id, grant + grants[turn++ % grants.length]!),
        },
      );
      const { body, bodyBytes, ended } = await run.outcome;
      assert.ok(ended);
      assert.equal(bodyBytes, 9 * sizes.reduce((sum, size) => sum + size));
      assert.ok(body.length > 0);
    }
  });

  it("go in few frames when many small pieces are ready in one turn", async () => {
    for (const text of [
      "(function* () { for (let n = 0; n < 10000; n++) yield n + ',' })()",
      "(async function* () { for (let n = 0; n < 10000; n++) yield n + ',' })()",
      "(context, req, res) => { for (let n = 0; n < 10000; n++) res.write(n + ','); res.end() }",
      "new ReadableStream({ start(c) { for (let n = 0; n < 10000; n++) c.enqueue(n + ','); c.close() } })",
    ]) {
      const { body, frames } = await guest.run(text);
      assert.equal(body, Array.from({ length: 10_000 }, (_, n) => `${n},`).join(""), text);
      assert.ok(frames < 20, `${frames} frames: ${text}`);
    }
  });

  it("are copied, so a task may reuse its buffer", async () => {
    const text = `(async function* () {
      const buffer = new Uint8Array(1);
      for (const byte of [97, 98, 99]) { buffer[0] = byte; yield buffer }
    })()`;
    assert.equal((await guest.run(text)).body, "abc");
  });

  it("are sent in the turn in which the task writes them, and do not wait for later bytes", async () => {
    const first = Promise.withResolvers<void>();
    const text = "(async function* () { yield 'a'; await new Promise((go) => { globalThis.go = go }); yield 'b' })()";
    const run = guest.start(guest.code(text), {}, { onData: () => first.resolve() });
    await first.promise;
    await guest.value("go(), 1");
    const { body, frames } = await run.outcome;
    assert.deepEqual([body, frames], ["ab", 2]);
  });

  it("that the task wrote before it threw are sent before the fault", async () => {
    for (const text of [
      "(function* () { yield 'a'; yield 'b'; throw new Error('x') })()",
      "(context, req, res) => { res.write('a'); res.write('b'); throw new Error('x') }",
      "(context, req, res) => { res.write('a'); setImmediate(() => { res.write('b'); throw new Error('x') }) }",
    ]) {
      const { body, fault } = await guest.run(text);
      assert.deepEqual([body, fault?.error?.message], ["ab", "x"], text);
    }
  });
});

describe("the response body of an aborted run", () => {
  let guest: GuestProcess;
  before(async () => {
    guest = await GuestProcess.start();
  });
  after(() => guest.close());

  async function logged(run: number, wanted: string): Promise<void> {
    while (!guest.logs.some((line) => line.run === run && line.text === wanted)) await guest.ping();
  }

  it("is cancelled and never read if the run was aborted before the body existed", async () => {
    const text = `export default { async fetch() {
      await new Promise((go) => { globalThis.go = go });
      return new Response(new ReadableStream({
        pull(c) { console.log('pulled'); c.enqueue(new Uint8Array(1)) }, cancel() { console.log('cancelled') }
      }, { highWaterMark: 0 }));
    } }`;
    const run = guest.start(guest.code(text));
    await guest.ping();
    guest.abort(run.id, "gone");
    await guest.value("go(), 1");
    await logged(run.id, "cancelled");
    assert.ok(!guest.logs.some((line) => line.run === run.id && line.text === "pulled"));
  });

  it("is not read any further, and a generator executes its finally block", async () => {
    const text = `(async function* () {
      let pulls = 0;
      try { for (;;) { pulls += 1; yield new Uint8Array(65536) } } finally { console.log('ended'); globalThis.pulls = pulls }
    })()`;
    const stuck = Promise.withResolvers<void>();
    const run = guest.start(
      guest.code(text),
      {},
      { refill: false, onData: (bytes) => bytes > 3 * 65_536 && stuck.resolve() },
    );
    await stuck.promise;
    guest.abort(run.id, "deadline");
    await logged(run.id, "ended");
    assert.equal(await guest.value("globalThis.pulls"), 4);
  });

  it("ends for a Node handler: its res is destroyed", async () => {
    const text = `(context, req, res) => {
      const more = () => { while (!res.destroyed && res.write(Buffer.alloc(50000)));  };
      res.on('drain', more);
      res.on('close', () => console.log('closed ' + res.writable));
      more();
    }`;
    const stuck = Promise.withResolvers<void>();
    const run = guest.start(
      guest.code(text),
      {},
      { refill: false, onData: (bytes) => bytes > 200_000 && stuck.resolve() },
    );
    await stuck.promise;
    guest.abort(run.id, "gone");
    await logged(run.id, "closed false");
  });
});

describe("a Node handler that destroys its res", () => {
  let guest: GuestProcess;
  before(async () => {
    guest = await GuestProcess.start();
  });
  after(() => guest.close());

  it("fails its run after the bytes that it wrote before", async () => {
    const { body, ended, fault } = await guest.run(
      "(context, req, res) => { res.write('abc'); setImmediate(() => res.destroy()) }",
    );
    assert.equal(body, "abc");
    assert.equal(ended, false);
    assert.equal(fault?.code, "task_threw");
  });

  it("fails its run without a head if it wrote nothing", async () => {
    const { head, fault } = await guest.run("(context, req, res) => { res.destroy() }");
    assert.equal(head, undefined);
    assert.equal(fault?.code, "task_threw");
    assert.match(fault.detail, /destroyed its response/);
  });
});
