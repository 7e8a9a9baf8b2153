import assert from "node:assert/strict";
import { createHmac, generateKeyPairSync, type KeyObject, randomUUID } from "node:crypto";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";

import { Problem } from "../../src/errors.ts";
import { openTokens, type Tokens } from "../../src/tokens/authority.ts";
import { ExternalIssuer } from "../../src/tokens/external-issuer.ts";
import { Verifier } from "../../src/tokens/verify.ts";
import { altered, encode, signed as signedBy } from "../contract/jwt.ts";
import { payload, problemOf, signed, START_S, temporaryFolder } from "./support.ts";

const ISSUER = "https://login.example.com/tenant";

interface World extends Tokens {
  readonly clock: { nowMs: number };
  readonly jwks: string;
  /** Of the issuer. */
  readonly key: KeyObject;
  readonly jwk: Record<string, unknown>;
  /** A token of the issuer, with changes in its claims and its header. */
  readonly external: (claims?: object, header?: object, key?: KeyObject) => string;
}

async function world(t: TestContext): Promise<World> {
  const folder = await temporaryFolder(t);
  const { privateKey: key, publicKey } = generateKeyPairSync("ed25519");
  const jwk = { ...publicKey.export({ format: "jwk" }), kid: "theirs" };
  const jwks = join(folder, "jwks.json");
  await writeFile(jwks, JSON.stringify({ keys: [jwk] }));
  const clock = { nowMs: START_S * 1_000 };
  const tokens = await openTokens(folder, undefined, { nowMs: () => clock.nowMs, external: { url: ISSUER, jwks } });
  t.after(() => tokens.close());
  const external: World["external"] = (claims, header, by = key) => {
    return signedBy(
      { alg: "EdDSA", typ: "caisson+jwt", kid: "theirs", ...header },
      payload({ iss: ISSUER, ...claims }),
      by,
    );
  };
  return { ...tokens, clock, jwks, key, jwk, external };
}

test("a token of the issuer gives what its claims say, and is found at once after that", async (t) => {
  const { external, verifier } = await world(t);
  const jti = randomUUID();
  const token = external({ jti, limits: { token: { day: 5 } }, net: false, can: ["run", "limits", "logs"] });
  const claims = await verifier.verify(token);
  assert.partialDeepStrictEqual(claims, { jti, containers: ["demo"], limits: { token: { day: 5 } }, net: false });
  assert.equal(verifier.verify(token), claims);
  assert.equal(verifier.issuerOf(claims), ISSUER);
});

test("tokens of the service are taken beside them, and are its own", async (t) => {
  const { issue, verifier } = await world(t);
  const { token } = await issue({ containers: ["demo"] }, "me");
  assert.equal(verifier.issuerOf(await verifier.verify(token)), "caisson");
});

test("its time and its revocation count as of any other", async (t) => {
  const { external, verifier, revoke, clock } = await world(t);
  const [token, brief, jti] = [external(), external({ exp: START_S + 1 }), randomUUID()];
  const revoked = external({ jti });
  for (const each of [token, brief, revoked]) await verifier.verify(each);
  await revoke(jti, "me");
  assert.match((await problemOf(() => verifier.verify(revoked))).message, /was revoked/);
  clock.nowMs += 6_000;
  assert.match((await problemOf(() => verifier.verify(brief))).message, /expired/);
  assert.ok(await verifier.verify(token));
});

