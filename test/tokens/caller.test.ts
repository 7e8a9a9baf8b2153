import assert from "node:assert/strict";
import { test } from "node:test";

import type { Caller } from "../../src/tokens/caller.ts";
import type { Claims } from "../../src/tokens/claims.ts";
import { callerOf, START_S, testTokens } from "./support.ts";

function caller(jti: string, changes: Partial<Claims> = {}): Caller {
  return callerOf({
    jti,
    admin: false,
    containers: ["*"],
    can: ["run"],
    exp: 1,
    nbf: null,
    iat: 0,
    limits: {},
    timeout: null,
    net: null,
    packages: null,
    code: null,
    params: {},
    secretsReadable: false,
    fresh: false,
    depth: 0,
    selfRevoke: true,
    labels: {},
    description: null,
    task: null,
    parents: [],
    ...changes,
  });
}

const [A, B] = ["7b0d6f4e-3c55-4b61-9a7f-1f4a1c2d3e4f", "8b0d6f4e-3c55-4b61-9a7f-1f4a1c2d3e4f"];

test("unpinned code is one group for all tokens, including an administrator's, and the same object in every run", () => {
  const mine = caller(A);
  assert.equal(mine.isolationGroup(null), mine.isolationGroup(null));
  assert.equal(
    mine.isolationGroup(null).isolationKey,
    caller(B, { limits: { token: { day: 1 } } }).isolationGroup(null).isolationKey,
  );
  assert.equal(
    mine.isolationGroup(null).isolationKey,
    caller(B, { admin: true, can: [] }).isolationGroup(null).isolationKey,
  );
});

test("a timeout moves a run to no other group, because the service ends each run by itself", () => {
  const keys = [null, "10ms", "5s"].map((timeout) => caller(A, { timeout }).isolationGroup(null).isolationKey);
  assert.equal(new Set(keys).size, 1);
});

test("the timeout of a caller is in milliseconds, and unlimited without a claim", () => {
  const timeouts = [null, "10ms", "5s", "24d"].map((timeout) => caller(A, { timeout }).timeoutMs);
  assert.deepEqual(timeouts, [Infinity, 10, 5_000, 24 * 86_400_000]);
});

test("runs with different net, packages or secrets are in different groups", () => {
  const pin = { sha256: "a".repeat(64) };
  const keys = [
    caller(A),
    caller(A, { net: false }),
    caller(A, { packages: false }),
    caller(A, { packages: ["zod"] }),
    caller(A, { packages: ["zod@4"] }),
    caller(A, { net: false, packages: ["zod"] }),
    caller(A, { net: ["a.example"] }),
    caller(A, { net: ["a.example", "b.example"] }),
    caller(A, { code: pin }),
    caller(A, { code: pin, net: false }),
    caller(A, { code: { sha256: "b".repeat(64) } }),
    caller(A, { code: { url: "https://a.example/a.js" } }),
    caller(A, { code: { url: "https://a.example/a.js", ...pin } }),
    caller(B, { code: pin }),
  ].map((each) => each.isolationGroup(null).isolationKey);
  assert.equal(new Set(keys).size, keys.length);
  assert.deepEqual(caller(A, { net: ["a.example"] }).isolationGroup(null).net, ["a.example"]);
});

test("a fresh token shares its guest with no other token", () => {
  assert.deepEqual(
    [caller(A).isolationGroup(null).fresh, caller(A, { fresh: true }).isolationGroup(null).fresh],
    [false, true],
  );
});

test("a token with secrets shares its guest with no other token, and gets a new group when the secrets change", () => {
  const [mine, pinned] = [caller(A, { secretsReadable: true }), caller(A, { code: { sha256: "a".repeat(64) } })];
  const keys = [mine, caller(B, { secretsReadable: true }), pinned].flatMap((each) => {
    return [null, "one", "other", "one"].map((secrets) => each.isolationGroup(secrets).isolationKey);
  });
  assert.equal(new Set(keys).size, 8);
  assert.equal(keys[1], keys[3]);
  assert.equal(mine.isolationGroup(null).isolationKey, caller(B).isolationGroup(null).isolationKey);
});

test("a verified token is one frozen caller with one limit subject, until its key is removed", async (t) => {
  const { issue, verifier } = await testTokens(t);
  const head = await issue({ containers: ["a"], can: ["run", "issue"], depth: 1, limits: { token: { day: 7 } } }, "me");
  const child = await issue({ containers: ["a"] }, await verifier.verify(head.token));
  const found = await verifier.verify(child.token);
  assert.ok(Object.isFrozen(found) && Object.isFrozen(found.kids) && Object.isFrozen(found.memory));
  assert.equal(verifier.verify(child.token), found);
  assert.deepEqual([found.family, found.quotaFamily, found.memory.name], [head.jti, head.jti, head.jti]);
  const [subject, ...others] = await Promise.all([1, 2, 3].map(async () => await found.limitSubject()));
  for (const other of [...others, found.limitSubject()]) assert.equal(other, subject);
  assert.deepEqual(subject!.ancestors, [{ jti: head.jti, limits: { day: 7 } }]);
});

test("an administrator's token counts against no quota, and each token that it issues starts a family", async (t) => {
  const { issue, verifier } = await testTokens(t);
  const admin = await verifier.verify((await issue({ admin: true, exp: null }, "me")).token);
  assert.deepEqual([admin.family, admin.quotaFamily], [admin.claims.jti, null]);
  const below = await verifier.verify((await issue({ containers: ["a"], exp: START_S + 9 }, admin)).token);
  assert.deepEqual([below.family, below.quotaFamily], [below.claims.jti, below.claims.jti]);
});
