import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { openShared, type Shared } from "../../src/stores.ts";
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
}
