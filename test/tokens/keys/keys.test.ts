import assert from "node:assert/strict";
import { chmod, mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";

import { calculateJwkThumbprint } from "jose";

import { KeyRing } from "../../../src/tokens/keys/key-ring.ts";
import { temporaryFolder } from "../support.ts";

interface StoredKey {
  kty: string;
  crv: string;
  x: string;
  d: string;
  kid: string;
}

async function keysOf(file: string): Promise<StoredKey[]> {
  const { keys }: { keys: StoredKey[] } = JSON.parse(await readFile(file, "utf8"));
  return keys;
}

test("the first start creates an Ed25519 key that only its owner can read, in a private folder", async (t) => {
  const folder = join(await temporaryFolder(t), "a", "data");
  const file = join(folder, "keys.json");
  const ring = await KeyRing.open(file, { create: true });
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  assert.equal((await stat(folder)).mode & 0o777, 0o700);
  assert.deepEqual(await readdir(folder), ["keys.json"]);
  const [key] = await keysOf(file);
  assert.equal(key!.kid, await calculateJwkThumbprint({ kty: key!.kty, crv: key!.crv, x: key!.x }));
  assert.equal(ring.signing.kid, key!.kid);
});

test("a reload loads the keys of the file, and changes nothing if the file cannot be used", async (t) => {
  const file = join(await temporaryFolder(t), "keys.json");
  const ring = await KeyRing.open(file, { create: true });
  const published = ring.jwks();
  for (const damage of [() => writeFile(file, "{"), () => chmod(file, 0o644), () => rm(file)]) {
    await damage();
    await assert.rejects(ring.reload());
    assert.deepEqual(ring.jwks(), published);
  }
  await KeyRing.open(file, { create: true });
  await ring.reload();
  const [key] = await keysOf(file);
  assert.deepEqual([ring.signing.kid, ring.jwks().keys.length], [key!.kid, 1]);
  assert.notDeepEqual(ring.jwks(), published);
});

test("the published keys have no private part", async (t) => {
  const file = join(await temporaryFolder(t), "keys.json");
  const ring = await KeyRing.open(file, { create: true });
  const [key] = await keysOf(file);
  assert.deepEqual(ring.jwks(), {
    keys: [{ kty: "OKP", crv: "Ed25519", x: key!.x, kid: key!.kid, alg: "EdDSA", use: "sig" }],
  });
});

test("a second open loads the same key", async (t) => {
  const file = join(await temporaryFolder(t), "keys.json");
  const first = await KeyRing.open(file, { create: true });
  const second = await KeyRing.open(file, { create: false });
  assert.deepEqual(second.jwks(), first.jwks());
});

test("several processes that start at once have one key", async (t) => {
  const file = join(await temporaryFolder(t), "data", "keys.json");
  const rings = await Promise.all(Array.from({ length: 8 }, () => KeyRing.open(file, { create: true })));
  assert.equal(new Set(rings.map(({ signing }) => signing.kid)).size, 1);
});

test("the first of several keys signs, and all verify", async (t) => {
  const folder = await temporaryFolder(t);
  const stored: StoredKey[] = [];
  for (const name of ["new.json", "old.json"]) {
    await KeyRing.open(join(folder, name), { create: true });
    stored.push(...(await keysOf(join(folder, name))));
  }
  const file = join(folder, "keys.json");
  await writeFile(file, JSON.stringify({ keys: stored }), { mode: 0o600 });
  const ring = await KeyRing.open(file, { create: false });
  assert.equal(ring.signing.kid, stored[0]!.kid);
  for (const { kid } of stored) assert.ok(ring.held.get(kid));
  assert.equal(ring.held.get("another"), undefined);
});

describe("an unusable key file stops the start with the cause, and no part of its content is shown", () => {
  const cases: [string, (key: StoredKey) => string, RegExp][] = [
    ["empty", () => "", /it is empty/],
    ["blank", () => " \n", /it is empty/],
    ["cut off", (key) => JSON.stringify({ keys: [key] }).slice(0, -9), /it is not JSON/],
    ["no set", (key) => JSON.stringify(key), /not a set of private Ed25519 keys/],
    ["no key", () => `{"keys":[]}`, /not a set of private Ed25519 keys/],
    ["public only", (key) => JSON.stringify({ keys: [{ ...key, d: undefined }] }), /see keys\.0\.d/],
    ["RSA", (key) => JSON.stringify({ keys: [{ ...key, kty: "RSA" }] }), /see keys\.0\.kty/],
    ["another curve", (key) => JSON.stringify({ keys: [{ ...key, crv: "X25519" }] }), /see keys\.0\.crv/],
    ["symmetric", (key) => JSON.stringify({ keys: [{ ...key, alg: "HS256" }] }), /see keys\.0\.alg/],
    ["another name", (key) => JSON.stringify({ keys: [{ ...key, kid: "A".repeat(43) }] }), /kid of key 1/],
    ["parts of two", (key) => JSON.stringify({ keys: [{ ...key, d: "A".repeat(43) }] }), /key 1 do not match/],
    ["twice the same", (key) => JSON.stringify({ keys: [key, key] }), /key 2 occurs twice/],
  ];
  for (const [name, damage, message] of cases) {
    test(name, async (t) => {
      const file = join(await temporaryFolder(t), "keys.json");
      await KeyRing.open(file, { create: true });
      const [key] = await keysOf(file);
      await writeFile(file, damage(key!));
      await assert.rejects(KeyRing.open(file, { create: true }), (error: Error) => {
        assert.match(error.message, message);
        assert.match(
          error.message,
          /restore the file from a backup, or move it away and make a new key with: caisson keys make/,
        );
        assert.ok(!error.message.includes(key!.d) && !error.message.includes(key!.x));
        return true;
      });
    });
  }
});

test("a key file that its group or other users can access stops the start and names the command that fixes it", async (t) => {
  const file = join(await temporaryFolder(t), "keys.json");
  await KeyRing.open(file, { create: true });
  for (const mode of [0o640, 0o604, 0o620, 0o601]) {
    await chmod(file, mode);
    await assert.rejects(KeyRing.open(file, { create: true }), /run: chmod 600 /);
  }
});

test("a missing key file is not created without a request", async (t) => {
  const folder = await temporaryFolder(t);
  await assert.rejects(KeyRing.open(join(folder, "keys.json"), { create: false }), /start the service once/);
  assert.deepEqual(await readdir(folder), []);
});

test("a folder instead of the key file is rejected", async (t) => {
  const file = join(await temporaryFolder(t), "keys.json");
  await mkdir(file);
  await assert.rejects(KeyRing.open(file, { create: true }), /is not a file/);
});
