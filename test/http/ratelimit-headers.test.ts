import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { rateLimitHeaders } from "../../src/http/ratelimit-headers.ts";
import type { KeyUsage } from "../../src/limits/store.ts";

function usage(keyClass: "container" | "token", limits: number[], remaining: number[], resetMs: number[]): KeyUsage {
  return { class: keyClass, limits, remaining, resetMs };
}

const container = usage("container", [0, 60, 0, 0, 0, 0], [0, 59, 0, 0, 0, 0], [0, 59_001, 0, 0, 0, 0]);
const token = usage("token", [5, 0, 0, 100, 0, 0], [4, 0, 0, 3, 0, 0], [1_000, 0, 0, 500, 0, 0]);

describe("the rate-limit headers", () => {
  it("contain every tracked window, and for each class the window with the fewest runs left", () => {
    assert.deepEqual(rateLimitHeaders([container, token]), [
      "RateLimit-Policy",
      '"container-minute";q=60;w=60, "token-second";q=5;w=1, "token-day";q=100;w=86400',
      "RateLimit",
      '"container-minute";r=59;t=60, "token-day";r=3;t=1',
    ]);
  });

  it("contain the same policy and a new state in the next answer", () => {
    const next = { ...container, remaining: [0, 58, 0, 0, 0, 0] };
    assert.match(rateLimitHeaders([next, token])[3]!, /^"container-minute";r=58;t=60, /);
    assert.equal(rateLimitHeaders([next, token])[1], rateLimitHeaders([container, token])[1]);
  });

  it("omit a class that tracks no window, and are absent if no class tracks any window", () => {
    const nothing = usage("container", [0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0]);
    assert.deepEqual(rateLimitHeaders([nothing]), []);
    assert.deepEqual(rateLimitHeaders([]), []);
    assert.equal(rateLimitHeaders([nothing, token])[3], '"token-day";r=3;t=1');
  });

  it("contain the tightest limits of a token and its ancestors", () => {
    const parent = usage("token", [0, 0, 0, 50, 900, 0], [0, 0, 0, 2, 899, 0], [0, 0, 0, 700_000, 9_000, 0]);
    const [, policy, , state] = rateLimitHeaders([container, token, parent]);
    assert.match(policy!, /"token-second";q=5;w=1, "token-day";q=50;w=86400, "token-week";q=900;w=604800$/);
    assert.match(state!, /"token-day";r=2;t=700$/);
  });

  it("follow changed limits even if the limits of the first key are unchanged", () => {
    const [, before] = rateLimitHeaders([container, token]);
    const [, after] = rateLimitHeaders([container, { ...token, limits: [7, 0, 0, 0, 0, 0] }]);
    assert.notEqual(after, before);
    assert.match(after!, /"token-second";q=7;w=1$/);
  });

  it("contain the window with the longer wait if two windows have the same number of runs left", () => {
    const spent = usage("token", [5, 9, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0], [400, 30_000, 0, 0, 0, 0]);
    assert.equal(rateLimitHeaders([spent])[3], '"token-minute";r=0;t=30');
  });
});
