import assert from "node:assert/strict";
import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import {
  MAX_KEYS,
  newStoredKey,
  readKeyFile,
  type StoredKey,
  writeKeyFile,
} from "../../../src/tokens/keys/key-file.ts";
import { KeyRing } from "../../../src/tokens/keys/key-ring.ts";
import { revokeKey, rotateKeys } from "../../../src/tokens/keys/key-rotation.ts";
import { START_S, temporaryFolder } from "../support.ts";

const START_MS = START_S * 1_000;

/** Creates a file with one key, like a start. */
async function keyFile(t: TestContext): Promise<string> {
  const file = join(await temporaryFolder(t), "keys.json");
  await KeyRing.open(file, { create: true, nowMs: () => START_MS });
  return file;
}

async function kidsOf(file: string): Promise<string[]> {
  return (await readKeyFile(file))!.map(({ kid }) => kid);
}

test("a rotation adds a key that signs before the existing keys, and records its time", async (t) => {
  const file = await keyFile(t);
  const before = await kidsOf(file);
  const kid = await rotateKeys(file, START_MS + 60_000);
  assert.deepEqual(await kidsOf(file), [kid, ...before]);
  assert.deepEqual(
    (await readKeyFile(file))!.map(({ iat }) => iat),
    [START_S + 60, START_S],
  );
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  const ring = await KeyRing.open(file, { create: false, nowMs: () => START_MS + 60_000 });
  assert.equal(ring.signing.kid, kid);
  assert.deepEqual(ring.retired, [{ kid: before[0], sinceMs: START_MS + 60_000 }]);
});

test("a key whose time has not come verifies and is published, and signs from that time on", async (t) => {
  const file = await keyFile(t);
  const [old] = await kidsOf(file);
  const next = await rotateKeys(file, START_MS, START_S + 600);
  let nowMs = START_MS + 599_999;
  const ring = await KeyRing.open(file, { create: false, nowMs: () => nowMs });
  assert.equal(ring.signing.kid, old);
  assert.deepEqual(ring.retired, []);
  assert.deepEqual(
    ring.jwks().keys.map(({ kid }) => kid),
    [next, old],
  );
  nowMs++;
  assert.equal(ring.signing.kid, next);
  assert.deepEqual(ring.retired, [{ kid: old, sinceMs: START_MS + 600_000 }]);
});

test("a revoked key is removed, and the other keys are unchanged", async (t) => {
  const file = await keyFile(t);
  const [first] = await kidsOf(file);
  const second = await rotateKeys(file, START_MS + 1_000);
  assert.equal(await revokeKey(file, first!, START_MS + 2_000), null);
  assert.deepEqual(await kidsOf(file), [second]);
});

test("a new key replaces a revoked signing key, and no earlier key signs again", async (t) => {
  const file = await keyFile(t);
  const [first] = await kidsOf(file);
  const nowMs = START_MS + 2_000;
  const second = await rotateKeys(file, START_MS + 1_000);
  const waiting = await rotateKeys(file, START_MS + 1_000, START_S + 600);
  const made = await revokeKey(file, second, nowMs);
  assert.ok(made !== null && ![first, second, waiting].includes(made));
  assert.deepEqual(await kidsOf(file), [waiting, made, first]);
  const ring = await KeyRing.open(file, { create: false, nowMs: () => nowMs });
  assert.equal(ring.signing.kid, made);
});

test("the only key can be revoked too", async (t) => {
  const file = await keyFile(t);
  const [only] = await kidsOf(file);
  const made = await revokeKey(file, only!, START_MS + 1_000);
  assert.deepEqual(await kidsOf(file), [made]);
});

test("an unknown key is named in the error, and nothing changes", async (t) => {
  const file = await keyFile(t);
  const before = await readFile(file, "utf8");
  await assert.rejects(revokeKey(file, "unknown", START_MS), /contains no key "unknown"/);
  assert.equal(await readFile(file, "utf8"), before);
});

test("a file that is missing or that other users can read is not rotated", async (t) => {
  const file = await keyFile(t);
  await assert.rejects(rotateKeys(`${file}.other`, START_MS), /there are no signing keys/);
  await writeFile(file, "{", { mode: 0o600 });
  await assert.rejects(rotateKeys(file, START_MS), /it is not JSON/);
});

test("a rotation beyond the maximum number of keys is rejected", async (t) => {
  const file = await keyFile(t);
  const keys: StoredKey[] = [];
  while (keys.length < MAX_KEYS) keys.push(await newStoredKey(START_MS));
  await writeKeyFile(file, keys, { replace: true });
  await assert.rejects(rotateKeys(file, START_MS), /contains 100 keys, .* revoke keys/);
  assert.equal((await kidsOf(file)).length, MAX_KEYS);
});

test("no key has a name that a command line would read as an option, as one of 64 would", async () => {
  const made = await Promise.all(Array.from({ length: 1_000 }, () => newStoredKey(START_MS)));
  assert.deepEqual(
    made.filter(({ kid }) => kid.startsWith("-")),
    [],
  );
});
