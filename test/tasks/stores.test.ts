import assert from "node:assert/strict";
import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { RedisTaskStore } from "../../src/tasks/stores/redis.ts";
import { SqliteTaskStore } from "../../src/tasks/stores/sqlite.ts";
import { missing, startRedis } from "../redis/server.ts";
import { taskStoreSuite } from "../suites/task-store.ts";
import { problemOf, temporaryFolder } from "../tokens/support.ts";

taskStoreSuite("a file", async () => {
  const folder = await mkdtemp(join(tmpdir(), "caisson-tasks-"));
  const file = join(folder, "tasks.sqlite");
  let store = SqliteTaskStore.open(file);
  return {
    store,
    reopen: async () => {
      store.close();
      return (store = SqliteTaskStore.open(file));
    },
    end: async () => {
      store.close();
      await rm(folder, { recursive: true });
    },
  };
});

test("only the owner can read the file; a failed operation is reported, and a damaged file stops the start", async (t) => {
  const file = join(await temporaryFolder(t), "tasks.sqlite");
  const store = SqliteTaskStore.open(file);
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  store.close();
  for (const act of [() => store.newest("a", "b"), () => store.list("a", "", 1), () => store.remove("a", "b", "c")]) {
    assert.equal((await problemOf(act)).code, "store_unavailable");
  }
  await writeFile(`${file}.damaged`, "no database at all".repeat(100), { mode: 0o600 });
  assert.throws(() => SqliteTaskStore.open(`${file}.damaged`), /restore it from a backup/);
});

if (!(await missing("redis-server"))) {
  taskStoreSuite("Redis", async () => {
    const server = await startRedis();
    const open = async (): Promise<RedisTaskStore> => new RedisTaskStore(await server.link());
    return {
      store: await open(),
      reopen: open,
      end: async () => {
        await server[Symbol.asyncDispose]();
      },
    };
  });
}
