import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { Cache, type Kept } from "../../src/source/cache.ts";

function answer(body: Buffer): Kept {
  return {
    reply: { location: null, body, contentType: null },
    status: 200,
    headers: {},
    addresses: [],
    freshUntilMs: 0,
  };
}

function keptOf(cache: Cache, urls: readonly string[]): string[] {
  return urls.filter((url) => cache.get(url) !== undefined);
}

describe("what is kept", () => {
  it("is bounded in number, and goes when it was not asked for the longest", () => {
    const cache = new Cache({ maxBytes: 2 ** 20, maxEntries: 2 });
    for (const url of ["a", "b"]) cache.keep(url, answer(Buffer.from(url)));
    cache.get("a");
    cache.keep("c", answer(Buffer.from("c")));
    assert.deepEqual(keptOf(cache, ["a", "b", "c"]), ["a", "c"]);
  });

  it("is bounded in bytes, headers and URLs counted", () => {
    const cache = new Cache({ maxBytes: 100_000, maxEntries: 1_000 });
    for (const url of ["a", "b", "c"]) cache.keep(url, answer(Buffer.alloc(40_000)));
    assert.deepEqual(keptOf(cache, ["a", "b", "c"]), ["b", "c"]);
    const longHeader = { ...answer(Buffer.of()), headers: { etag: "x".repeat(30_000) } };
    cache.keep("d", longHeader);
    assert.deepEqual(keptOf(cache, ["b", "c", "d"]), ["d"]);
    cache.keep(`e${"x".repeat(30_000)}`, answer(Buffer.of()));
    assert.deepEqual(keptOf(cache, ["d"]), []);
  });

  it("counts what replaces and what is forgotten only once", () => {
    const cache = new Cache({ maxBytes: 100_000, maxEntries: 1_000 });
    for (let round = 0; round < 100; round += 1) {
      cache.keep("a", answer(Buffer.alloc(40_000)));
      cache.keep("b", answer(Buffer.alloc(40_000)));
      cache.forget("b");
      cache.forget("never");
    }
    cache.keep("b", answer(Buffer.alloc(40_000)));
    assert.deepEqual(keptOf(cache, ["a", "b"]), ["a", "b"]);
  });

  it("is not what is larger than all that may be kept, nor what it was before", () => {
    const cache = new Cache({ maxBytes: 10_000, maxEntries: 10 });
    cache.keep("a", answer(Buffer.from("small")));
    cache.keep("a", answer(Buffer.alloc(10_000)));
    assert.equal(cache.get("a"), undefined);
    for (const bounds of [
      { maxBytes: 0, maxEntries: 10 },
      { maxBytes: 10_000, maxEntries: 0 },
    ]) {
      const none = new Cache(bounds);
      none.keep("a", answer(Buffer.from("small")));
      assert.equal(none.get("a"), undefined);
    }
  });

  it("holds no more memory than its bytes, also where they lay among others", () => {
    const cache = new Cache({ maxBytes: 100_000, maxEntries: 10 });
    cache.keep("a", answer(Buffer.alloc(50_000, "x").subarray(0, 5)));
    const { body } = cache.get("a")!.reply;
    assert.equal(body.toString(), "xxxxx");
    assert.equal(body.buffer.byteLength, 5);
  });
});
