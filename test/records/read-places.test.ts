import assert from "node:assert/strict";
import { it } from "node:test";

import { ReadPlaces } from "../../src/records/read-places.ts";

it("a family has its part of the waiting reads, all families have theirs, and a read that ends gives its place back", async () => {
  const places = new ReadPlaces({ familyReads: 3, waitingReads: 5 }, "reads of records");
  const ends = Promise.withResolvers<void>();
  const hold = (family: string): Promise<void> => places.hold(family, () => ends.promise);
  const greedy = Array.from({ length: 50 }, () => hold("greedy"));
  const outcomes = Promise.allSettled(greedy);
  const [modest, other] = [hold("modest"), hold("other")];
  await assert.rejects(hold("late"), { code: "overloaded", status: 503 });
  ends.resolve();
  const refused = (await outcomes).flatMap((each) => (each.status === "rejected" ? [each.reason as unknown] : []));
  assert.equal(refused.length, 47);
  for (const problem of refused) assert.equal((problem as { code: string }).code, "token_limited");
  await Promise.all([modest, other]);
  await assert.rejects(
    places.hold("greedy", () => Promise.reject(new Error("no"))),
    /no/,
  );
  await Promise.all([hold("greedy"), hold("greedy"), hold("greedy"), hold("modest"), hold("modest")]);
});
