import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { Problem } from "../../../src/errors.ts";
import type { Decision, LimitStore } from "../../../src/limits/store.ts";
import { FailOpenLimitStore } from "../../../src/limits/stores/fail-open.ts";
import { RedisLimitStore } from "../../../src/limits/stores/redis.ts";
import { COMMAND_MS } from "../../../src/redis/redis-link.ts";
import { pause, until } from "../../contract/until.ts";
import { missing, type RedisServer, startRedis } from "../../redis/server.ts";
import { charge } from "../../suites/limit-store.ts";
import { readOne } from "../read-one.ts";

const KEY = charge("c:busy", { month: 100_000 }, "container");

async function used(store: LimitStore): Promise<number> {
  return (await readOne(store, KEY)).used.at(-1)!;
}

/** Returns the number of answered decisions. All others must fail with `store_unavailable`. */
async function answered(requests: readonly Promise<Decision>[]): Promise<number> {
  let decisions = 0;
  for (const outcome of await Promise.allSettled(requests)) {
    if (outcome.status === "fulfilled") decisions++;
    else assert.equal((outcome.reason as Problem).code, "store_unavailable");
  }
  return decisions;
}

function many(store: LimitStore, runs: number): Promise<Decision>[] {
  return Array.from({ length: runs }, () => store.admit([KEY]));
}

/** Resumes Redis after the deadline of a command, with a margin for the node's estimate of the time of Redis. */
async function resume(server: RedisServer): Promise<void> {
  await pause(4 * COMMAND_MS);
  process.kill(server.pid, "SIGCONT");
}

async function halt(server: RedisServer): Promise<void> {
  process.kill(server.pid, "SIGSTOP");
  await until(() => server.isStopped(), "the server stands still");
}

