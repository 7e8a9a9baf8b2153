import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { sharedNames } from "../../src/egress/shared-names.ts";

interface Lookup {
  readonly name: string;
  readonly end: (address: string) => void;
  readonly fail: (error: Error) => void;
}

/** Returns shared names over lookups that the test ends, with a clock that the test sets. */
function namesUnderTest() {
  const lookups: Lookup[] = [];
  const clock = { nowMs: 0 };
  const names = sharedNames(
    (name) =>
      new Promise((resolve, reject) => {
        lookups.push({ name, end: (address) => resolve([{ address }]), fail: reject });
      }),
    () => clock.nowMs,
  );
  return { names, lookups, clock };
}

describe("names that all callers share", () => {
  it("are resolved once for all callers that wait, each name separately", async () => {
    const { names, lookups } = namesUnderTest();
    const callers = Array.from({ length: 500 }, () => names("db.internal"));
    const other = names("cache.internal");
    assert.deepEqual(
      lookups.map(({ name }) => name),
      ["db.internal", "cache.internal"],
    );
    lookups[0]!.end("10.0.0.5");
    lookups[1]!.end("10.0.0.6");
    for (const found of await Promise.all(callers)) assert.deepEqual(found, [{ address: "10.0.0.5" }]);
    assert.deepEqual(await other, [{ address: "10.0.0.6" }]);
  });

  it("are resolved again one second after their answer, not sooner and not later", async () => {
    const { names, lookups, clock } = namesUnderTest();
    const first = names("db.internal");
    clock.nowMs = 5_000;
    lookups[0]!.end("10.0.0.5");
    await first;
    clock.nowMs = 5_999;
    assert.deepEqual(await names("db.internal"), [{ address: "10.0.0.5" }]);
    assert.equal(lookups.length, 1);
    clock.nowMs = 6_000;
    const second = names("db.internal");
    lookups[1]!.end("10.0.0.7");
    assert.deepEqual(await second, [{ address: "10.0.0.7" }]);
  });

  it("report an error to all callers for as long as an answer", async () => {
    const { names, lookups, clock } = namesUnderTest();
    const callers = Promise.allSettled([names("db.internal"), names("db.internal")]);
    lookups[0]!.fail(new Error("no server"));
    for (const outcome of await callers) assert.equal(outcome.status, "rejected");
    await assert.rejects(names("db.internal"), /no server/);
    assert.equal(lookups.length, 1);
    clock.nowMs = 1_000;
    const again = names("db.internal");
    lookups[1]!.end("10.0.0.5");
    assert.deepEqual(await again, [{ address: "10.0.0.5" }]);
  });

  it("have a bounded number of callers that wait", async () => {
    const { names, lookups } = namesUnderTest();
    const callers = Array.from({ length: 10_000 }, () => names("db.internal"));
    await assert.rejects(names("db.internal"), { code: "EAI_AGAIN" });
    const other = names("cache.internal");
    for (const { end } of lookups) end("10.0.0.5");
    await Promise.all([...callers, other]);
    assert.deepEqual(await names("db.internal"), [{ address: "10.0.0.5" }]);
    assert.equal(lookups.length, 2);
  });
});
