import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { describe, test } from "node:test";

import { Problem } from "../../src/errors.ts";
import { revokeKey, rotateKeys } from "../../src/tokens/keys/key-rotation.ts";
import { claimsOf } from "../../src/tokens/payload.ts";
import { Verifier } from "../../src/tokens/verify.ts";
import { payload, problemOf, signed, START_S, testTokens } from "./support.ts";

test("a token is checked once, and then found in the cache", async (t) => {
  const { issue, verifier } = await testTokens(t);
  const { token, claims } = await issue({ containers: ["demo"] }, "me");
  const first = verifier.verify(token);
  assert.ok(first instanceof Promise);
  assert.deepEqual((await first).claims, claims);
  const second = verifier.verify(token);
  assert.ok(!(second instanceof Promise));
  assert.deepEqual(second.claims, claims);
});

test("the caller's permission to check is asked before a check, and not for a cached token", async (t) => {
  const { issue, verifier } = await testTokens(t);
  const { token } = await issue({ containers: ["demo"] }, "me");
  assert.equal((await problemOf(() => verifier.verify(token, refuse))).code, "auth_limited");
  let asked = 0;
  await verifier.verify(token, () => void asked++);
  assert.equal(asked, 1);
  assert.ok(!(verifier.verify(token, refuse) instanceof Promise));
  assert.equal((await problemOf(() => verifier.verify(`${token.slice(0, -4)}AAAA`, refuse))).code, "auth_limited");
});

test("a token in many simultaneous requests is checked once, and a wrong token each time", async (t) => {
  const { issue, verifier } = await testTokens(t);
  const { token, claims } = await issue({ containers: ["demo"] }, "me");
  let asked = 0;
  const ask = (): number => asked++;
  const all = await Promise.all(Array.from({ length: 100 }, async () => verifier.verify(token, ask)));
  assert.equal(asked, 1);
  for (const each of all) assert.deepEqual(each.claims, claims);
  const wrong = token.replace(".", ".e");
  for (let time = 1; time <= 3; time++) {
    const together = await Promise.allSettled([1, 2].map(async () => verifier.verify(wrong, ask)));
    assert.deepEqual(
      together.map(({ status }) => status),
      ["rejected", "rejected"],
    );
    assert.equal(asked, 1 + time);
  }
});

describe("the times of a token apply with a tolerance of 5 s, to new and cached tokens", () => {
  const exp = START_S + 100;
  const nbf = START_S + 50;
  const cases: [number, RegExp | null][] = [
    [(nbf - 5) * 1_000 - 1, /becomes valid in 6 s/],
    [(nbf - 5) * 1_000, null],
    [(exp + 5) * 1_000 - 1, null],
    [(exp + 5) * 1_000, /expired 5 s ago/],
    [(exp + 3_600) * 1_000, /expired 3600 s ago/],
  ];
  for (const cached of [false, true]) {
    for (const [nowMs, message] of cases) {
      test(`${nowMs / 1_000 - START_S} s, ${cached ? "seen before" : "new"}`, async (t) => {
        const { issue, verifier, clock } = await testTokens(t);
        const { token } = await issue({ containers: ["demo"], exp, nbf }, "me");
        if (cached) {
          clock.nowMs = nbf * 1_000;
          await verifier.verify(token);
        }
        clock.nowMs = nowMs;
        if (message === null) {
          assert.equal((await verifier.verify(token)).claims.exp, exp);
        } else {
          const problem = await problemOf(() => verifier.verify(token));
          assert.equal(problem.code, "token_invalid");
          assert.match(problem.message, message);
        }
      });
    }
  }
});

test("a revoked token is rejected, new or cached", async (t) => {
  const { issue, verifier, revoke } = await testTokens(t);
  for (const seen of [true, false]) {
    const { token, jti } = await issue({ containers: ["demo"] }, "me");
    if (seen) await verifier.verify(token);
    await revoke(jti, "me");
    assert.match((await problemOf(() => verifier.verify(token))).message, /the token was revoked/);
  }
});

test("a revocation during the check of the signature applies", async (t) => {
  const { issue, verifier, revoke } = await testTokens(t);
  const { token, jti } = await issue({ containers: ["demo"] }, "me");
  const pending = verifier.verify(token);
  await revoke(jti, "me");
  assert.match((await problemOf(() => pending)).message, /the token was revoked/);
});

test("a token ends with any token above it", async (t) => {
  const { keys, verifier, revoke } = await testTokens(t);
  const parents = [randomUUID(), randomUUID()];
  const token = await signed(keys, JSON.stringify(payload({ parents })));
  assert.deepEqual((await verifier.verify(token)).claims.parents, parents);
  await revoke(parents[1]!, "me");
  assert.match((await problemOf(() => verifier.verify(token))).message, /descends from was revoked/);
});

