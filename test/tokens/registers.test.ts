import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { openShared, type Shared } from "../../src/stores.ts";
import type { Payload } from "../../src/tokens/payload.ts";
import { SqliteTokenStore } from "../../src/tokens/stores/sqlite.ts";
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
