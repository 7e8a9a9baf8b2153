import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { Feed } from "../../src/redis/feed.ts";
import { openShared, type Shared } from "../../src/stores.ts";
import type { Payload } from "../../src/tokens/payload.ts";
import { RedisTokenStore } from "../../src/tokens/stores/redis.ts";
import { Revocations } from "../../src/tokens/stores/revocations.ts";
import { SqliteTokenStore } from "../../src/tokens/stores/sqlite.ts";
import { until } from "../contract/until.ts";
import { missing, startRedis } from "../redis/server.ts";
import { tokenStoreSuite } from "../suites/token-register.ts";

const NOW_MS = 1_900_000_000_000;

tokenStoreSuite("a file", async () => {
  const folder = await mkdtemp(join(tmpdir(), "caisson-tokens-"));
  const file = join(folder, "tokens.sqlite");
  let store = SqliteTokenStore.open(file, NOW_MS);
  return {
    store,
    reopen: async () => {
      store.close();
      return (store = SqliteTokenStore.open(file, NOW_MS));
    },
    end: async () => {
      store.close();
      await rm(folder, { recursive: true });
    },
  };
});

if (!(await missing("redis-server"))) {
  tokenStoreSuite("Redis", async () => {
    const server = await startRedis();
    const open = async (): Promise<Shared> => openShared({ revocationLag: 2_000 }, await server.link());
    let shared = await open();
    return {
      store: shared.registry,
      reopen: async () => {
        shared.close();
        return (shared = await open()).registry;
      },
      end: async () => {
        shared.close();
        await server[Symbol.asyncDispose]();
      },
    };
  });

  test("the lists of the tokens below a token lose the names of deleted records, without a read", async (t) => {
    const server = await startRedis();
    t.after(() => server[Symbol.asyncDispose]());
    const shared = await openShared({ revocationLag: 2_000 }, await server.link());
    t.after(() => shared.close());
    const [nowMs, head, middle] = [Date.now(), randomUUID(), randomUUID()];
    const record = async (endsInS: number, most?: number): Promise<string> => {
      const [jti, nowS] = [randomUUID(), Math.floor(nowMs / 1_000)];
      const times = { iat: nowS, exp: nowS + endsInS };
      const members = { containers: ["demo"], can: ["run" as const], parents: [middle, head] };
      await shared.registry.record(
        { iss: "caisson", aud: "caisson", jti, ...times, ...members },
        "me",
        nowMs,
        [],
        most,
      );
      return jti;
    };
    const listed = async (): Promise<string[][]> => {
      const keys = (await server.client.keys("*tokens:below:*")).toSorted();
      return Promise.all(keys.map(async (key) => (await server.client.zrange(key, "0", "-1")).toSorted()));
    };
    const first = await record(3_600);
    // Redis deletes the record of this token at once, because the token ended days ago.
    await record(-3 * 86_400);
    const last = await record(3_600);
    const both = [first, last].toSorted();
    assert.deepEqual(await listed(), [both, both, both, both]);
    // Ended, but still on record, until the family has too many.
    const ended = await record(-60, 9);
    assert.ok((await listed()).every((names) => names.includes(ended)));
    const newest = await record(3_600, 1).catch(() => null);
    assert.notEqual(newest, null);
    const kept = [first, last, newest!].toSorted();
    assert.deepEqual(await listed(), [kept, kept, kept, kept]);
    const [key] = await server.client.keys(`*tokens:below:${head}`);
    const ttlMs = await server.client.pttl(key!);
    assert.ok(ttlMs > 86_400_000 && ttlMs < 2 * 86_400_000, `${ttlMs}`);
  });

  test("a node forgets revocations whose time has passed, when Redis has deleted them, and no others", async (t) => {
    const server = await startRedis();
    t.after(() => server[Symbol.asyncDispose]());
    const link = await server.link();
    const revocations = new Revocations(10);
    const feed = new Feed(link, [revocations], 2_000);
    revocations.attach(feed);
    await feed.open();
    t.after(() => feed.close());
    const store = new RedisTokenStore(link, feed, revocations);
    const [nowMs, days] = [Date.now(), 86_400];
    const revoke = async (endsInS: number | null): Promise<string> => {
      const jti = randomUUID();
      await store.revoke(jti, "me", nowMs, endsInS === null ? null : Math.floor(nowMs / 1_000) + endsInS);
      return jti;
    };
    const kept = [await revoke(3_600), await revoke(null)];
    for (let at = 0; at < 30; at++) await revoke(-3 * days);
    // The feed reports changes of others and of this node twice a second, and each may start a sweep.
    await until(async () => {
      await revoke(-3 * days);
      return revocations.size < 20;
    }, "the node has forgotten some");
    for (const jti of kept) assert.equal(store.isRevoked(jti), true);
  });

  test("a list of a few tokens does not read a thousand from Redis", async (t) => {
    const server = await startRedis();
    t.after(() => server[Symbol.asyncDispose]());
    const shared = await openShared({ revocationLag: 2_000 }, await server.link());
    t.after(() => shared.close());
    const text = "x".repeat(2_000);
    for (let count = 0; count < 100; count++) {
      const times = { iat: 1_900_000_000, exp: 4_000_000_000 };
      const members = { containers: ["demo"], can: ["run" as const], params: { text } };
      const payload: Payload = { iss: "caisson", aud: "caisson", jti: randomUUID(), ...times, ...members };
      await shared.registry.record(payload, "me", NOW_MS);
    }
    const sentBytes = async (): Promise<number> => {
      return Number(/total_net_output_bytes:(\d+)/.exec(await server.client.info("stats"))![1]);
    };
    const beforeBytes = await sentBytes();
    assert.equal((await shared.registry.list("", 3)).length, 3);
    const bytes = (await sentBytes()) - beforeBytes;
    assert.ok(bytes < 20 * text.length, `Redis sent ${bytes} bytes`);
  });
}
