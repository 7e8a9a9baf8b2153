import assert from "node:assert/strict";
import { it } from "node:test";

import { Problem } from "../../src/errors.ts";
import type { MemberFault } from "../../src/members.ts";
import { readLimits, readPatch } from "../../src/policies/policy-request.ts";
import { NO_POLICY } from "../../src/policies/store.ts";
import { policy } from "../suites/policy-store.ts";

it("limits are read in the order of the windows", () => {
  const read = readLimits({ limits: { month: 3, second: 1, minute: null } });
  assert.equal(JSON.stringify(read), '{"second":1,"month":3}');
  assert.ok(Object.isFrozen(read));
});

it("a member that is null or absent is not set", () => {
  for (const nothing of [{}, { limits: null }, { limits: {} }, { limits: { day: null } }]) {
    assert.deepEqual(readLimits(nothing), {}, JSON.stringify(nothing));
  }
  assert.deepEqual(readLimits({ limits: { day: 1 } }), { day: 1 });
});

it("all faults are reported at once, each with its member", () => {
  const input: unknown = JSON.parse(
    '{"limits": {"second": 0, "minute": "60", "hour": 1.5, "day": -1, "week": 1e9, "month": 1e400, "days": 1, "__proto__": 1},' +
      '"limit": {}, "egress": "none"}',
  );
  assert.throws(
    () => readLimits(input),
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
    assert.throws(() => readLimits(input), Problem, JSON.stringify(input));
  }
});

it("a patch changes the members that it names, and null removes them (RFC 7396)", () => {
  const before = { ...policy({ minute: 5, day: 9 }), labels: { team: "a", tier: "gold" }, description: "old" };
  const cases: [object, object][] = [
    [{}, {}],
    [{ limits: { minute: null, hour: 2 } }, { limits: { hour: 2, day: 9 } }],
    [{ limits: null }, { limits: {} }],
    [{ labels: { team: null, env: "prod" } }, { labels: { tier: "gold", env: "prod" } }],
    [
      { labels: null, description: "new" },
      { labels: {}, description: "new" },
    ],
    [{ description: null }, { description: null }],
    [{ labels: {} }, {}],
  ];
  for (const [patch, changed] of cases) {
    assert.deepEqual(readPatch(patch)(before), { ...before, ...changed }, JSON.stringify(patch));
  }
});

it("a patch with faults is rejected with all of them", () => {
  const input = { limits: { day: 0 }, labels: { Team: "x", ok: 1 }, description: 5, suspended: null, wall: 1 };
  assert.throws(
    () => readPatch(input),
    (error: unknown) => {
      assert.ok(error instanceof Problem);
      const faults = new Map((error.options.violations as MemberFault[]).map(({ member, detail }) => [member, detail]));
      assert.deepEqual([...faults.keys()].toSorted(), [
        "description",
        "labels.Team",
        "labels.ok",
        "limits.day",
        "suspended",
        "wall",
      ]);
      assert.match(faults.get("suspended")!, /POST to \/suspend/);
      return true;
    },
  );
});

it("a patch that leaves more than 16 labels is rejected", () => {
  const labels = Object.fromEntries(Array.from({ length: 16 }, (_, at) => [`l${at}`, ""]));
  const before = readPatch({ labels })(NO_POLICY);
  assert.equal(Object.keys(before.labels).length, 16);
  assert.throws(() => readPatch({ labels: { more: "" } })(before), /labels would be 17 in all/);
  assert.equal(Object.keys(readPatch({ labels: { more: "", l0: null } })(before).labels).length, 16);
});
