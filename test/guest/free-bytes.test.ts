import assert from "node:assert/strict";
import { it } from "node:test";

import { freeBytes } from "../../src/guest/free-bytes.ts";

it("long bytes in a buffer without others are freed", () => {
  const bytes = Buffer.alloc(65_536, 1);
  freeBytes(bytes);
  assert.equal(bytes.length, 0);
});

it("bytes in a buffer with others, and short bytes, stay", () => {
  const all = new Uint8Array(65_536).fill(1);
  const kept = [all.subarray(0, 60_000), all.subarray(1), new Uint8Array(100).fill(1), Buffer.from("x".repeat(3_000))];
  for (const bytes of kept) {
    const { length } = bytes;
    freeBytes(bytes);
    assert.equal(bytes.length, length);
  }
});