describe("a token that the issuer may not sign is refused, though its signature is right", () => {
  const cases: [string, object, RegExp][] = [
    ["an administrator's", { admin: true, containers: undefined, can: undefined }, /is administrative/],
    [
      "an administrator's without an end",
      { admin: true, containers: undefined, can: undefined, exp: undefined },
      /admin/,
    ],
    ["one that issues", { can: ["run", "issue"] }, /may do more than run, limits, logs/],
    ["one that makes tasks", { can: ["tasks"] }, /may do more/],
    ["one with generations below it", { depth: 1 }, /may do more/],
    ["one below another", { parents: [randomUUID()] }, /descends from another/],
    ["one that stands for a task", { task: "demo/hook", exp: undefined }, /has the claim task/],
    ["one that may have secrets", { secretsReadable: true }, /has the claim secretsReadable/],
    ["one that says that it issues none", { depth: 0 }, /has the claim depth/],
    ["one that says that it is below none", { parents: [] }, /has the claim parents/],
    ["one without an end", { exp: undefined }, /the claims of the token/],
    ["one for others", { aud: "other" }, /the claims of the token/],
    ["one for several", { aud: ["caisson", "other"] }, /the claims of the token/],
    ["one with a claim that may narrow", { scope: "read" }, /the claims of the token/],
    ["one whose jti is no UUID", { jti: "user-1" }, /the claims of the token/],
    ["one of another issuer", { iss: "https://login.example.com/other" }, /a key that this service does not hold/],
    ["one of the issuer in another spelling", { iss: `${ISSUER}/` }, /a key that this service does not hold/],
    ["one of the issuer in capitals", { iss: ISSUER.toUpperCase() }, /a key that this service does not hold/],
    ["one of several issuers", { iss: [ISSUER] }, /a key that this service does not hold/],
    ["one of nobody", { iss: undefined }, /a key that this service does not hold/],
    ["one in the name of the service", { iss: "caisson" }, /a key that this service does not hold/],
    [
      "an administrator's in the name of the service",
      { iss: "caisson", admin: true },
      /a key that this service does not/,
    ],
  ];
  for (const [name, claims, message] of cases) {
    test(name, async (t) => {
      const { external, verifier } = await world(t);
      const problem = await problemOf(() => verifier.verify(external(claims)));
      assert.equal(problem.code, "token_invalid");
      assert.match(problem.message, message);
    });
  }
});

describe("a key is taken for what its own issuer says, and for nothing else", () => {
  test("the service's key signs nothing for the issuer", async (t) => {
    const { keys, verifier } = await world(t);
    const token = await signed(keys, JSON.stringify(payload({ iss: ISSUER })));
    assert.match((await problemOf(() => verifier.verify(token))).message, /a key that this service does not hold/);
  });

  test("the issuer's key signs nothing for the service, also under the name of the service's key", async (t) => {
    const { external, keys, verifier } = await world(t);
    for (const claims of [{ iss: "caisson" }, { iss: "caisson", admin: true, containers: undefined, can: undefined }]) {
      const token = external(claims, { kid: keys.signing.kid });
      assert.match((await problemOf(() => verifier.verify(token))).message, /the signature of the token/);
    }
  });

  test("an issuer that names a key as the service does has not that key", async (t) => {
    const { external, keys, verifier, jwks, jwk, registry, clock } = await world(t);
    const { kid } = keys.signing;
    await writeFile(jwks, JSON.stringify({ keys: [{ ...jwk, kid }] }));
    const issuer = await ExternalIssuer.open(ISSUER, jwks);
    const both = new Verifier(keys, registry, { external: issuer, nowMs: () => clock.nowMs });
    assert.ok(await both.verify(external({}, { kid })));
    const forService = external({ iss: "caisson" }, { kid });
    assert.match((await problemOf(() => both.verify(forService))).message, /the signature of the token/);
    const forIssuer = await signed(keys, JSON.stringify(payload({ iss: ISSUER })));
    assert.match((await problemOf(() => both.verify(forIssuer))).message, /the signature of the token/);
    assert.match((await problemOf(() => verifier.verify(external({}, { kid })))).message, /a key that this service/);
  });

  test("a token that was checked vouches for none with another issuer and the same signature", async (t) => {
    const { external, verifier } = await world(t);
    const token = external();
    await verifier.verify(token);
    const changed = altered(token, { payload: { iss: "caisson" } });
    assert.equal((await problemOf(() => verifier.verify(changed))).code, "token_invalid");
  });
});

