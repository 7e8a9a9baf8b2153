import assert from "node:assert/strict";
import { it } from "node:test";

import { type TokenLineage, TokenQuotas } from "../../src/containers/token-quotas.ts";
import { Problem } from "../../src/errors.ts";
import { NO_CAPS, token } from "./isolation-groups.ts";

const MINUTE_MS = 60_000;

function startsAt(quotas: TokenQuotas, lineage: TokenLineage, nowMs: number): Problem | null {
  try {
    quotas.admitStart(lineage, nowMs);
  } catch (error) {
    assert.ok(error instanceof Problem);
    return error;
  }
  for (const { starts } of lineage.members) starts.push(nowMs);
  return null;
}

it("no half-open minute has more starts than the limit, and the reported wait is exact", () => {
  const quotas = new TokenQuotas({ ...NO_CAPS, newContainers: 3 });
  const lineage = quotas.lineageOf(token("alice"));
  for (const nowMs of [0, 10, 20]) assert.equal(startsAt(quotas, lineage, nowMs), null);
  const refused = startsAt(quotas, lineage, 1_000)!;
  assert.deepEqual([refused.code, refused.options.retryAfterMs], ["container_busy", 59_000]);
  assert.match(refused.message, /may start 3 containers a minute; the next fits in 59 s/);
  assert.equal(startsAt(quotas, lineage, MINUTE_MS - 1)!.options.retryAfterMs, 1);
  assert.equal(startsAt(quotas, lineage, MINUTE_MS), null);
  assert.equal(startsAt(quotas, lineage, MINUTE_MS)!.options.retryAfterMs, 10);
  assert.equal(startsAt(quotas, lineage, MINUTE_MS + 10), null);
});

it("a token has exactly as many runs in flight as its limit allows", () => {
  const quotas = new TokenQuotas({ ...NO_CAPS, concurrency: 2 });
  const lineage = quotas.lineageOf(token("alice"));
  for (let run = 0; run < 2; run++) {
    quotas.admitRun(lineage);
    for (const member of lineage.members) member.inFlight++;
  }
  assert.throws(() => quotas.admitRun(lineage), { code: "container_busy", message: /has 2 runs in flight/ });
  lineage.head.inFlight--;
  quotas.admitRun(lineage);
});

it("descendants of a token share its limits, even if they are below their own limits", () => {
  const quotas = new TokenQuotas({ ...NO_CAPS, newContainers: 2, concurrency: 2, containers: 2 });
  const [a, b] = [quotas.lineageOf(token("a", "mid", "top")), quotas.lineageOf(token("b", "top"))];
  assert.equal(a.head, b.head);
  for (const lineage of [a, b]) {
    assert.equal(startsAt(quotas, lineage, 0), null);
    for (const member of lineage.members) {
      member.inFlight++;
      member.live++;
    }
  }
  for (const lineage of [a, b]) {
    assert.ok(startsAt(quotas, lineage, 1));
    assert.throws(() => quotas.admitRun(lineage), { code: "container_busy" });
    assert.equal(quotas.full(lineage), a.head);
  }
  const stranger = quotas.lineageOf(token("c", "mid"));
  assert.equal(startsAt(quotas, stranger, 1), null);
  assert.equal(quotas.full(stranger), null);
});

it("a token is forgotten only if it used nothing within a minute, also if a chain still caches its lineage", () => {
  const quotas = new TokenQuotas({ ...NO_CAPS, newContainers: 1 });
  const chain = token("alice");
  const lineage = quotas.lineageOf(chain);
  assert.equal(startsAt(quotas, lineage, 0), null);
  quotas.sweep(MINUTE_MS - 1);
  assert.equal(quotas.lineageOf(token("alice")).head, lineage.head);
  lineage.head.inFlight = 1;
  quotas.sweep(2 * MINUTE_MS);
  assert.equal(quotas.lineageOf(chain).head, lineage.head);
  lineage.head.inFlight = 0;
  quotas.sweep(2 * MINUTE_MS);
  // The cached chain and a new chain lead to the same new lineage.
  assert.notEqual(quotas.lineageOf(chain).head, lineage.head);
  assert.equal(quotas.lineageOf(token("alice")).head, quotas.lineageOf(chain).head);
});
