import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { EgressDenied } from "../../src/egress/denied.ts";
import { egressPolicy } from "../../src/egress/policy.ts";
import { restrictPolicy, requireNamed } from "../../src/egress/restrict-policy.ts";

const PUBLIC_ADDRESS = "93.184.216.34";
const lookups: string[] = [];
const policy = egressPolicy({
  mode: "public",
  allow: [{ host: "db.internal", port: 5432 }],
  ownAddresses: () => [],
  resolver: async (name) => {
    lookups.push(name);
    return [{ address: name.endsWith(".internal") ? "10.0.0.5" : PUBLIC_ADDRESS }];
  },
});

function denied(reason: string): (error: unknown) => boolean {
  return (error) => error instanceof EgressDenied && error.reason === reason;
}

describe("a policy under a token's claim", () => {
  it("is the operator's policy if the claim is absent", () => {
    assert.equal(restrictPolicy(policy, null), policy);
  });

  it("allows nothing if the claim is false, not even the operator's --egress-allow, and queries no DNS", async () => {
    lookups.length = 0;
    const none = restrictPolicy(policy, false);
    for (const [host, port] of [
      ["example.com", 443],
      ["8.8.8.8", 80],
      ["db.internal", 5432],
    ] as const) {
      await assert.rejects(none.resolve(host, port), denied("claim"));
    }
    assert.deepEqual(lookups, []);
  });

  it("allows the destinations of the claim in any spelling, and only the port of the claim if it has one", async () => {
    const some = restrictPolicy(policy, [
      "8.8.8.8",
      "[2606:4700::1111]:443",
      "api.example.com",
      "web.example.com:8080",
    ]);
    for (const [host, port] of [
      ["API.example.com.", 443],
      ["api.example.com", 80],
      ["web.example.com", 8080],
      ["0x08.0x080808", 80],
      ["[2606:4700:0::1111]", 443],
    ] as const) {
      assert.equal((await some.resolve(host, port)).length, 1, host);
    }
    for (const [host, port] of [
      ["example.com", 443],
      ["evil-api.example.com", 443],
      ["x.api.example.com", 443],
      ["web.example.com", 443],
      ["2606:4700::1111", 80],
      [PUBLIC_ADDRESS, 443],
    ] as const) {
      await assert.rejects(some.resolve(host, port), denied("claim"), `${host} ${port}`);
    }
  });

  it("allows nothing that the operator's policy refuses", async () => {
    const some = restrictPolicy(policy, ["127.0.0.1", "db.internal", "other.internal:80", "api.example.com:22"]);
    assert.deepEqual(await some.resolve("db.internal", 5432), [{ address: "10.0.0.5", family: 4 }]);
    await assert.rejects(some.resolve("db.internal", 80), denied("address"));
    await assert.rejects(some.resolve("other.internal", 80), denied("address"));
    await assert.rejects(some.resolve("127.0.0.1", 80), denied("address"));
    await assert.rejects(some.resolve("api.example.com", 22), denied("port"));
  });

  it("checks only the claim for a reply that is already fetched", () => {
    requireNamed(null, "10.0.0.5", 22);
    requireNamed(["api.example.com"], "API.example.com.", 443);
    requireNamed(["127.0.0.1:80"], "127.1", 80);
    assert.throws(() => requireNamed(["api.example.com:80"], "api.example.com", 443), denied("claim"));
    assert.throws(() => requireNamed(false, "api.example.com", 443), denied("claim"));
  });

  it("refuses an invalid host before it compares", async () => {
    for (const host of ["", "a b", "user@api.example.com", "fe80::1%eth0"]) {
      await assert.rejects(restrictPolicy(policy, [host]).resolve(host, 80), denied("host"));
    }
  });
});
