import assert from "node:assert/strict";
import type { IncomingHttpHeaders } from "node:http";
import { afterEach, beforeEach, describe, it, mock } from "node:test";

import { conditions, type Reuse, reuseOf, validated } from "../../src/source/cache-policy.ts";

/** The clock is stopped, because each millisecond would make an answer older. */
beforeEach(() => mock.timers.enable({ apis: ["Date"], now: 1_900_000_000_000 }));
afterEach(() => mock.timers.reset());

/** Which other callers may share the answer, and the milliseconds for which it is fresh. */
function read(headers: IncomingHttpHeaders, status: number = 200): string {
  return described(reuseOf(status, headers, 0));
}

function described({ isPublic, isForAll, freshMs }: Reuse): string {
  const others = isForAll ? "all" : isPublic ? "validated" : "none";
  return `${others} ${freshMs}`;
}

/** Whether a 304 with the received headers validates an answer with the stored headers. */
function isValidatedBy(received: IncomingHttpHeaders, stored: IncomingHttpHeaders): boolean {
  return validated(reuseOf(200, stored, 0), received, 0) !== null;
}

function cacheControl(text: string): string {
  return read({ "cache-control": text });
}

function ago(seconds: number): string {
  return new Date(Date.now() - seconds * 1_000).toUTCString();
}

describe("the time for which an answer is fresh", () => {
  it("is the lifetime in Cache-Control, where s-maxage has precedence and case does not matter", () => {
    assert.equal(cacheControl("max-age=30"), "all 30000");
    assert.equal(cacheControl("Public, MAX-AGE=30"), "all 30000");
    assert.equal(cacheControl('max-age="30"'), "all 30000");
    assert.equal(cacheControl("max-age=5, s-maxage=30"), "all 30000");
    assert.equal(cacheControl("max-age=30, must-revalidate, immutable"), "all 30000");
    assert.ok(reuseOf(200, { "cache-control": `max-age=${"9".repeat(40)}` }, 0).freshMs > 1e30);
  });

  it("does not include the time in which a stale answer may be used", () => {
    assert.equal(cacheControl("max-age=30, stale-while-revalidate=90, stale-if-error=90"), "all 30000");
    assert.equal(cacheControl("max-age=0, stale-while-revalidate=90, stale-if-error=90"), "validated 0");
  });

  it("is zero if the answer declares no lifetime: none is guessed", () => {
    for (const text of [
      "public",
      "must-revalidate",
      "immutable",
      "x-max-age=30",
      'x="max-age=30"',
      "max_age=30",
      ",,;",
    ]) {
      assert.equal(cacheControl(text), "validated 0", text);
    }
    for (const headers of [{}, { "last-modified": ago(864_000) }]) assert.equal(read(headers), "all 0");
  });

  it("is zero if the lifetime is malformed", () => {
    const unreadable = ["max-age", "max-age=", "max-age=x", "max-age=-1", "max-age=0", "s-maxage=0, max-age=9"];
    for (const text of unreadable) assert.equal(cacheControl(text), "validated 0", text);
    for (const expires of ["0", "-1", "", "tomorrow"]) assert.equal(read({ expires }), "validated 0", expires);
  });

  it("is Expires minus Date if max-age is absent", () => {
    assert.equal(read({ date: ago(0), expires: ago(-40) }), "all 40000");
    assert.equal(read({ date: ago(0), expires: ago(-40), "cache-control": "max-age=10" }), "all 10000");
    assert.equal(read({ date: ago(0), expires: ago(10) }), "validated 0");
  });

  it("is a whole second if the second of the answer's Date has not ended", () => {
    mock.timers.setTime(1_000_900);
    assert.equal(read({ date: "Thu, 01 Jan 1970 00:16:40 GMT", "cache-control": "max-age=1" }), "all 1000");
  });

  it("is reduced by the age of the answer: its Age, the time of the exchange, and its Date", () => {
    assert.equal(read({ "cache-control": "max-age=40", age: "10" }), "all 30000");
    assert.equal(read({ "cache-control": "max-age=40", age: "40" }), "validated 0");
    assert.equal(read({ "cache-control": "max-age=40", date: ago(50) }), "validated 0");
    assert.equal(read({ "cache-control": "max-age=40", age: "old", date: "yesterday" }), "all 40000");
    assert.equal(reuseOf(200, { "cache-control": "max-age=40" }, 4_000).freshMs, 36_000);
  });
});

