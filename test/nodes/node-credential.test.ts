import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";

import { SignJWT } from "jose";

import { NodeCredentials, type NodeRequest } from "../../src/nodes/node-credential.ts";
import { callerOf, type Reader, readerOf } from "../../src/nodes/reader.ts";
import { permitsContainer, permitsVerb } from "../../src/tokens/claims.ts";
import { testTokens } from "../tokens/support.ts";

const [HERE, THERE] = ["0123456789ab", "ba9876543210"];
const REQUEST: NodeRequest = { method: "GET", target: "/api/runs?limit=5" };
const READER: Reader = {
  jti: "11111111-1111-4111-8111-111111111111",
  family: "22222222-2222-4222-8222-222222222222",
  ...{ admin: false, containers: ["shop-*"], can: ["logs"], client: "192.0.2.7" },
};

async function twoNodes(t: TestContext) {
  const tokens = await testTokens(t);
  const now = (): number => tokens.clock.nowMs;
  const here = new NodeCredentials(tokens.keys, HERE, now);
  const there = new NodeCredentials(tokens.keys, THERE, now);
  return { tokens, here, there };
}

function part(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

const invalid = { code: "token_invalid" };

describe("the credential of a node", () => {
  it("permits one request to one node, once", async (t) => {
    const { here, there } = await twoNodes(t);
    const credential = await here.sign(READER, THERE, REQUEST);
    await assert.rejects(here.accept(credential, REQUEST), invalid, "for another node");
    await assert.rejects(there.accept(credential, { ...REQUEST, method: "DELETE" }), invalid);
    await assert.rejects(there.accept(credential, { ...REQUEST, target: "/api/runs?limit=6" }), invalid);
    assert.deepEqual(await there.accept(credential, REQUEST), READER);
    await assert.rejects(there.accept(credential, REQUEST), invalid, "twice");
  });

  it("is not accepted after half a minute, nor if it is of the future", async (t) => {
    const { tokens, here, there } = await twoNodes(t);
    const credential = await here.sign(READER, THERE, REQUEST);
    const issuedMs = tokens.clock.nowMs;
    for (const elsewhereMs of [36_000, -6_000]) {
      tokens.clock.nowMs = issuedMs + elsewhereMs;
      await assert.rejects(there.accept(credential, REQUEST), invalid, String(elsewhereMs));
    }
    tokens.clock.nowMs = issuedMs + 29_000;
    assert.deepEqual(await there.accept(credential, REQUEST), READER);
  });

  it("cannot be used twice until the times of all clocks have passed it", async (t) => {
    const { tokens, here, there } = await twoNodes(t);
    const credential = await here.sign(READER, THERE, REQUEST);
    await there.accept(credential, REQUEST);
    for (let passedMs = 0; passedMs <= 60_000; passedMs += 1_000) {
      tokens.clock.nowMs += 1_000;
      await assert.rejects(there.accept(credential, REQUEST), invalid);
      // Another credential makes the node forget credentials that have expired.
      await there.accept(await here.sign(READER, THERE, REQUEST), REQUEST);
    }
  });

  it("is of the keys that the nodes share, and of no others", async (t) => {
    const { there } = await twoNodes(t);
    const strange = await twoNodes(t);
    await assert.rejects(there.accept(await strange.here.sign(READER, THERE, REQUEST), REQUEST), invalid);
  });

  it("is no token, and no token is one", async (t) => {
    const { tokens, here, there } = await twoNodes(t);
    const credential = await here.sign(READER, THERE, REQUEST);
    await assert.rejects(async () => tokens.verifier.verify(credential), invalid);
    const { token } = await tokens.issue({ admin: true }, "me");
    await assert.rejects(there.accept(token, REQUEST), invalid);
  });

  it("cannot be forged with what a stranger has", async (t) => {
    const { tokens, here, there } = await twoNodes(t);
    const { kid, nodeSecret } = tokens.keys.signing;
    const credential = await here.sign(READER, THERE, REQUEST);
    const [head, body, signature] = credential.split(".") as [string, string, string];
    const claims = JSON.parse(Buffer.from(body, "base64url").toString()) as { reader: Reader };
    const asAdmin = part({ ...claims, reader: { ...READER, admin: true } });
    const typ = "caisson-node-request+jwt";
    // The public key is published, and some libraries take it as a symmetric secret.
    const published = Buffer.from(tokens.keys.jwks().keys[0]!.x, "base64url");
    const signedBy = (secret: Uint8Array, header: object): Promise<string> =>
      new SignJWT({ ...claims }).setProtectedHeader({ alg: "HS256", typ, kid, ...header }).sign(secret);
    const forged = [
      `${head}.${asAdmin}.${signature}`,
      `${part({ alg: "none", typ, kid })}.${asAdmin}.`,
      await signedBy(published, {}),
      await signedBy(nodeSecret, { kid: "other" }),
      await signedBy(nodeSecret, { typ: "caisson-node+jwt" }),
      await signedBy(nodeSecret, { alg: "HS512" }),
      ...["", ".", "..", "a.b.c", "x".repeat(100_000), ".".repeat(100_000)],
    ];
    for (const text of forged) await assert.rejects(there.accept(text, REQUEST), invalid, text.slice(0, 200));
    assert.deepEqual(await there.accept(credential, REQUEST), READER);
  });

  it("grants no right beyond those that a read needs", async (t) => {
    const tokens = await testTokens(t);
    const input = { containers: ["shop-*"], can: ["run", "limits", "logs", "tasks", "issue"], depth: 2 };
    const { token } = await tokens.issue(input, "me");
    const by = await tokens.verifier.verify(token);
    const there = callerOf(readerOf(by, "192.0.2.7"));
    assert.deepEqual(there.claims.can, ["logs", "tasks"]);
    assert.deepEqual(
      [
        permitsContainer(there.claims, "shop-1"),
        permitsContainer(there.claims, "other"),
        permitsVerb(there.claims, "run"),
      ],
      [true, false, false],
    );
    assert.deepEqual([there.claims.jti, there.family, there.claims.depth], [by.claims.jti, by.family, 0]);
    const { admin } = callerOf({ ...READER, admin: false, containers: ["*"] }).claims;
    assert.equal(admin, false);
  });
});
