import assert from "node:assert/strict";
import { chmod, readdir, stat, symlink } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";

import { readPrivate, writePrivate } from "../../src/tokens/private-file.ts";
import { temporaryFolder } from "./support.ts";

test("a written file can be read again, only by its owner, and no other file is left", async (t) => {
  const folder = await temporaryFolder(t);
  const file = join(folder, "secret");
  assert.equal(await readPrivate(file), undefined);
  assert.equal(await writePrivate(file, "one\n", { replace: false }), true);
  assert.equal(await readPrivate(file), "one\n");
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  assert.deepEqual(await readdir(folder), ["secret"]);
});

test("an existing file is kept, unless the caller replaces it", async (t) => {
  const folder = await temporaryFolder(t);
  const file = join(folder, "secret");
  await writePrivate(file, "one", { replace: false });
  assert.equal(await writePrivate(file, "two", { replace: false }), false);
  assert.equal(await readPrivate(file), "one");
  assert.equal(await writePrivate(file, "three", { replace: true }), true);
  assert.equal(await readPrivate(file), "three");
  assert.deepEqual(await readdir(folder), ["secret"]);
});

test("exactly one of several simultaneous writers is reported as the writer", async (t) => {
  const file = join(await temporaryFolder(t), "secret");
  const texts = Array.from({ length: 10 }, (_, index) => String(index));
  const written = await Promise.all(texts.map((text) => writePrivate(file, text, { replace: false })));
  assert.equal(written.filter(Boolean).length, 1);
  assert.equal(await readPrivate(file), String(written.indexOf(true)));
});

test("a device, and a file that other users can reach by a link, are not read", async (t) => {
  const folder = await temporaryFolder(t);
  await symlink("/dev/zero", join(folder, "device"));
  await assert.rejects(readPrivate(join(folder, "device")), /is not a file/);
  await writePrivate(join(folder, "open"), "x", { replace: false });
  await chmod(join(folder, "open"), 0o644);
  await symlink("open", join(folder, "link"));
  await assert.rejects(readPrivate(join(folder, "link")), /have access to .* \(mode 644\); run: chmod 600/);
});
