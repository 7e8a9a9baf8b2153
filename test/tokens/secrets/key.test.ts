import assert from "node:assert/strict";
import { chmod, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";

import { SecretKey } from "../../../src/tokens/secrets/key.ts";
import { temporaryFolder } from "../support.ts";

test("the first start creates a key of 32 bytes that only its owner can read, and a second open loads it", async (t) => {
  const file = join(await temporaryFolder(t), "data", "secrets.key");
  const first = await SecretKey.open(file, { create: true });
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  assert.equal(Buffer.from(await readFile(file, "utf8"), "base64").length, 32);
  const second = await SecretKey.open(file, { create: false });
  assert.equal(second.open("a", first.seal("a", "text")), "text");
});

test("several processes that start at once have one key", async (t) => {
  const file = join(await temporaryFolder(t), "secrets.key");
  const keys = await Promise.all(Array.from({ length: 8 }, () => SecretKey.open(file, { create: true })));
  const sealed = keys.map((key) => key.seal("a", "text"));
  for (const key of keys) for (const each of sealed) assert.equal(key.open("a", each), "text");
});

test("an encrypted text reveals nothing, differs each time, and decrypts only under its own name", async (t) => {
  const key = await SecretKey.open(join(await temporaryFolder(t), "secrets.key"), { create: true });
  const text = "a secret of some length, 秘密";
  const [one, other] = [key.seal("a", text), key.seal("a", text)];
  assert.notEqual(one, other);
  assert.ok(!Buffer.from(one, "base64url").includes("secret"));
  assert.equal(key.open("a", one), text);
  assert.throws(() => key.open("b", one), /none of the keys decrypts/);
});

test("a change of any byte and a truncation are detected", async (t) => {
  const key = await SecretKey.open(join(await temporaryFolder(t), "secrets.key"), { create: true });
  const bytes = Buffer.from(key.seal("a", "text"), "base64url");
  for (let at = 0; at < bytes.length; at++) {
    const changed = Buffer.from(bytes);
    changed[at]! ^= 1;
    assert.throws(() => key.open("a", changed.toString("base64url")), /none of the keys decrypts/, `byte ${at}`);
    assert.throws(() => key.open("a", bytes.subarray(0, at).toString("base64url")), /none of the keys decrypts/);
  }
});

test("the first of several keys encrypts and all decrypt, so that a key can be replaced", async (t) => {
  const folder = await temporaryFolder(t);
  const [old, fresh, both] = ["old", "new", "both"].map((name) => join(folder, name));
  const [before, after] = [
    await SecretKey.open(old!, { create: true }),
    await SecretKey.open(fresh!, { create: true }),
  ];
  const lines = [await readFile(fresh!, "utf8"), await readFile(old!, "utf8")];
  await writeFile(both!, lines.join("\n"), { mode: 0o600 });
  const key = await SecretKey.open(both!, { create: false });
  assert.equal(key.open("a", before.seal("a", "text")), "text");
  assert.equal(after.open("a", key.seal("a", "text")), "text");
  assert.throws(() => before.open("a", key.seal("a", "text")), /none of the keys decrypts/);
});

describe("an unusable key file stops the start with a remedy, and its content is not shown", () => {
  const KEY = Buffer.alloc(32, 7).toString("base64");
  const texts: [string, string, RegExp][] = [
    ["empty", " \n", /it is empty/],
    ["too short", KEY.slice(4), /line 1 is not 32 bytes/],
    ["too long", `${KEY}AAAA`, /line 1 is not 32 bytes/],
    ["no Base64", "!".repeat(43), /line 1 is not 32 bytes/],
    ["a second line that is none", `${KEY}\nhello`, /line 2 is not 32 bytes/],
    ["more keys than a rotation needs", `${KEY}\n`.repeat(17), /it has 17 lines/],
  ];
  for (const [name, text, said] of texts) {
    test(name, async (t) => {
      const file = join(await temporaryFolder(t), "secrets.key");
      await writeFile(file, text, { mode: 0o600 });
      await assert.rejects(SecretKey.open(file, { create: true }), ({ message }: Error) => {
        assert.match(message, said);
        assert.match(message, /restore the file from a backup/);
        return !message.includes(KEY.slice(4, 40));
      });
    });
  }

  test("missing without a request to create it, accessible to other users, a folder", async (t) => {
    const file = join(await temporaryFolder(t), "secrets.key");
    await assert.rejects(SecretKey.open(file, { create: false }), /there is no key of secrets at .*start the service/);
    await writeFile(file, KEY);
    await chmod(file, 0o644);
    await assert.rejects(SecretKey.open(file, { create: true }), /chmod 600/);
    await mkdir(`${file}.d`);
    await assert.rejects(SecretKey.open(`${file}.d`, { create: true }));
  });
});
