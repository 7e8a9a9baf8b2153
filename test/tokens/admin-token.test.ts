import assert from "node:assert/strict";
import { chmod, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";

import { ensureAdminToken } from "../../src/tokens/admin-token.ts";
import { makeKeys } from "../../src/tokens/keys/key-rotation.ts";
import { openTokens } from "../../src/tokens/token-service.ts";
import { testTokens } from "./support.ts";

test("the first start writes an administrative token without expiry in one line, for the file's owner only", async (t) => {
  const tokens = await testTokens(t);
  const file = join(tokens.folder, "admin.token");
  assert.equal(await ensureAdminToken(file, tokens), true);
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  const text = await readFile(file, "utf8");
  assert.match(text, /^[\w.-]+\n$/);
  const { admin, exp, jti } = (await tokens.verifier.verify(text.trim())).claims;
  assert.deepEqual([admin, exp], [true, null]);
  assert.ok(tokens.store.issued(jti));
});

test("later starts keep the token", async (t) => {
  const tokens = await testTokens(t);
  const file = join(tokens.folder, "admin.token");
  await ensureAdminToken(file, tokens);
  const before = await readFile(file, "utf8");
  assert.equal(await ensureAdminToken(file, tokens), false);
  assert.equal(await readFile(file, "utf8"), before);
});

test("a revoked, damaged or non-administrative token is replaced by a valid one", async (t) => {
  const tokens = await testTokens(t);
  const file = join(tokens.folder, "admin.token");
  await ensureAdminToken(file, tokens);
  const revoked = await readFile(file, "utf8");
  await tokens.revoke((await tokens.verifier.verify(revoked.trim())).claims.jti, "me");
  const narrow = await tokens.issue({ containers: ["demo"] }, "me");
  for (const text of [revoked, "", "nonsense\n", narrow.token]) {
    await writeFile(file, text);
    assert.equal(await ensureAdminToken(file, tokens), true);
    assert.equal((await tokens.verifier.verify((await readFile(file, "utf8")).trim())).claims.admin, true);
  }
});

test("a token signed with removed keys is replaced", async (t) => {
  const tokens = await testTokens(t);
  const file = join(tokens.folder, "admin.token");
  await ensureAdminToken(file, tokens);
  await rm(join(tokens.folder, "keys.json"));
  await makeKeys(join(tokens.folder, "keys.json"), tokens.clock.nowMs);
  const reopened = await openTokens(tokens.folder);
  t.after(() => reopened.close());
  assert.equal(await ensureAdminToken(file, reopened), true);
  assert.equal((await reopened.verifier.verify((await readFile(file, "utf8")).trim())).claims.admin, true);
});

test("a file that other users can read stops the start", async (t) => {
  const tokens = await testTokens(t);
  const file = join(tokens.folder, "admin.token");
  await ensureAdminToken(file, tokens);
  await chmod(file, 0o644);
  await assert.rejects(ensureAdminToken(file, tokens), /chmod 600/);
});
