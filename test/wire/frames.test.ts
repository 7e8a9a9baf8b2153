import assert from "node:assert/strict";
import { describe, it } from "node:test";

import * as fc from "fast-check";

import { bytesFrame, FrameError, FrameReader, type OnFrame, textFrame } from "../../src/wire/frames.ts";

type Frame = [type: number, id: number, payload: string];

function read(chunks: readonly Buffer[], maxPayloadBytes = 1_000): Frame[] {
  const frames: Frame[] = [];
  const reader = new FrameReader(maxPayloadBytes, (type, id, payload) =>
    frames.push([type, id, payload.toString("latin1")]),
  );
  for (const chunk of chunks) reader.push(chunk);
  return frames;
}

describe("FrameReader", () => {
  it("returns the same frames for every split of the stream", () => {
    const frame = fc.tuple(fc.nat(255), fc.nat(2 ** 31), fc.uint8Array({ maxLength: 300 }));
    fc.assert(
      fc.property(
        fc.array(frame, { maxLength: 20 }),
        fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }),
        (sent, cuts) => {
          const stream = Buffer.concat(sent.map(([type, id, payload]) => bytesFrame(type, id, payload)));
          const chunks: Buffer[] = [];
          for (let at = 0, turn = 0; at < stream.length; turn++) {
            const end = at + cuts[turn % cuts.length]!;
            chunks.push(stream.subarray(at, end));
            at = end;
          }
          const expected = sent.map(([type, id, payload]) => [type, id, Buffer.from(payload).toString("latin1")]);
          assert.deepEqual(read(chunks), expected);
        },
      ),
    );
  });

  it("returns the same frames if bytes are written to where a frame goes on", () => {
    const frame = fc.tuple(fc.nat(255), fc.nat(2 ** 31), fc.uint8Array({ maxLength: 300 }));
    fc.assert(
      fc.property(
        fc.array(frame, { maxLength: 20 }),
        fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }),
        fc.nat(50),
        (sent, cuts, leastBytes) => {
          const stream = Buffer.concat(sent.map(([type, id, payload]) => bytesFrame(type, id, payload)));
          const frames: Frame[] = [];
          const onFrame: OnFrame = (type, id, payload) => frames.push([type, id, payload.toString("latin1")]);
          const reader = new FrameReader(1_000, onFrame, { isTrusted: true });
          for (let at = 0, turn = 0; at < stream.length; turn++) {
            const rest = reader.rest(leastBytes + 1);
            const end = Math.min(at + cuts[turn % cuts.length]!, at + (rest?.length ?? Infinity));
            if (rest) reader.written(stream.copy(rest, 0, at, end));
            else reader.push(stream.subarray(at, end));
            at = Math.min(end, stream.length);
          }
          const expected = sent.map(([type, id, payload]) => [type, id, Buffer.from(payload).toString("latin1")]);
          assert.deepEqual(frames, expected);
        },
      ),
    );
  });

  it("stores a long frame of a trusted peer once, whatever follows it in a chunk", () => {
    const long = bytesFrame(1, 1, Buffer.alloc(50_000, 1));
    const memory: ArrayBufferLike[] = [];
    const reader = new FrameReader(50_000, (_type, _id, { buffer }) => memory.push(buffer), { isTrusted: true });
    reader.push(long.subarray(0, 100));
    reader.push(long.subarray(100, 400));
    const rest = reader.rest(1)!;
    assert.equal(rest.length, long.length - 400);
    reader.push(Buffer.concat([long.subarray(400), bytesFrame(2, 2)]));
    assert.equal(memory.length, 2);
    assert.equal(memory[0], rest.buffer);
    assert.equal(reader.rest(1), null);
  });

  it("gives the memory of a frame that arrived in pieces to be freed, and never that of a chunk with whole frames", () => {
    const freed: string[] = [];
    const reader = new FrameReader(1_000, () => {}, { isTrusted: true, free: (frame) => freed.push(String(frame)) });
    const frame = bytesFrame(1, 1, Buffer.from("in pieces"));
    reader.push(bytesFrame(2, 2));
    reader.push(frame.subarray(0, 12));
    assert.deepEqual(freed, []);
    reader.push(Buffer.concat([frame.subarray(12), bytesFrame(3, 3)]));
    assert.deepEqual(freed, [String(frame)]);
  });

  it("rejects a length above the maximum before it stores the frame", () => {
    const header = Buffer.alloc(9);
    header.writeUInt32LE(0xffffffff, 0);
    assert.throws(() => read([header]), FrameError);
  });

  it("rejects a length that is shorter than a header", () => {
    const header = Buffer.alloc(9);
    header.writeUInt32LE(4, 0);
    assert.throws(() => read([header]), FrameError);
  });

  it("accepts a payload of exactly the maximum, and rejects a payload of one byte more", () => {
    assert.equal(read([bytesFrame(1, 1, Buffer.alloc(1_000))]).length, 1);
    assert.throws(() => read([bytesFrame(1, 1, Buffer.alloc(1_001))]), FrameError);
  });

  it("throws no other error, for any bytes", () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 64 }), { maxLength: 20 }), (chunks) => {
        try {
          read(chunks.map((chunk) => Buffer.from(chunk)));
        } catch (error) {
          assert.ok(error instanceof FrameError);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it("returns the UTF-8 text of textFrame", () => {
    const payloads: string[] = [];
    new FrameReader(100, (_type, _id, payload) => payloads.push(payload.toString())).push(textFrame(7, 9, "grüß 🜨"));
    assert.deepEqual(payloads, ["grüß 🜨"]);
  });
});