describe("an answer that other callers may not share", () => {
  it("has no-store, private or Vary: *, alone or among other directives", () => {
    for (const text of [
      ...["no-store", "private", "NO-STORE", "Private", "public, max-age=30, no-store", "max-age=30,private"],
      ...['private="x-user", max-age=30', 'max-age=30, ext="a, b", private', "must-understand, no-store"],
    ]) {
      assert.equal(cacheControl(text), "none 0", text);
    }
    for (const vary of ["*", "accept-encoding, *"]) {
      assert.equal(read({ "cache-control": "max-age=30", vary }), "none 0", vary);
      assert.equal(read({ vary }), "none 0", vary);
    }
    assert.equal(read({ "cache-control": "max-age=30", vary: "accept-encoding, cookie" }), "all 30000");
  });

  it("has a status that a cache may not store", () => {
    for (const status of [201, 202, 206, 226]) assert.equal(read({ "cache-control": "max-age=30" }, status), "none 0");
    for (const status of [203, 301, 302, 303, 307, 308]) {
      assert.equal(read({ "cache-control": "max-age=30" }, status), "all 30000");
    }
  });

  it("is shared after a validation each time if it has no-cache", () => {
    for (const text of ["no-cache", "no-cache, max-age=30", "No-Cache", 'max-age=30, no-cache="set-cookie"']) {
      assert.equal(cacheControl(text), "validated 0", text);
    }
  });
});

describe("a validation", () => {
  it("sends the validators of the stored answer", () => {
    const modified = ago(100);
    assert.deepEqual(conditions(reuseOf(200, { etag: 'W/"a"', "last-modified": modified }, 0)), {
      "if-none-match": 'W/"a"',
      "if-modified-since": modified,
    });
    for (const headers of [{}, { etag: '"a"', "cache-control": "no-store" }]) {
      assert.deepEqual(conditions(reuseOf(200, headers, 0)), {});
    }
  });

  it("is accepted if its validators match the stored answer", () => {
    assert.ok(isValidatedBy({}, { etag: '"a"' }));
    assert.ok(isValidatedBy({}, { "last-modified": ago(9) }));
    assert.ok(isValidatedBy({ etag: 'W/"a"' }, { etag: '"a"' }));
    assert.ok(isValidatedBy({ etag: '"a"' }, { etag: 'W/"a"' }));
    assert.ok(!isValidatedBy({ etag: '"b"' }, { etag: '"a"' }));
    assert.ok(!isValidatedBy({ etag: '"b"' }, { "last-modified": ago(9) }));
    assert.ok(!isValidatedBy({ "last-modified": ago(1) }, { "last-modified": ago(9) }));
  });

  it("makes the answer shareable, unless the 304 forbids that", () => {
    const stored = reuseOf(200, { etag: '"a"', "cache-control": "no-cache" }, 0);
    assert.equal(described(stored), "validated 0");
    assert.equal(described(validated(stored, {}, 0)!), "all 0");
    for (const text of ["no-store", "private"]) {
      assert.equal(described(validated(stored, { "cache-control": text }, 0)!), "none 0", text);
    }
  });

  it("replaces the headers that the 304 contains, and keeps the others except for the age", () => {
    const stored = { etag: '"a"', "cache-control": "max-age=9", age: "8", date: ago(8) };
    const received = { "cache-control": "max-age=5", "content-type": "text/html" };
    const reuse = validated(reuseOf(200, stored, 0), received, 0)!;
    assert.deepEqual(reuse.headers, { etag: '"a"', "cache-control": "max-age=5" });
    assert.equal(described(reuse), "all 5000");
    assert.equal(described(validated(reuseOf(302, stored, 0), received, 0)!), "all 5000");
  });
});
