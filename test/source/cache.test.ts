import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { Cache, type CachedReply } from "../../src/source/cache.ts";

function answer(body: Buffer): CachedReply {
  return {
    reply: { location: null, body, contentType: null },
    status: 200,
    headers: {},
    addresses: [],
    freshUntilMs: 0,
  };
}

function cachedUrls(cache: Cache, urls: readonly string[]): string[] {
  return urls.filter((url) => cache.get(url) !== undefined);
}

describe("the cache", () => {
  it("has a maximum of entries, and evicts the least recently used one", () => {
    const cache = new Cache({ maxBytes: 2 ** 20, maxEntries: 2 });
    for (const url of ["a", "b"]) cache.store(url, answer(Buffer.from(url)));
    cache.get("a");
    cache.store("c", answer(Buffer.from("c")));
    assert.deepEqual(cachedUrls(cache, ["a", "b", "c"]), ["a", "c"]);
  });

  it("evicts replies of the family that uses most of it, and none of the others", () => {
    for (const bounds of [
      { maxBytes: 2 ** 20, maxEntries: 4 },
      { maxBytes: 5_000, maxEntries: 1_000 },
    ]) {
      const cache = new Cache(bounds);
      cache.store("a", answer(Buffer.from("a")), "small");
      for (let at = 0; at < 100; at++) cache.store(`b${at}`, answer(Buffer.from("b")), "large");
      assert.deepEqual(cachedUrls(cache, ["a", "b0", "b99"]), ["a", "b99"]);
      for (let at = 0; at < 4; at++) cache.store(`c${at}`, answer(Buffer.from("c")), "small");
      assert.equal(cachedUrls(cache, ["b96", "b97", "b98", "b99"]).length, 2);
    }
  });

  it("has a maximum of bytes, which counts headers and URLs", () => {
    const cache = new Cache({ maxBytes: 100_000, maxEntries: 1_000 });
    for (const url of ["a", "b", "c"]) cache.store(url, answer(Buffer.alloc(40_000)));
    assert.deepEqual(cachedUrls(cache, ["a", "b", "c"]), ["b", "c"]);
    const longHeader = { ...answer(Buffer.of()), headers: { etag: "x".repeat(30_000) } };
    cache.store("d", longHeader);
    assert.deepEqual(cachedUrls(cache, ["b", "c", "d"]), ["d"]);
    cache.store(`e${"x".repeat(30_000)}`, answer(Buffer.of()));
    assert.deepEqual(cachedUrls(cache, ["d"]), []);
  });

  it("counts replaced and removed entries correctly", () => {
    const cache = new Cache({ maxBytes: 100_000, maxEntries: 1_000 });
    for (let round = 0; round < 100; round += 1) {
      cache.store("a", answer(Buffer.alloc(40_000)));
      cache.store("b", answer(Buffer.alloc(40_000)));
      cache.forget("b");
      cache.forget("never");
    }
    cache.store("b", answer(Buffer.alloc(40_000)));
    assert.deepEqual(cachedUrls(cache, ["a", "b"]), ["a", "b"]);
  });

  it("does not store a reply above its maximum, and removes the earlier reply of the URL", () => {
    const cache = new Cache({ maxBytes: 10_000, maxEntries: 10 });
    cache.store("a", answer(Buffer.from("small")));
    cache.store("a", answer(Buffer.alloc(10_000)));
    assert.equal(cache.get("a"), undefined);
    for (const bounds of [
      { maxBytes: 0, maxEntries: 10 },
      { maxBytes: 10_000, maxEntries: 0 },
    ]) {
      const none = new Cache(bounds);
      none.store("a", answer(Buffer.from("small")));
      assert.equal(none.get("a"), undefined);
    }
  });

  it("copies a body out of a larger buffer, so that it retains only its own bytes", () => {
    const cache = new Cache({ maxBytes: 100_000, maxEntries: 10 });
    cache.store("a", answer(Buffer.alloc(50_000, "x").subarray(0, 5)));
    const { body } = cache.get("a")!.reply;
    assert.equal(body.toString(), "xxxxx");
    assert.equal(body.buffer.byteLength, 5);
  });
});