describe("a lost Redis", { skip: await missing("redis-server") }, () => {
  it("counts no request from the time when it was stopped, and works again without help", async () => {
    await using server = await startRedis();
    const link = await server.hastyLink();
    const store = new RedisLimitStore(link);
    assert.equal(await answered(many(store, 10)), 10);
    await halt(server);
    // These requests are in the buffers of Redis when it resumes.
    assert.equal(await answered(many(store, 50)), 0);
    assert.ok(link.lost);
    // These requests are not even sent.
    assert.equal(await answered(many(store, 1_000)), 0);
    await assert.rejects(store.reset(KEY.key), Problem);
    await resume(server);
    await until(() => link.lost === null, "the link is back");
    assert.equal(await used(store), 10);
    const calls = /cmdstat_evalsha:calls=(\d+)/.exec(await server.client.info("commandstats"))!;
    assert.ok(Number(calls[1]) < 100, `${calls[1]} decisions reached it`);
    assert.equal(await answered(many(store, 10)), 10);
    assert.equal(await used(store), 20);
  });

  it("resets nothing on requests from the time when it was stopped", async () => {
    await using server = await startRedis();
    const link = await server.hastyLink();
    const store = new RedisLimitStore(link);
    await Promise.all(many(store, 3));
    await halt(server);
    await assert.rejects(store.reset(KEY.key), Problem);
    await resume(server);
    await until(() => link.lost === null, "the link is back");
    assert.equal(await used(store), 3);
  });

  it("keeps every answered run when it is killed under load and restarted, and counts none twice", async () => {
    await using server = await startRedis();
    const link = await server.hastyLink();
    const store = new RedisLimitStore(link);
    let decisions = 0;
    let unanswered = 0;
    const over = new AbortController();
    const caller = async (): Promise<void> => {
      while (!over.signal.aborted) {
        const got = await answered([store.admit([KEY])]);
        decisions += got;
        unanswered += 1 - got;
        await new Promise(setImmediate);
      }
    };
    const callers = Array.from({ length: 16 }, caller);
    for (let round = 0; round < 3; round++) {
      const before = decisions;
      await until(() => decisions > before + 200, "runs are admitted");
      await server.kill();
      await until(() => link.lost !== null, "the loss is seen");
      await server.restart();
      await until(() => link.lost === null, "the link is back");
    }
    over.abort();
    await Promise.all(callers);
    const counted = await used(store);
    // A decision that was in flight at the kill may or may not have been made.
    assert.ok(counted >= decisions && counted <= decisions + 3 * 16, `${counted} counted of ${decisions} answered`);
    assert.ok(unanswered > 0);
  });

  it("receives one request for all decisions of a turn, with a bounded number of decisions", async () => {
    await using server = await startRedis();
    const store = new RedisLimitStore(await server.hastyLink());
    const calls = async (): Promise<number> =>
      Number(/cmdstat_evalsha:calls=(\d+)/.exec(await server.client.info("commandstats"))?.[1] ?? 0);
    await Promise.all(many(store, 1));
    const before = await calls();
    assert.equal(await answered(many(store, 100)), 100);
    assert.equal((await calls()) - before, 1);
    assert.equal(await answered(many(store, 1_000)), 1_000);
    assert.equal((await calls()) - before, 9);
    assert.equal(await used(store), 1_101);
  });

  it("fails a decision on a log that it cannot read, and no other decision of the same request", async () => {
    await using server = await startRedis();
    const link = await server.hastyLink();
    const store = new RedisLimitStore(link);
    await server.client.hset(link.hashedKey("t:other"), "some", "thing");
    await server.client.set(link.hashedKey("t:short"), "too short");
    const [other, short] = [charge("t:other", { day: 5 }), charge("t:short", { day: 5 })];
    const requests = [
      store.admit([KEY]),
      store.admit([KEY, other]),
      store.admit([KEY]),
      store.admit([short, KEY]),
      store.admit([KEY]),
    ];
    const outcomes = await Promise.allSettled(requests);
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ["fulfilled", "rejected", "fulfilled", "rejected", "fulfilled"],
    );
    for (const outcome of outcomes) {
      if (outcome.status === "rejected") assert.equal((outcome.reason as Problem).code, "store_unavailable");
    }
    assert.match(String((outcomes[1] as PromiseRejectedResult).reason.cause), /WRONGTYPE/);
    await assert.rejects(readOne(store, other), (error: Problem) => error.code === "store_unavailable");
    assert.equal(await used(store), 3);
    assert.equal(link.lost, null);
  });

  it("receives a script again after it was flushed", async () => {
    await using server = await startRedis();
    const store = new RedisLimitStore(await server.hastyLink());
    await Promise.all(many(store, 1));
    await server.client.script("FLUSH");
    await Promise.all(many(store, 5));
    assert.equal(await used(store), 6);
  });

  it("rejects requests of a node with a wrong estimate of the time only once", async () => {
    await using server = await startRedis();
    const link = await server.hastyLink();
    const store = new RedisLimitStore(link);
    await Promise.all(many(store, 1));
    const now = performance.now.bind(performance);
    // To this node the clock of Redis seems to have been set forward by a minute.
    performance.now = () => now() - 60_000;
    try {
      assert.equal(await answered(many(store, 1)), 0);
      assert.equal(await answered(many(store, 3)), 3);
    } finally {
      performance.now = now;
    }
    assert.equal(await used(store), 4);
  });

  it("is not considered lost when a busy node had no time to read its replies", async () => {
    await using server = await startRedis();
    const link = await server.hastyLink();
    const store = new RedisLimitStore(link);
    await Promise.all(many(store, 1));
    const requests = many(store, 30);
    // The requests are sent before the node is blocked, and answered while it is blocked.
    await new Promise(setImmediate);
    const untilMs = performance.now() + 2 * COMMAND_MS;
    while (performance.now() < untilMs);
    assert.equal(await answered(requests), 30);
    assert.equal(link.lost, null);
  });

  it("does not stop the runs of a fail-open store, which counts again as soon as Redis is back", async () => {
    await using server = await startRedis();
    const link = await server.hastyLink();
    const store = new FailOpenLimitStore(new RedisLimitStore(link), link);
    await server.kill();
    for (const decision of await Promise.all(many(store, 20))) {
      assert.deepEqual([decision.admitted, decision.usage], [true, []]);
    }
    await assert.rejects(readOne(store, KEY), Problem);
    await server.restart();
    await until(() => link.lost === null, "the link is back");
    const [decision] = await Promise.all(many(store, 1));
    assert.equal(decision!.usage[0]!.remaining.at(-1), 99_999);
  });

  it("refuses runs that Redis refuses to count, also as a fail-open store, because callers can fill its memory", async () => {
    await using server = await startRedis();
    const link = await server.hastyLink();
    const store = new FailOpenLimitStore(new RedisLimitStore(link), link);
    await server.client.config("SET", "maxmemory", "1");
    await assert.rejects(store.admit([KEY]), (error: Problem) => error.code === "store_unavailable");
    assert.match(store.failure!.message, /OOM/);
    await server.client.config("SET", "maxmemory", "0");
    assert.equal(await answered(many(store, 1)), 1);
    assert.equal(store.failure, null);
  });

  it("refuses runs while it cannot be written, and admits them again afterwards", async () => {
    await using server = await startRedis();
    const store = new RedisLimitStore(await server.hastyLink());
    await server.client.config("SET", "maxmemory", "1");
    await assert.rejects(store.admit([KEY]), (error: Problem) => error.code === "store_unavailable");
    await server.client.config("SET", "maxmemory", "0");
    assert.equal(await answered(many(store, 1)), 1);
    assert.equal(await used(store), 1);
  });
});
