import assert from "node:assert/strict";
import { test } from "node:test";

import { tokenMembers } from "../../src/cli/tokens/members.ts";

test("the flags of token issue become members of the request, and absent flags are omitted", async () => {
  assert.deepEqual(await tokenMembers({ container: ["acme"] }), { containers: ["acme"] });
  assert.deepEqual(await tokenMembers({ admin: true }), { admin: true, exp: null });
  assert.deepEqual(await tokenMembers({ admin: true, expires: "1h" }), { admin: true, expiresIn: "1h" });
  assert.deepEqual(
    await tokenMembers({
      container: ["acme", "b-*"],
      can: ["run,limits", "issue"],
      limit: ["container.minute=60", "token.day=1000", "token.hour=5"],
      expires: "12h",
      timeout: "5s",
      nbf: "1900000000",
      secret: ["KEY=a=b", "EMPTY="],
      param: ["k=v"],
      codeUrl: "https://a.example/x.js",
      codeSha256: "ab",
      net: ["a.example"],
      fresh: true,
      depth: "1",
      selfRevoke: false,
      label: ["team=billing", "note=a=b"],
      description: "for invoices",
    }),
    {
      containers: ["acme", "b-*"],
      can: ["run", "limits", "issue"],
      expiresIn: "12h",
      timeout: "5s",
      nbf: 1_900_000_000,
      limits: { container: { minute: 60 }, token: { day: 1_000, hour: 5 } },
      secrets: { KEY: "a=b", EMPTY: "" },
      params: { k: "v" },
      code: { url: "https://a.example/x.js", sha256: "ab" },
      net: ["a.example"],
      fresh: true,
      depth: 1,
      selfRevoke: false,
      labels: { team: "billing", note: "a=b" },
      description: "for invoices",
    },
  );
  assert.equal((await tokenMembers({ container: ["a"], offline: true }))["net"], false);
});

test("all invalid flags are reported at once, without secrets", async () => {
  const flags = {
    limit: ["minute=60", "token.minute=x", "container.year=1"],
    secret: ["s3cr3t-without-key", "A=s3cr3t", "A=s3cr3t"],
    param: ["=x"],
    depth: "one",
    net: ["a.example"],
    offline: true,
  } as const;
  await assert.rejects(
    async () => tokenMembers(flags),
    ({ message }: Error) => {
      assert.deepEqual(
        message.split("\n").map((line) => line.split(" ", 1)[0]),
        ["a", "--limit", "--limit", "--limit", "--secret", "--secret", "--param", "--depth", "--offline"],
      );
      return !message.includes("s3cr3t");
    },
  );
});

test("faults that the service would report are reported together with invalid flags", async () => {
  const flags = {
    container: ["a*b"],
    can: ["run,fly"],
    expires: "soon",
    timeout: "1ms",
    limit: ["minute=60"],
    depth: "x",
    secret: ["A=1"],
  };
  await assert.rejects(
    async () => tokenMembers(flags),
    ({ message }: Error) => {
      const members = message.split("\n").map((line) => line.split(" ", 1)[0]!);
      assert.deepEqual(members.toSorted(), [
        "--depth",
        "--expires",
        "--limit",
        "can.1",
        "containers.0",
        "secrets",
        "timeout",
      ]);
      return true;
    },
  );
});
