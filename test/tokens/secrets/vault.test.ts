import assert from "node:assert/strict";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { SecretKey } from "../../../src/tokens/secrets/key.ts";
import { SqliteSecretStore } from "../../../src/tokens/secrets/stores/sqlite.ts";
import { type RunSecrets, Vault } from "../../../src/tokens/secrets/vault.ts";
import { callerOf, problemOf, START_S, temporaryFolder, testTokens } from "../support.ts";

const READABLE = { containers: ["a"], can: ["run", "issue"], depth: 2, secretsReadable: true };

function given(found: RunSecrets | null): unknown {
  return found && JSON.parse(found.json);
}

test("a token does not contain its secrets, and its runs receive them", async (t) => {
  const { issue, vault, store: registry, verifier } = await testTokens(t);
  const secrets = { KEY: "the secret of it", "b.c-d": "" };
  const code = { sha256: "a".repeat(64) };
  const issued = await issue({ containers: ["a"], code, secrets }, "me");
  assert.deepEqual(given(await vault.of(issued.claims)), secrets);
  assert.deepEqual(given(await vault.of((await verifier.verify(issued.token)).claims)), secrets);
  const said = [
    issued,
    Buffer.from(issued.token.split(".")[1]!, "base64url").toString(),
    await registry.issued(issued.jti),
  ];
  assert.doesNotMatch(JSON.stringify(said), /the secret of it|KEY/);
  const other = await issue({ containers: ["a"], code }, "me");
  assert.equal(await vault.of(other.claims), null);
});

test("the version changes with the secrets, and only with them", async (t) => {
  const { issue, vault } = await testTokens(t);
  const { claims } = await issue({ ...READABLE, secrets: { KEY: "1" } }, "me");
  const version = async (): Promise<string | undefined> => (await vault.of(claims))?.version;
  const first = await version();
  assert.equal(await version(), first);
  await vault.set(claims, { KEY: "2" });
  assert.notEqual(await version(), first);
  assert.deepEqual(given(await vault.of(claims)), { KEY: "2" });
  await vault.set(claims, {});
  assert.equal(await vault.of(claims), null);
});

test("runs share the secrets of their token, also runs of 50 tokens below it, and changed secrets are others", async (t) => {
  const { issue, vault } = await testTokens(t);
  const head = await issue({ ...READABLE, secrets: { KEY: "1" } }, "me");
  const found = await vault.of(head.claims);
  assert.equal(await vault.of(head.claims), found);
  for (let at = 0; at < 50; at++) {
    const child = await issue({ containers: ["a"] }, callerOf(head.claims));
    assert.equal(await vault.of(child.claims), found);
  }
  const own = await issue({ containers: ["a"], secrets: { OWN: "2" } }, callerOf(head.claims));
  assert.deepEqual(given(await vault.of(own.claims)), { KEY: "1", OWN: "2" });
  await vault.set(head.claims, { KEY: "3" });
  assert.deepEqual(given(await vault.of(head.claims)), { KEY: "3" });
});

test("a token inherits the secrets of the tokens above, and cannot override them", async (t) => {
  const { issue, vault } = await testTokens(t);
  const head = await issue({ ...READABLE, secrets: { KEY: "head", MORE: "head" } }, "me");
  const child = await issue({ containers: ["a"], secrets: { OWN: "child" } }, callerOf(head.claims));
  assert.equal(child.claims.secretsReadable, true);
  assert.deepEqual(given(await vault.of(child.claims)), { KEY: "head", MORE: "head", OWN: "child" });
  const override = { containers: ["a"], secrets: { MORE: "mine", KEY: "mine", OWN: "" } };
  const problem = await problemOf(() => issue(override, callerOf(head.claims)));
  assert.equal(problem.code, "token_forbidden");
  assert.deepEqual(
    (problem.options.violations as { member: string }[]).map(({ member }) => member),
    ["secrets.MORE", "secrets.KEY"],
  );
  // Secrets set later for the token above override those of the token below.
  await vault.set(head.claims, { OWN: "head" });
  assert.deepEqual(given(await vault.of(child.claims)), { OWN: "head" });
});

test("secrets are deleted with their token, and with a token above it", async (t) => {
  const { issue, vault, revoke } = await testTokens(t);
  const head = await issue({ ...READABLE, secrets: { A: "1" } }, "me");
  const child = await issue({ containers: ["a"], secrets: { B: "2" } }, callerOf(head.claims));
  await revoke(child.jti, "me");
  assert.deepEqual(given(await vault.of(child.claims)), { A: "1" });
  const sibling = await issue({ containers: ["a"], secrets: { B: "2" } }, callerOf(head.claims));
  await revoke(head.jti, "me");
  for (const { claims } of [head, child, sibling]) assert.equal(await vault.of(claims), null);
});

test("secrets of an expired token are deleted by the next write", async (t) => {
  const { issue, vault, clock } = await testTokens(t);
  const first = await issue({ ...READABLE, expiresIn: "60s", secrets: { A: "1" } }, "me");
  clock.nowMs = (START_S + 59) * 1_000;
  await issue({ ...READABLE, secrets: { A: "1" } }, "me");
  assert.notEqual(await vault.of(first.claims), null);
  clock.nowMs = (START_S + 70) * 1_000;
  await issue({ ...READABLE, secrets: { A: "1" } }, "me");
  assert.equal(await vault.of(first.claims), null);
});

test("without their key secrets cannot be read, and the problem names the remedy", async (t) => {
  const { issue, folder } = await testTokens(t);
  const { claims } = await issue({ ...READABLE, secrets: { A: "1" } }, "me");
  const vault = await vaultWithAnotherKey(t, folder);
  const problem = await problemOf(() => vault.of(claims));
  assert.equal(problem.code, "store_unavailable");
  assert.match(`${problem.message} ${problem.options.hint}`, /another key.*--secrets-key/);
});

test("no token is issued if its secrets cannot be stored", async (t) => {
  const { issue, vault } = await testTokens(t);
  vault.close();
  const problem = await problemOf(() => issue({ ...READABLE, secrets: { A: "1" } }, "me"));
  assert.equal(problem.code, "store_unavailable");
});

async function vaultWithAnotherKey(t: TestContext, folder: string): Promise<Vault> {
  const key = await SecretKey.open(join(await temporaryFolder(t), "secrets.key"), { create: true });
  const store = SqliteSecretStore.open(join(folder, "secrets.sqlite"), () => START_S * 1_000);
  t.after(() => store.close());
  return new Vault(store, key, Date.now);
}
