import assert from "node:assert/strict";
import { it } from "node:test";

import { Problem } from "../../src/errors.ts";
import type { MemberFault } from "../../src/members.ts";
import { isEmpty, readPolicy } from "../../src/policies/policy-request.ts";

it("a policy is read with its limits in the order of the windows", () => {
  const read = readPolicy({ limits: { month: 3, second: 1, minute: null } });
  assert.equal(JSON.stringify(read), '{"limits":{"second":1,"month":3}}');
  assert.ok(Object.isFrozen(read.limits));
});

it("a member that is null or absent is not set", () => {
  for (const nothing of [{}, { limits: null }, { limits: {} }, { limits: { day: null } }]) {
    assert.ok(isEmpty(readPolicy(nothing)), JSON.stringify(nothing));
  }
  assert.ok(!isEmpty(readPolicy({ limits: { day: 1 } })));
});

it("all faults are reported at once, each with its member", () => {
  const input: unknown = JSON.parse(
    '{"limits": {"second": 0, "minute": "60", "hour": 1.5, "day": -1, "week": 1e9, "month": 1e400, "days": 1, "__proto__": 1},' +
      '"limit": {}, "egress": "none"}',
  );
  assert.throws(
    () => readPolicy(input),
    (error: unknown) => {
      assert.ok(error instanceof Problem);
      assert.equal(error.code, "request_invalid");
      const members = (error.options.violations as MemberFault[]).map(({ member }) => member).toSorted();
      const limits = ["__proto__", "day", "days", "hour", "minute", "month", "second"];
      assert.deepEqual(members, ["egress", "limit", ...limits.map((name) => `limits.${name}`)]);
      return true;
    },
  );
});

it("a policy must be an object", () => {
  for (const input of [null, [], "minute=60", 60, true, { limits: [] }, { limits: 60 }, { limits: "minute" }]) {
    assert.throws(() => readPolicy(input), Problem, JSON.stringify(input));
  }
});
