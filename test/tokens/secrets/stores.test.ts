import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { RedisSecretStore } from "../../../src/tokens/secrets/stores/redis.ts";
import { SqliteSecretStore } from "../../../src/tokens/secrets/stores/sqlite.ts";
import { missing, startRedis } from "../../redis/server.ts";
import { secretStoreSuite } from "../../suites/secret-store.ts";
import { problemOf, running, temporaryFolder } from "../support.ts";

secretStoreSuite("a file", async () => {
  const folder = await mkdtemp(join(tmpdir(), "caisson-secrets-"));
  const file = join(folder, "secrets.sqlite");
  let store = SqliteSecretStore.open(file, Date.now);
  return {
    store,
    reopen: async () => {
      store.close();
      return (store = SqliteSecretStore.open(file, Date.now));
    },
    end: async () => {
      store.close();
      await rm(folder, { recursive: true });
    },
  };
});

test("only the owner can read the file, and ended secrets are deleted when it is opened", async (t) => {
  const file = join(await temporaryFolder(t), "secrets.sqlite");
  const store = SqliteSecretStore.open(
    file,
    () => 1_000,
    running(() => 1_000),
  );
  const jti = randomUUID();
  await store.put({ jti, parents: [], sealed: "text", forgetAt: 2_000 }, 1_000);
  for (const name of [file, `${file}-wal`]) assert.equal((await stat(name)).mode & 0o777, 0o600);
  store.close();
  const again = SqliteSecretStore.open(
    file,
    () => 3_000,
    running(() => 3_000),
  );
  assert.deepEqual(again.get(jti, []), [null]);
  again.close();
  assert.equal((await problemOf(() => again.get(jti, []))).code, "store_unavailable");
  assert.equal((await problemOf(() => again.remove(jti, [], { below: true }))).code, "store_unavailable");
});

test("a clock that is days ahead deletes nothing", async (t) => {
  const file = join(await temporaryFolder(t), "secrets.sqlite");
  const [uptime, jti] = [running(() => 1_000), randomUUID()];
  SqliteSecretStore.open(file, () => 1_000, uptime).close();
  const ahead = SqliteSecretStore.open(file, () => 500_000_000, uptime);
  await ahead.put({ jti, parents: [], sealed: "text", forgetAt: 2_000 }, 500_000_000);
  await ahead.put({ jti: randomUUID(), parents: [], sealed: "text", forgetAt: null }, 500_000_000);
  ahead.close();
  const right = SqliteSecretStore.open(file, () => 1_500, uptime);
  t.after(() => right.close());
  assert.deepEqual(right.get(jti, []), ["text"]);
});

test("a file that is not a database stops the start with a remedy", async (t) => {
  const file = join(await temporaryFolder(t), "secrets.sqlite");
  await writeFile(file, "no database at all".repeat(100), { mode: 0o600 });
  assert.throws(() => SqliteSecretStore.open(file, Date.now), /restore it from a backup/);
});

if (!(await missing("redis-server"))) {
  secretStoreSuite("Redis", async () => {
    const server = await startRedis();
    const open = async (): Promise<RedisSecretStore> => new RedisSecretStore(await server.link());
    return {
      store: await open(),
      reopen: open,
      end: async () => {
        await server[Symbol.asyncDispose]();
      },
    };
  });

  test("changes in Redis that read all secrets of a family wait for their turn among the large reads, and small reads do not", async () => {
    const server = await startRedis();
    try {
      const link = await server.link();
      const store = new RedisSecretStore(link);
      const [jti, head] = [randomUUID(), randomUUID()];
      await store.put({ jti, parents: [head], sealed: "text", forgetAt: null }, 0);
      const { promise, resolve } = Promise.withResolvers<void>();
      // More than there are at once.
      const others = Array.from({ length: 64 }, () => link.readLarge("another family", () => promise));
      const changes = Promise.all([
        store.put({ jti, parents: [head], sealed: "later", forgetAt: null }, 0),
        store.remove(head, [], { below: true }),
      ]);
      assert.deepEqual(await store.get(jti, [head]), ["text", null]);
      resolve();
      await Promise.all([...others, changes]);
      assert.deepEqual(await store.get(jti, [head]), [null, null]);
    } finally {
      await server[Symbol.asyncDispose]();
    }
  });

  test("the key in Redis expires with the last secrets of a family, unless some have no end", async () => {
    const server = await startRedis();
    try {
      const store = new RedisSecretStore(await server.link());
      const [jti, head] = [randomUUID(), randomUUID()];
      const nowMs = Date.now();
      const ttl = async (): Promise<number> => {
        const [key] = await server.client.keys("*:secrets");
        return key === undefined ? -2 : server.client.pttl(key);
      };
      await store.put({ jti, parents: [head], sealed: "text", forgetAt: nowMs + 60_000 }, nowMs);
      assert.ok((await ttl()) > 50_000 && (await ttl()) <= 60_000);
      await store.put({ jti: head, parents: [], sealed: "text", forgetAt: nowMs + 120_000 }, nowMs);
      assert.ok((await ttl()) > 110_000);
      await store.put({ jti, parents: [head], sealed: "text", forgetAt: null }, nowMs);
      assert.equal(await ttl(), -1);
      await store.remove(head, [], { below: true });
      assert.equal(await ttl(), -2);
    } finally {
      await server[Symbol.asyncDispose]();
    }
  });
}