test("a token ends with the key that signed it, new or cached", async (t) => {
  const { folder, clock, keys, issue, verifier } = await testTokens(t);
  const file = join(folder, "keys.json");
  const [seen, unseen] = await Promise.all([1, 2].map(() => issue({ containers: ["demo"] }, "me")));
  const caller = await verifier.verify(seen!.token);
  const { kid } = keys.signing;
  const lost: boolean[] = [];
  verifier.onKeysRemoved((hasLostKey) => lost.push(hasLostKey(caller)));
  verifier.onKeysRemoved((hasLostKey) => lost.push(hasLostKey(caller)));
  await rotateKeys(file, clock.nowMs);
  await keys.reload();
  assert.ok(!(verifier.verify(seen!.token) instanceof Promise), "a rotation ends no token");
  assert.deepEqual([lost, verifier.stateOf(caller)], [[], "valid"]);
  const newer = await issue({ containers: ["demo"] }, "me");
  await verifier.verify(newer.token);
  await revokeKey(file, kid, clock.nowMs);
  await keys.reload();
  const problems = await Promise.all([
    problemOf(() => verifier.verify(seen!.token)),
    problemOf(() => verifier.verify(unseen!.token)),
  ]);
  for (const problem of problems) assert.match(problem.message, /signed with a key that this service does not hold/);
  assert.deepEqual([lost, verifier.stateOf(caller)], [[true, true], "key-unknown"]);
  assert.ok(!(verifier.verify(newer.token) instanceof Promise), "tokens of other keys stay cached");
});

test("a token ends with the key that signed a token above it, whichever key signed the token itself", async (t) => {
  const { folder, clock, keys, issue, verifier, store: registry } = await testTokens(t);
  const file = join(folder, "keys.json");
  const { kid: old } = keys.signing;
  const issued = await issue({ containers: ["demo"], can: ["run", "issue"], depth: 2 }, "me");
  const head = await verifier.verify(issued.token);
  await rotateKeys(file, clock.nowMs);
  await keys.reload();
  const { kid: next } = keys.signing;
  const child = await issue({ containers: ["demo"], can: ["run", "issue"], depth: 1 }, head);
  const below = await issue({ containers: ["demo"] }, await verifier.verify(child.token));
  const other = await issue({ containers: ["demo"] }, "me");
  assert.deepEqual((await registry.issued(below.jti))!.kids, [next, old]);
  const caller = await verifier.verify(below.token);
  await revokeKey(file, old, clock.nowMs);
  await keys.reload();
  const fresh = new Verifier(keys, registry, { nowMs: () => clock.nowMs });
  for (const { token } of [child, below]) {
    for (const each of [verifier, fresh]) {
      assert.match((await problemOf(() => each.verify(token))).message, /descends from is signed with a key that/);
    }
  }
  assert.equal(verifier.stateOf(caller), "ancestor-key-unknown");
  for (const each of [verifier, fresh]) assert.ok(await each.verify(other.token));
});

test("a key that is removed during a check verifies nothing", async (t) => {
  const { issue, verifier, keys } = await testTokens(t);
  const { token } = await issue({ containers: ["demo"] }, "me");
  const pending = verifier.verify(token);
  keys.held.replace([]);
  assert.match((await problemOf(() => pending)).message, /signed with a key that this service does not hold/);
});

test("the cache is bounded, and the tokens of one family evict their own before those of others", async (t) => {
  const { issue, keys, verifier: any, store: registry, clock } = await testTokens(t);
  const verifier = new Verifier(keys, registry, { nowMs: () => clock.nowMs, cacheBytes: 100_000 });
  const isCached = async (token: string): Promise<boolean> => {
    const found = verifier.verify(token);
    await found;
    return !(found instanceof Promise);
  };
  const { token: other } = await issue({ containers: ["other"] }, "me");
  const { token: head } = await issue({ containers: ["demo"], can: ["run", "issue"], depth: 1 }, "me");
  await verifier.verify(other);
  const above = await any.verify(head);
  const tokens: string[] = [];
  for (let each = 0; each < 20; each++) {
    const { token } = await issue({ containers: ["demo"], params: { each } }, above);
    await verifier.verify(token);
    tokens.push(token);
  }
  assert.ok(await isCached(tokens.at(-1)!));
  assert.ok(await isCached(other));
  assert.ok(!(await isCached(tokens[0]!)));
  assert.ok(await isCached(tokens[0]!));
});

