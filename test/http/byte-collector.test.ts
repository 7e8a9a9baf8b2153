import assert from "node:assert/strict";
import { it } from "node:test";

import * as fc from "fast-check";

import { ByteCollector } from "../../src/http/byte-collector.ts";

it("the collector contains all added bytes and reports the memory that it uses", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 3_000 }), { maxLength: 30 }), (chunks) => {
      const collected = new ByteCollector();
      let memory = 0;
      for (const chunk of chunks) memory += collected.add(Buffer.from(chunk));
      const whole = Buffer.concat(chunks);
      assert.deepEqual(collected.bytes, whole);
      assert.equal(collected.length, whole.length);
      assert.ok(memory >= whole.length && memory <= Math.max(1_024, 2 * whole.length), `${memory} of ${whole.length}`);
    }),
  );
});

it("the collector never writes into the first chunk", () => {
  const first = Buffer.alloc(8, "a");
  const collected = new ByteCollector();
  collected.add(first.subarray(0, 4));
  collected.add(Buffer.from("bbbb"));
  assert.equal(collected.bytes.toString(), "aaaabbbb");
  assert.equal(first.toString(), "aaaaaaaa");
});

it("chunks of a few bytes count as fragmented after the first two thousand; chunks of 64 bytes never do", () => {
  const tiny = new ByteCollector();
  for (let count = 0; count < 2_000; count++) tiny.add(Buffer.from("x"));
  assert.equal(tiny.isFragmented, false);
  for (let count = 0; count < 100; count++) tiny.add(Buffer.from("x"));
  assert.equal(tiny.isFragmented, true);
  const small = new ByteCollector();
  for (let count = 0; count < 10_000; count++) small.add(Buffer.alloc(64));
  assert.equal(small.isFragmented, false);
});
