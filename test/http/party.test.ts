import assert from "node:assert/strict";
import { test } from "node:test";

import { partyOf } from "../../src/http/party.ts";
import type { Claims } from "../../src/tokens/claims.ts";

function claims(jti: string, changes: Partial<Claims> = {}): Claims {
  return {
    jti,
    admin: false,
    containers: ["*"],
    can: ["run"],
    exp: 1,
    nbf: null,
    iat: 0,
    limits: {},
    net: null,
    code: null,
    params: {},
    secretsReadable: false,
    fresh: false,
    depth: 0,
    selfRevoke: true,
    task: null,
    parents: [],
    ...changes,
  };
}

const [A, B] = ["7b0d6f4e-3c55-4b61-9a7f-1f4a1c2d3e4f", "8b0d6f4e-3c55-4b61-9a7f-1f4a1c2d3e4f"];

test("free code is one party whatever token brings it, an administrator's too, and the same object in every run", () => {
  const mine = claims(A);
  assert.equal(partyOf(mine, null), partyOf(mine, null));
  assert.equal(
    partyOf(mine, null).isolationKey,
    partyOf(claims(B, { limits: { token: { day: 1 } } }), null).isolationKey,
  );
  assert.equal(partyOf(mine, null).isolationKey, partyOf(claims(B, { admin: true, can: [] }), null).isolationKey);
});

test("what is told one run and not another makes another party", () => {
  const pin = { sha256: "a".repeat(64) };
  const keys = [
    claims(A),
    claims(A, { net: false }),
    claims(A, { net: ["a.example"] }),
    claims(A, { net: ["a.example", "b.example"] }),
    claims(A, { code: pin }),
    claims(A, { code: pin, net: false }),
    claims(A, { code: { sha256: "b".repeat(64) } }),
    claims(A, { code: { url: "https://a.example/a.js" } }),
    claims(A, { code: { url: "https://a.example/a.js", ...pin } }),
    claims(B, { code: pin }),
  ].map((each) => partyOf(each, null).isolationKey);
  assert.equal(new Set(keys).size, keys.length);
  assert.deepEqual(partyOf(claims(A, { net: ["a.example"] }), null).net, ["a.example"]);
});

test("a fresh token shares with nobody", () => {
  assert.deepEqual([partyOf(claims(A), null).fresh, partyOf(claims(A, { fresh: true }), null).fresh], [false, true]);
});

test("a token with secrets is alone with its own code, and once more when they are others", () => {
  const [mine, pinned] = [claims(A, { secretsReadable: true }), claims(A, { code: { sha256: "a".repeat(64) } })];
  const keys = [mine, claims(B, { secretsReadable: true }), pinned].flatMap((each) => {
    return [null, "one", "other", "one"].map((secrets) => partyOf(each, secrets).isolationKey);
  });
  assert.equal(new Set(keys).size, 8);
  assert.equal(keys[1], keys[3]);
  assert.equal(partyOf(mine, null).isolationKey, partyOf(claims(B), null).isolationKey);
});