describe("what is refused of the service's own tokens is refused of the issuer's", () => {
  const other = generateKeyPairSync("ed25519").privateKey;
  const rsa = generateKeyPairSync("rsa", { modulusLength: 2_048 });
  const attacks: [string, (world: World) => string, RegExp][] = [
    ["no algorithm", ({ external }) => altered(external(), { header: { alg: "none" } }), /the algorithm of the token/],
    ["a MAC by the public key", hmac, /the algorithm of the token/],
    ["another algorithm", ({ external }) => altered(external(), { header: { alg: "ES256" } }), /the algorithm/],
    ["the algorithm's newer name", ({ external }) => external({}, { alg: "Ed25519" }), /the algorithm/],
    ["the type of any JWT", ({ external }) => external({}, { typ: "JWT" }), /the type of the token/],
    ["another key", ({ external }) => external({}, {}, other), /the signature of the token/],
    ["an embedded key", ({ external, jwk }) => external({}, { jwk }, other), /the header of the token/],
    ["jku", ({ external }) => external({}, { jku: ISSUER }, other), /the header of the token/],
    ["crit", ({ external }) => external({}, { crit: ["exp"] }), /the header of the token/],
    ["no kid", ({ external }) => external({}, { kid: undefined }), /the header of the token/],
    ["a kid of the prototype", ({ external }) => external({}, { kid: "__proto__" }), /a key that this service/],
    ["a kid that is a path", ({ external }) => external({}, { kid: "../jwks.json" }), /a key that this service/],
    ["a kid that is an address", ({ external }) => external({}, { kid: `${ISSUER}/jwks` }), /a key that this service/],
    ["an empty kid", ({ external }) => external({}, { kid: "" }), /a key that this service/],
    ["another payload", ({ external }) => altered(external(), { payload: { containers: ["*"] } }), /the signature/],
    ["a key of another kind", ({ external }) => altered(external({}, { alg: "RS256" }), {}), /the algorithm/],
  ];
  for (const [name, forge, message] of attacks) {
    test(name, async (t) => {
      const all = await world(t);
      await writeFile(all.jwks, JSON.stringify({ keys: [all.jwk, rsa.publicKey.export({ format: "jwk" })] }));
      const problem = await problemOf(() => all.verifier.verify(forge(all)));
      assert.equal(problem.code, "token_invalid");
      assert.match(problem.message, message);
    });
  }
});

test("a jti that was issued here is not the issuer's to use, of whatever token and whether it ended", async (t) => {
  const { external, issue, verifier, revoke } = await world(t);
  const tokens = [await issue({ containers: ["demo"] }, "me"), await issue({ admin: true, exp: null }, "me")];
  await revoke(tokens[1]!.jti, "me");
  for (const { jti } of tokens) {
    const problem = await problemOf(() => verifier.verify(external({ jti })));
    assert.equal(problem.code, "token_invalid");
    assert.match(problem.message, /has the jti of one that was issued here/);
  }
});

test("a register that does not answer lets none of them in", async (t) => {
  const { external, keys, jwks, clock } = await world(t);
  const register = {
    isRevoked: () => false,
    issued: () => Promise.reject(new Problem("store_unavailable", "not now")),
  };
  const issuer = await ExternalIssuer.open(ISSUER, jwks);
  const verifier = new Verifier(keys, register, { external: issuer, nowMs: () => clock.nowMs });
  assert.equal((await problemOf(() => verifier.verify(external()))).code, "store_unavailable");
});

test("a key that the issuer takes away, or uses for another, ends what was signed with it, also what was seen", async (t) => {
  const { external, jwk, jwks, keys, registry, clock, issue } = await world(t);
  const issuer = await ExternalIssuer.open(ISSUER, jwks);
  const verifier = new Verifier(keys, registry, { external: issuer, nowMs: () => clock.nowMs });
  const [token, own] = [external(), await issue({ containers: ["demo"] }, "me")];
  const claims = await verifier.verify(token);
  await verifier.verify(own.token);
  await issuer.reload();
  assert.equal(verifier.verify(token), claims, "what has not changed changes nothing");
  const next = generateKeyPairSync("ed25519").publicKey.export({ format: "jwk" });
  for (const kid of ["theirs", "next"]) {
    await writeFile(jwks, JSON.stringify({ keys: [{ ...next, kid }] }));
    await issuer.reload();
    assert.equal(verifier.isSigned(claims), false);
    assert.equal((await problemOf(() => verifier.verify(token))).code, "token_invalid");
  }
  assert.ok(!(verifier.verify(own.token) instanceof Promise), "the service's own stay");
  await writeFile(jwks, JSON.stringify({ keys: [jwk] }));
  await issuer.reload();
  assert.ok(await verifier.verify(token));
});

