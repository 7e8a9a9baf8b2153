import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFile, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";

import { Problem } from "../../src/errors.ts";
import { SqlitePolicyStore } from "../../src/policies/stores/sqlite.ts";
import { until } from "../contract/until.ts";
import { policy, policyStoreSuite, remove, set } from "../suites/policy-store.ts";

policyStoreSuite("the embedded store", async () => {
  const folder = await mkdtemp(join(tmpdir(), "caisson-policies-"));
  const file = join(folder, "policies.sqlite");
  let store = SqlitePolicyStore.open(file);
  return {
    store,
    reopen: async () => {
      store.close();
      store = SqlitePolicyStore.open(file);
      return store;
    },
    end: async () => {
      store.close();
      await rm(folder, { recursive: true });
    },
  };
});

async function databaseFile(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "caisson-policies-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return join(folder, "policies.sqlite");
}

test("the files of the store are readable only for their owner", async (t) => {
  const file = await databaseFile(t);
  const store = SqlitePolicyStore.open(file);
  t.after(() => store.close());
  await set(store, "demo", policy({ day: 1 }));
  const folder = join(file, "..");
  for (const name of await readdir(folder)) assert.equal((await stat(join(folder, name))).mode & 0o777, 0o600, name);
});

test("a policy survives soon also the loss of the write-ahead log", async (t) => {
  const file = await databaseFile(t);
  const first = SqlitePolicyStore.open(file);
  t.after(() => first.close());
  await set(first, "demo", policy({ day: 7 }));
  await until(async () => (await readFile(file)).includes("demo"), "the policy is in the file");
  await copyFile(file, `${file}.copy`);
  const second = SqlitePolicyStore.open(`${file}.copy`);
  t.after(() => second.close());
  assert.deepEqual(second.get("demo"), policy({ day: 7 }));
});

test("an acknowledged policy survives a process that is killed immediately after", async (t) => {
  const file = await databaseFile(t);
  const fixture = fileURLToPath(new URL("set-and-wait.ts", import.meta.url));
  const child = spawn(process.execPath, [fixture, file, "demo"], { stdio: ["pipe", "pipe", "inherit"] });
  await Promise.race([once(child.stdout, "data"), once(child, "exit")]);
  const exit = once(child, "exit");
  child.kill("SIGKILL");
  assert.deepEqual(await exit, [null, "SIGKILL"]);
  const store = SqlitePolicyStore.open(file);
  t.after(() => store.close());
  assert.deepEqual(store.get("demo"), policy({ day: 7 }));
});

test("a policy that cannot be written is rejected and changes nothing", async (t) => {
  const file = await databaseFile(t);
  const store = SqlitePolicyStore.open(file);
  await set(store, "demo", policy({ day: 1 }));
  store.close();
  await assert.rejects(set(store, "demo", policy({ day: 2 })), unavailable);
  await assert.rejects(remove(store, "demo"), unavailable);
  assert.deepEqual(store.get("demo"), policy({ day: 1 }));
});

test("a damaged file stops the start with a remedy, and is not changed", async (t) => {
  const file = await databaseFile(t);
  const noDatabase = "this is not a database, and it is too long for the header of a database. ".repeat(99);
  await writeFile(file, noDatabase);
  assert.throws(
    () => SqlitePolicyStore.open(file),
    /policies\.sqlite cannot be used: .*; restore it from a backup, or remove/,
  );
  assert.equal(await readFile(file, "utf8"), noDatabase);
});

test("a policy with unknown members stops the start, because they may restrict the container", async (t) => {
  const file = await databaseFile(t);
  const store = SqlitePolicyStore.open(file);
  await set(store, "demo", policy({ day: 1 }));
  store.close();
  for (const text of [
    '{"limits":{"day":1},"later":true}',
    '{"limits":{"day":0}}',
    '{"labels":{"Team":"x"}}',
    '{"suspended":true}',
    "{",
    "[]",
  ]) {
    const database = new DatabaseSync(file);
    database.prepare("UPDATE policies SET policy = ?").run(text);
    database.close();
    assert.throws(() => SqlitePolicyStore.open(file), /"demo" is not a valid policy; restore it/, text);
  }
});

function unavailable(error: unknown): boolean {
  return error instanceof Problem && error.code === "store_unavailable";
}
