import assert from "node:assert/strict";
import { it } from "node:test";

import { type Family, Tenants } from "../../src/containers/tenants.ts";
import { Problem } from "../../src/errors.ts";
import { NO_CAPS, token } from "./parties.ts";

const MINUTE_MS = 60_000;

function startsAt(tenants: Tenants, family: Family, nowMs: number): Problem | null {
  try {
    tenants.admitStart(family, nowMs);
  } catch (error) {
    assert.ok(error instanceof Problem);
    return error;
  }
  for (const { starts } of family.members) starts.push(nowMs);
  return null;
}

it("no half-open minute holds more starts than the cap, and the wait that is told is exact", () => {
  const tenants = new Tenants({ ...NO_CAPS, newContainers: 3 });
  const family = tenants.familyOf(token("alice"));
  for (const nowMs of [0, 10, 20]) assert.equal(startsAt(tenants, family, nowMs), null);
  const refused = startsAt(tenants, family, 1_000)!;
  assert.deepEqual([refused.code, refused.options.retryAfterMs], ["container_busy", 59_000]);
  assert.match(refused.message, /at most 3 containers come alive a minute; the next fits in 59 s/);
  assert.equal(startsAt(tenants, family, MINUTE_MS - 1)!.options.retryAfterMs, 1);
  assert.equal(startsAt(tenants, family, MINUTE_MS), null);
  assert.equal(startsAt(tenants, family, MINUTE_MS)!.options.retryAfterMs, 10);
  assert.equal(startsAt(tenants, family, MINUTE_MS + 10), null);
});

it("exactly as many runs are in flight as the cap says, and not one more", () => {
  const tenants = new Tenants({ ...NO_CAPS, concurrency: 2 });
  const family = tenants.familyOf(token("alice"));
  for (let run = 0; run < 2; run++) {
    tenants.admitRun(family);
    for (const member of family.members) member.inFlight++;
  }
  assert.throws(() => tenants.admitRun(family), { code: "container_busy", message: /has 2 runs in flight/ });
  family.head.inFlight--;
  tenants.admitRun(family);
});

it("tokens below one share its caps, whatever is still left of their own", () => {
  const tenants = new Tenants({ ...NO_CAPS, newContainers: 2, concurrency: 2, containers: 2 });
  const [a, b] = [tenants.familyOf(token("a", "mid", "top")), tenants.familyOf(token("b", "top"))];
  assert.equal(a.head, b.head);
  for (const family of [a, b]) {
    assert.equal(startsAt(tenants, family, 0), null);
    for (const member of family.members) {
      member.inFlight++;
      member.live++;
    }
  }
  for (const family of [a, b]) {
    assert.ok(startsAt(tenants, family, 1));
    assert.throws(() => tenants.admitRun(family), { code: "container_busy" });
    assert.equal(tenants.full(family), a.head);
  }
  const stranger = tenants.familyOf(token("c", "mid"));
  assert.equal(startsAt(tenants, stranger, 1), null);
  assert.equal(tenants.full(stranger), null);
});

it("a token is forgotten only when it has nothing and had nothing within a minute, also one that is held elsewhere", () => {
  const tenants = new Tenants({ ...NO_CAPS, newContainers: 1 });
  const chain = token("alice");
  const family = tenants.familyOf(chain);
  assert.equal(startsAt(tenants, family, 0), null);
  tenants.sweep(MINUTE_MS - 1);
  assert.equal(tenants.familyOf({ ...chain }).head, family.head);
  family.head.inFlight = 1;
  tenants.sweep(2 * MINUTE_MS);
  assert.equal(tenants.familyOf(chain).head, family.head);
  family.head.inFlight = 0;
  tenants.sweep(2 * MINUTE_MS);
  // Both ways to it lead to the same new one.
  assert.notEqual(tenants.familyOf(chain).head, family.head);
  assert.equal(tenants.familyOf({ ...chain }).head, tenants.familyOf(chain).head);
});
