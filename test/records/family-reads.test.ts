import assert from "node:assert/strict";
import { it } from "node:test";

import { FamilyReads } from "../../src/records/family-reads.ts";

it("a family reads one thing at a time, and other families do not wait for it", async () => {
  const reads = new FamilyReads();
  const order: string[] = [];
  const blocked = Promise.withResolvers<void>();
  const first = reads.run("busy", async () => {
    order.push("busy 1");
    await blocked.promise;
  });
  const second = reads.run("busy", () => Promise.resolve(order.push("busy 2")));
  await reads.run("quiet", () => Promise.resolve(order.push("quiet")));
  assert.deepEqual(order, ["busy 1", "quiet"]);
  blocked.resolve();
  await Promise.all([first, second]);
  assert.deepEqual(order, ["busy 1", "quiet", "busy 2"]);
});

it("a read that fails does not stop the reads after it", async () => {
  const reads = new FamilyReads();
  const failed = reads.run("f", () => Promise.reject(new Error("no")));
  const next = reads.run("f", () => Promise.resolve("read"));
  await assert.rejects(failed, /no/);
  assert.equal(await next, "read");
});