describe("a file of public keys that cannot be used stops the start, and says why", () => {
  const jwk = { ...generateKeyPairSync("ed25519").publicKey.export({ format: "jwk" }), kid: "a" };
  const secret = { ...generateKeyPairSync("ed25519").privateKey.export({ format: "jwk" }), kid: "b" };
  const rsa = { ...generateKeyPairSync("rsa", { modulusLength: 2_048 }).publicKey.export({ format: "jwk" }), kid: "r" };
  const cases: [string, unknown, RegExp][] = [
    ["no JSON", undefined, /it is not JSON/],
    ["one key", jwk, /it is not a JWK set/],
    ["no key", { keys: [] }, /it has no Ed25519 key/],
    ["keys of another kind", { keys: [rsa] }, /it has no Ed25519 key/],
    ["a key without a name", { keys: [{ ...jwk, kid: undefined }] }, /it has no Ed25519 key/],
    ["a key for encryption", { keys: [{ ...jwk, use: "enc" }] }, /it has no Ed25519 key/],
    ["a key that only signs", { keys: [{ ...jwk, key_ops: ["sign"] }] }, /it has no Ed25519 key/],
    ["a key of another algorithm", { keys: [{ ...jwk, alg: "HS256" }] }, /it has no Ed25519 key/],
    ["another curve", { keys: [{ ...jwk, crv: "X25519" }] }, /it has no Ed25519 key/],
    ["a key that is too short", { keys: [{ ...jwk, x: "AAAA" }] }, /it has no Ed25519 key/],
    ["two of one name", { keys: [jwk, { ...jwk }] }, /key 2 has the kid of another/],
    ["a private key", { keys: [jwk, secret] }, /key 2 has a private part/],
    ["a secret", { keys: [jwk, { kty: "oct", k: "AAAA", kid: "s" }] }, /key 2 has a private part/],
    [
      "a hundred and one",
      { keys: Array.from({ length: 101 }, (_, kid) => ({ ...jwk, kid: `${kid}` })) },
      /at most 100/,
    ],
  ];
  for (const [name, value, message] of cases) {
    test(name, async (t) => {
      const file = join(await temporaryFolder(t), "jwks.json");
      await writeFile(file, value === undefined ? "{" : JSON.stringify(value));
      await assert.rejects(ExternalIssuer.open(ISSUER, file), (error: Error) => {
        assert.match(error.message, message);
        assert.ok(!error.message.includes(secret.d!));
        return true;
      });
    });
  }

  test("a file that is missing, or that others can write", async (t) => {
    const file = join(await temporaryFolder(t), "jwks.json");
    await assert.rejects(
      ExternalIssuer.open(ISSUER, file),
      /there is no file .*; put the public keys of --issuer there/,
    );
    await writeFile(file, JSON.stringify({ keys: [jwk] }));
    for (const mode of [0o622, 0o602, 0o620]) {
      await chmod(file, mode);
      await assert.rejects(ExternalIssuer.open(ISSUER, file), /run: chmod go-w /);
    }
    await chmod(file, 0o644);
    assert.ok(await ExternalIssuer.open(ISSUER, file));
  });

  test("but not one that has keys of other kinds too", async (t) => {
    const file = join(await temporaryFolder(t), "jwks.json");
    await writeFile(file, JSON.stringify({ keys: [rsa, { ...jwk, alg: "Ed25519", use: "sig", key_ops: ["verify"] }] }));
    const { keys } = await ExternalIssuer.open(ISSUER, file);
    assert.deepEqual(
      keys.values().map(({ kid }) => kid),
      ["a"],
    );
  });
});

function hmac({ external, jwk }: World): string {
  const [, body] = external().split(".");
  const text = `${encode({ alg: "HS256", typ: "caisson+jwt", kid: "theirs" })}.${body}`;
  const mac = createHmac("sha256", Buffer.from(String(jwk["x"]), "base64url"))
    .update(text)
    .digest();
  return `${text}.${Buffer.concat([mac, mac]).toString("base64url")}`;
}
