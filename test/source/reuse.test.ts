import assert from "node:assert/strict";
import type { IncomingHttpHeaders } from "node:http";
import { describe, it } from "node:test";

import { conditions, confirms, reuseOf, updated } from "../../src/source/reuse.ts";

const TIMES = { delayMs: 0, maxFreshMs: 60_000 };

function read(headers: IncomingHttpHeaders, status: number = 200): string {
  const { others, freshMs } = reuseOf(status, headers, TIMES);
  return `${others} ${freshMs}`;
}

function cacheControl(text: string): string {
  return read({ "cache-control": text });
}

function ago(seconds: number): string {
  return new Date(Date.now() - seconds * 1_000).toUTCString();
}

describe("the time that an answer is good for", () => {
  it("is what Cache-Control says, that for shared caches first, and no more than is believed", () => {
    assert.equal(cacheControl("max-age=30"), "all 30000");
    assert.equal(cacheControl("Public, MAX-AGE=30"), "all 30000");
    assert.equal(cacheControl('max-age="30"'), "all 30000");
    assert.equal(cacheControl("max-age=300"), "all 60000");
    assert.equal(cacheControl(`max-age=${"9".repeat(40)}`), "all 60000");
    assert.equal(cacheControl("max-age=5, s-maxage=30"), "all 30000");
    assert.equal(cacheControl("max-age=30, max-age=5"), "all 30000");
    assert.equal(cacheControl("max-age=30, must-revalidate, immutable, stale-while-revalidate=90"), "all 30000");
  });

  it("is none where nothing is said, and is never guessed", () => {
    for (const text of ["", "public", "must-revalidate", "x-max-age=30", 'x="max-age=30"', "max_age=30", ",,;"]) {
      assert.equal(cacheControl(text), "all 0", text);
    }
    assert.equal(read({ "last-modified": ago(864_000) }), "all 0");
  });

  it("is none where what is said cannot be read, which is for those alone who had asked before", () => {
    for (const text of [
      "max-age",
      "max-age=",
      "max-age=x",
      "max-age=-1",
      "max-age=1.5",
      "max-age=0",
      "s-maxage=0, max-age=9",
    ]) {
      assert.equal(cacheControl(text), "earlier 0", text);
    }
    for (const expires of ["0", "-1", "", "tomorrow", "Thu Jan  1 00:00:00 2099", "2099-01-01"]) {
      assert.equal(read({ expires }), "earlier 0", expires);
    }
  });

  it("is Expires less Date where max-age is not given", () => {
    assert.match(read({ date: ago(0), expires: ago(-40) }), /^all (?:40000|39\d{3})$/);
    assert.equal(read({ date: ago(0), expires: ago(-40), "cache-control": "max-age=10" }).split(" ")[0], "all");
    assert.equal(read({ date: ago(0), expires: ago(10) }), "earlier 0");
  });

  it("is a whole second where the answer's second is not over", (context) => {
    context.mock.timers.enable({ apis: ["Date"], now: 1_000_900 });
    assert.equal(read({ date: "Thu, 01 Jan 1970 00:16:40 GMT", "cache-control": "max-age=1" }), "all 1000");
  });

  it("is less by the age of the answer: what it says, how long it took, how old its date is", () => {
    assert.equal(read({ "cache-control": "max-age=40", age: "10" }), "all 30000");
    assert.equal(read({ "cache-control": "max-age=300", age: "200" }), "all 60000");
    assert.equal(read({ "cache-control": "max-age=40", age: "40" }), "earlier 0");
    assert.equal(read({ "cache-control": "max-age=40", date: ago(50) }), "earlier 0");
    assert.equal(read({ "cache-control": "max-age=40", age: "old", date: "yesterday" }), "all 40000");
    const slow = reuseOf(200, { "cache-control": "max-age=40" }, { delayMs: 4_000, maxFreshMs: 60_000 });
    assert.equal(slow.freshMs, 36_000);
  });
});

describe("an answer that is not for others", () => {
  it("is known by no-store, private and Vary: *, in any company", () => {
    for (const text of [
      ...["no-store", "private", "NO-STORE", "public, max-age=30, no-store", "max-age=30,private"],
      ...['private="x-user", max-age=30', 'max-age=30, ext="a, b", private', "must-understand, no-store"],
    ]) {
      assert.equal(cacheControl(text), "none 0", text);
    }
    for (const vary of ["*", "accept-encoding, *"]) {
      assert.equal(read({ "cache-control": "max-age=30", vary }), "none 0", vary);
    }
    assert.equal(read({ "cache-control": "max-age=30", vary: "accept-encoding, cookie" }), "all 30000");
  });

  it("is one whose status means nothing here", () => {
    for (const status of [201, 202, 206, 226]) assert.equal(read({ "cache-control": "max-age=30" }, status), "none 0");
    for (const status of [203, 301, 302, 303, 307, 308]) {
      assert.equal(read({ "cache-control": "max-age=30" }, status), "all 30000");
    }
  });

  it("is validated each time when it says no-cache", () => {
    for (const text of ["no-cache", "no-cache, max-age=30", 'max-age=30, no-cache="set-cookie"']) {
      assert.equal(cacheControl(text), "earlier 0", text);
    }
  });
});

describe("a validation", () => {
  it("asks by what the answer gave, where that can be sent back", () => {
    const modified = ago(100);
    assert.deepEqual(conditions({ etag: '"a"', "last-modified": modified }), {
      "If-None-Match": '"a"',
      "If-Modified-Since": modified,
    });
    assert.deepEqual(conditions({ etag: 'W/"a"' }), { "If-None-Match": 'W/"a"' });
    for (const etag of ["a", '"a', '"a" "b"', "W/a", "*", '"\u0001"']) assert.deepEqual(conditions({ etag }), {});
    assert.deepEqual(conditions({ "last-modified": "yesterday" }), {});
  });

  it("is believed when it speaks of what was asked about", () => {
    assert.ok(confirms({}, { etag: '"a"' }));
    assert.ok(confirms({ etag: 'W/"a"' }, { etag: '"a"' }));
    assert.ok(!confirms({ etag: '"b"' }, { etag: '"a"' }));
    assert.ok(!confirms({ etag: '"b"' }, { "last-modified": ago(9) }));
    assert.ok(!confirms({ "last-modified": ago(1) }, { "last-modified": ago(9) }));
  });

  it("replaces what it says anew, and leaves the rest but for its age", () => {
    const stored = { etag: '"a"', "cache-control": "max-age=9", age: "8", date: ago(8) };
    assert.deepEqual(updated(stored, { "cache-control": "max-age=5", "content-type": "text/html" }), {
      etag: '"a"',
      "cache-control": "max-age=5",
    });
  });
});
