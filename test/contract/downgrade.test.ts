import assert from "node:assert/strict";
import { cp, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, it } from "node:test";
import { crc32 } from "node:zlib";

import { type Home, makeHome, NO_WALL, startService } from "./service.ts";

const SENTENCE =
  /version 9 of the format.* this release reads version.*: start the release that wrote it, or restore a backup/;

let used: Home;
before(async () => {
  used = await makeHome();
  const service = await startService(NO_WALL, used);
  const token = await service.issue({ containers: ["demo"], code: { sha256: "0".repeat(64) }, secrets: { key: "x" } });
  assert.equal((await service.run("demo", "1", { token })).status, 400);
  assert.equal((await service.run("demo", "1")).status, 200);
  assert.equal((await service.request("PUT", "/api/containers/demo", { json: { limits: { day: 9 } } })).status, 200);
  assert.equal((await service.request("PUT", "/api/tasks/demo/six", { json: { code: "6" } })).status, 201);
  await service.stop();
});
after(() => used[Symbol.asyncDispose]());

/** Makes a change as a newer release would make it, and starts this release. @returns the error of the start */
async function startAfter(change: (data: string) => Promise<unknown>): Promise<string> {
  await using home = await makeHome();
  await cp(used.data, home.data, { recursive: true });
  await change(home.data);
  const service = await startService(NO_WALL, home).catch((error: Error) => error);
  if (service instanceof Error) return service.message;
  await service.stop();
  return "it started";
}

const DAY = `runs/${new Date().toISOString().slice(0, 10)}.sqlite`;
const HISTORY = ["audit.sqlite", "runs/usage.sqlite", DAY];
const DATABASES = ["tokens.sqlite", "secrets.sqlite", "policies.sqlite", "tasks.sqlite", ...HISTORY];

function setVersion(file: string, version: number): void {
  const database = new DatabaseSync(file);
  database.exec(`PRAGMA user_version = ${version}`);
  database.close();
}

function versionOf(file: string): unknown {
  const database = new DatabaseSync(file);
  const found = database.prepare("PRAGMA user_version").get()!["user_version"];
  database.close();
  return found;
}

it("a data folder from before the versions starts, and gets them", async () => {
  await using home = await makeHome();
  await cp(used.data, home.data, { recursive: true });
  for (const name of DATABASES) setVersion(path.join(home.data, name), 0);
  const service = await startService(NO_WALL, home);
  assert.equal((await service.run("demo", "6 * 7")).text, "42");
  await service.issue({ containers: ["demo"] });
  await service.stop();
  assert.deepEqual(
    DATABASES.map((name) => versionOf(path.join(home.data, name))),
    DATABASES.map(() => 1),
  );
});

describe("a data folder of a newer release is refused with a sentence, at the start:", () => {
  for (const name of DATABASES) {
    it(name, async () => {
      const message = await startAfter(async (data) => setVersion(path.join(data, name), 9));
      assert.match(message, SENTENCE);
      assert.ok(message.includes(`/${name}`), message);
    });
  }

  it("the counts", async () => {
    const message = await startAfter(async (data) => {
      const file = path.join(data, "limits/journal-1");
      const journal = await readFile(file);
      // The version of the first record, whose frame gets the correct checksums.
      journal[13] = 9;
      journal.writeUInt32LE(crc32(journal.subarray(12, 12 + journal.readUInt32LE(0))), 4);
      journal.writeUInt32LE(crc32(journal.subarray(0, 8)), 8);
      await writeFile(file, journal);
    });
    assert.match(message, SENTENCE);
  });

  it("the signing keys, which may have members that this release does not have", async () => {
    const message = await startAfter(async (data) => {
      const file = path.join(data, "keys.json");
      const keys = JSON.parse(await readFile(file, "utf8")) as object;
      await writeFile(file, JSON.stringify({ version: 9, sealed: true, ...keys }));
    });
    assert.match(message, SENTENCE);
    assert.doesNotMatch(message, /make a new key/);
  });

  it("the key of secrets", async () => {
    const message = await startAfter((data) => writeFile(path.join(data, "secrets.key"), "version 9\nsealed\n"));
    assert.match(message, SENTENCE);
  });
});
