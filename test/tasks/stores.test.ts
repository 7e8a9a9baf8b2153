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

  test("the note of a change stays for other nodes as long as a node may be making the change", async (t) => {
    const server = await startRedis();
    t.after(() => server[Symbol.asyncDispose]());
    const store = new RedisTaskStore(await server.link());
    await store.keepNote("one", "a note", 1_000_000);
    assert.equal((await store.killedNotes(1_000_000 + 60_000)).size, 0);
    assert.equal((await store.killedNotes(1_000_000 + 601_000)).size, 1);
  });

  test("a task is read from Redis once for many runs, until it changes, and a few tasks at a time", async (t) => {
    const server = await startRedis();
    t.after(() => server[Symbol.asyncDispose]());
    const store = new RedisTaskStore(await server.link());
    const room = { containerTasks: 100, family: "family", familyTasks: 100, familyBytes: 2 ** 30 };
    const put = async (name: string, version: number, after: string | null): Promise<string> => {
      const record = `${name} ${version} ${"x".repeat(100_000)}`;
      await store.put("a", name, { version, etag: `${name}-${version}`, record, code: null }, after, room);
      return record;
    };
    const sentBytes = async (): Promise<number> => {
      return Number(/total_net_output_bytes:(\d+)/.exec(await server.client.info("stats"))![1]);
    };
    const first = await put("task", 1, null);
    const beforeBytes = await sentBytes();
    const runs = await Promise.all(Array.from({ length: 500 }, () => store.newest("a", "task")));
    assert.ok(runs.every((record) => record === first));
    const bytes = (await sentBytes()) - beforeBytes;
    assert.ok(bytes < 10 * first.length, `Redis sent ${bytes} bytes`);
    const second = await put("task", 2, "task-1");
    assert.equal(await store.newest("a", "task"), second);
    assert.ok(await store.remove("a", "task", "task-2"));
    assert.equal(await store.newest("a", "task"), null);
  });
}
