import assert from "node:assert/strict";
import { PassThrough, type Readable } from "node:stream";
import { describe, it, type TestContext } from "node:test";
import { crc32 } from "node:zlib";

import { codeOf } from "../../../src/containers/guest/code-table.ts";
import type { Guest } from "../../../src/containers/guest/guest.ts";
import { DATA_FRAME_COST_BYTES, FROM_GUEST, TO_GUEST, WINDOW_BYTES } from "../../../src/wire/messages.ts";
import { type Frame, makeGuest, type Puppet } from "../puppet.ts";
import { Recorder } from "../recorder.ts";

/** Starts a run whose request has this body. */
function startWith(guest: Guest, source: Readable): Recorder {
  const recorder = new Recorder();
  const code = codeOf({ source: Buffer.from("a"), typescript: false, modules: null });
  recorder.id = guest.run(code, () => "{}", recorder, performance.now(), {
    body: { source, caller: "alice", mostHeld: 99, onRead: null },
  });
  return recorder;
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

const costOf = (frames: readonly Frame[]): number =>
  frames.reduce((sum, { payload }) => sum + payload.length + DATA_FRAME_COST_BYTES, 0);

/** Returns a guest that has received a whole window. */
async function full(t: TestContext): Promise<{ guest: Guest; puppet: Puppet; run: Recorder; sent: Frame[] }> {
  const { guest, puppet } = await makeGuest(t);
  const source = new PassThrough();
  const run = startWith(guest, source);
  source.end(Buffer.alloc(2 * WINDOW_BYTES, 7));
  const sent: Frame[] = [];
  // Each frame is as large as the rest of the window allows.
  while (costOf(sent) < WINDOW_BYTES) sent.push(await puppet.next(TO_GUEST.body));
  return { guest, puppet, run, sent };
}

describe("the body of a request", () => {
  it("follows its run frame, which has the maximum length for the whole body, and ends", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    const source = new PassThrough();
    const run = startWith(guest, source);
    source.end("abc");
    const begun = await puppet.next(TO_GUEST.runWithBody);
    assert.deepEqual([begun.id, begun.payload.readUInt32LE(4), begun.payload.toString("utf8", 12)], [run.id, 99, "{}"]);
    assert.equal(begun.payload.readUInt32LE(8), crc32("alice"));
    assert.equal((await puppet.next(TO_GUEST.body)).payload.toString(), "abc");
    assert.equal((await puppet.next(TO_GUEST.bodyEnd)).id, run.id);
  });

  it("is sent exactly as far as the guest has requested", async (t) => {
    const { puppet, run, sent } = await full(t);
    assert.equal(costOf(sent), WINDOW_BYTES);
    puppet.say(FROM_GUEST.bodyMore, run.id, u32(1_000));
    const { payload } = await puppet.next(TO_GUEST.body);
    assert.equal(payload.length, 1_000 - DATA_FRAME_COST_BYTES);
  });

  it("ends a guest that requests more than was sent, or nothing", async (t) => {
    for (const payload of [u32(WINDOW_BYTES + 1), u32(2 ** 32 - 1), u32(0), Buffer.alloc(3)]) {
      const { guest, puppet, run } = await full(t);
      puppet.say(FROM_GUEST.bodyMore, run.id, payload);
      assert.equal(await run.outcome(), "task_exited");
      assert.ok(guest.ended);
    }
  });

  it("stops when its run ends, and later requests for it are ignored", async (t) => {
    const { guest, puppet, run } = await full(t);
    puppet.say(FROM_GUEST.result, run.id, "1");
    puppet.say(FROM_GUEST.bodyMore, run.id, u32(WINDOW_BYTES));
    const other = startWith(guest, new PassThrough().end("other"));
    const { id } = await puppet.next(TO_GUEST.body);
    assert.equal(id, other.id);
    assert.deepEqual([await run.outcome(), guest.ended], ["result 1", false]);
  });

  it("is not sent to a guest that requests it without reading", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    puppet.stopReading();
    const source = new PassThrough({ highWaterMark: 0 });
    const run = startWith(guest, source);
    let taken = 0;
    source.on("data", (chunk: Buffer) => (taken += chunk.length));
    const piece = Buffer.alloc(WINDOW_BYTES - DATA_FRAME_COST_BYTES * 8);
    for (let count = 0; count < 200; count++) {
      source.write(piece);
      const before = guest.inFlight.get(run.id);
      if (!before || source.isPaused()) break;
      // An honest guest would send this after it has read everything.
      before.upload!.more(piece.length);
      await new Promise(setImmediate);
    }
    assert.ok(source.isPaused(), `${taken} bytes were sent to a guest that reads none`);
  });
});