test("a cached token vouches for no other token that shares a part with it", async (t) => {
  const { issue, verifier } = await testTokens(t);
  const [one, other] = [await issue({ containers: ["one"] }, "me"), await issue({ containers: ["other"] }, "me")];
  for (const { token } of [one, other]) await verifier.verify(token);
  const [head, payloadOfOne, signatureOfOne] = one.token.split(".");
  const [, payloadOfOther, signatureOfOther] = other.token.split(".");
  for (const mixed of [
    [head, payloadOfOther, signatureOfOne],
    [head, payloadOfOne, signatureOfOther],
    ["e30", payloadOfOne, signatureOfOne],
    [head, "e30", signatureOfOne],
    ["", "", signatureOfOne],
    [one.token, signatureOfOne],
  ]) {
    const problem = await problemOf(() => verifier.verify(mixed.join(".")));
    assert.equal(problem.code, "token_invalid");
  }
  assert.deepEqual((await verifier.verify(one.token)).claims.containers, ["one"]);
  assert.deepEqual((await verifier.verify(other.token)).claims.containers, ["other"]);
});

test("a rejected token is not cached", async (t) => {
  const { issue, verifier } = await testTokens(t);
  const { token } = await issue({ containers: ["demo"] }, "me");
  const forged = `${token.slice(0, -86)}${"A".repeat(86)}`;
  for (let round = 0; round < 2; round++) await problemOf(() => verifier.verify(forged));
  assert.ok(await verifier.verify(token));
});

test("simultaneous checks of one token return the same claims", async (t) => {
  const { issue, verifier } = await testTokens(t);
  const { token, claims } = await issue({ containers: ["demo"] }, "me");
  for (const found of await Promise.all(Array.from({ length: 20 }, async () => await verifier.verify(token)))) {
    assert.deepEqual(found.claims, claims);
  }
});

test("claims are deeply frozen, because every request with the token gets the same object", async (t) => {
  const { keys, verifier } = await testTokens(t);
  const limits = { container: { minute: 5 } };
  const claims = await verifier.verify(await signed(keys, JSON.stringify(payload({ limits }))));
  for (const part of [
    claims,
    claims.claims.containers,
    claims.claims.can,
    claims.claims.limits,
    claims.claims.limits.container,
    claims.claims.parents,
  ]) {
    assert.ok(Object.isFrozen(part));
  }
});

describe("a claims set that this version does not write is rejected, even with a valid signature", () => {
  const { exp: _, ...endless } = payload();
  const { jti: __, ...nameless } = payload();
  const cases: [string, Record<string, unknown>][] = [
    ["another issuer", payload({ iss: "other" })],
    ["another audience", payload({ aud: "other" })],
    ["several audiences", payload({ aud: ["caisson", "other"] })],
    ["no end without being administrative", endless],
    ["no name", nameless],
    ["a name of another form", payload({ jti: "me" })],
    ["an end that no number holds", payload({ exp: 1e308 })],
    ["an end past all calendars", payload({ exp: 2 ** 53 })],
    ["an end that 32 bits would take for one", payload({ exp: 2 ** 64 + START_S })],
    ["an end in milliseconds", payload({ exp: START_S * 1_000 })],
    ["an end before all time", payload({ exp: -1 })],
    ["half a second", payload({ exp: START_S + 60.5 })],
    ["no number at all", payload({ exp: null })],
    ["a start that no number holds", payload({ nbf: -(2 ** 63) })],
    ["an end as text", payload({ exp: String(START_S + 60) })],
    ["admin and containers", payload({ admin: true })],
    ["admin that is not true", payload({ admin: "true" })],
    ["a claim that may narrow", payload({ onlyOnSundays: true })],
    ["a depth of an administrator", payload({ admin: true, containers: undefined, can: undefined, depth: 1 })],
    ["an administrator below others", payload({ admin: true, containers: undefined, can: undefined, parents: [] })],
    ["more generations than there are", payload({ depth: 5 })],
    ["selfRevoke that is true", payload({ selfRevoke: true })],
    ["a pin to what is no URL", payload({ code: { url: "code.js" } })],
    [
      "a pin together with a verb that it must not have",
      payload({ can: ["run", "issue"], code: { sha256: "a".repeat(64) } }),
    ],
    ["fresh that is not true", payload({ fresh: false })],
    ["a net that opens", payload({ net: true })],
    ["a limit of nothing", payload({ limits: { token: { day: 0 } } })],
    ["too many parents", payload({ parents: Array.from({ length: 5 }, () => randomUUID()) })],
    ["a pattern with a star inside", payload({ containers: ["a*b"] })],
  ];
  for (const [name, claims] of cases) {
    test(name, async (t) => {
      const { keys, verifier } = await testTokens(t);
      assert.throws(() => claimsOf(claims));
      const token = await signed(keys, JSON.stringify(claims));
      const problem = await problemOf(() => verifier.verify(token));
      assert.equal(problem.code, "token_invalid");
      assert.match(problem.message, /the claims of the token are not those of this version/);
    });
  }
});

function refuse(): never {
  throw new Problem("auth_limited", "no more checks");
}
