import assert from "node:assert/strict";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";

import { openTokens } from "../../src/tokens/token-service.ts";
import { problemOf, temporaryFolder } from "./support.ts";

test("a missing data folder is created for its owner only", async (t) => {
  const folder = join(await temporaryFolder(t), "data");
  const tokens = await openTokens(folder);
  t.after(() => tokens.close());
  assert.equal((await stat(folder)).mode & 0o777, 0o700);
});

test("a command issues a token that the running service accepts and lists", async (t) => {
  const folder = await temporaryFolder(t);
  const service = await openTokens(folder);
  t.after(() => service.close());
  const command = await openTokens(folder, undefined, { create: false });
  const { token, jti, claims } = await command.issue({ admin: true, exp: null }, "command line");
  await command.close();
  assert.deepEqual((await service.verifier.verify(token)).claims, claims);
  assert.equal((await service.store.issued(jti))?.issuedBy, "command line");
});

test("a command creates nothing in a folder without a service", async (t) => {
  const folder = await temporaryFolder(t);
  await assert.rejects(openTokens(folder, undefined, { create: false }), /start the service once/);
  assert.deepEqual(await readdir(folder), []);
});

test("nodes that share a key file accept each other's tokens, and none creates a missing file", async (t) => {
  const folder = await temporaryFolder(t);
  const first = await openTokens(join(folder, "a"));
  const second = await openTokens(join(folder, "b"), join(folder, "a", "keys.json"));
  t.after(() => [first, second].forEach((tokens) => tokens.close()));
  const { token, claims } = await first.issue({ containers: ["demo"] }, "me");
  assert.deepEqual((await second.verifier.verify(token)).claims, claims);
  assert.deepEqual(await readdir(join(folder, "b")).then((names) => names.includes("keys.json")), false);
  await assert.rejects(openTokens(join(folder, "c"), join(folder, "none.json")), /there are no signing keys/);
});

test("a revocation ends a token that was just used", async (t) => {
  const tokens = await openTokens(await temporaryFolder(t));
  t.after(() => tokens.close());
  const { token, jti } = await tokens.issue({ containers: ["demo"] }, "me");
  await tokens.verifier.verify(token);
  assert.equal(await tokens.revoke(jti, "me"), true);
  assert.match((await problemOf(() => tokens.verifier.verify(token))).message, /was revoked/);
});
