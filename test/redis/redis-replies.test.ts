import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { Problem } from "../../src/errors.ts";
import type { LimitStore } from "../../src/limits/store.ts";
import { FailOpenLimitStore } from "../../src/limits/stores/fail-open.ts";
import { RedisLimitStore } from "../../src/limits/stores/redis.ts";
import { COMMAND_MS, type RedisLink, redisScript } from "../../src/redis/redis-link.ts";
import { RedisBusy, Replies } from "../../src/redis/redis-replies.ts";
import { until } from "../contract/until.ts";
import { readOne } from "../limits/read-one.ts";
import { charge } from "../suites/limit-store.ts";
import { missing, type RedisServer, startRedis } from "./server.ts";

const FIVE = charge("t:five", { month: 5 });
/** Keeps Redis busy for some milliseconds. */
const SLOW = redisScript("local sum = 0 for at = 1, tonumber(ARGV[1]) do sum = sum + at % 7 end return sum");

function block(ms: number): void {
  const untilMs = performance.now() + ms;
  while (performance.now() < untilMs);
}

async function halt(server: RedisServer): Promise<void> {
  process.kill(server.pid, "SIGSTOP");
  await until(() => server.isStopped(), "the server stands still");
}

/** Returns the number of steps for which the slow script takes a fifth of the time limit on this machine. */
async function slowSteps(server: RedisServer): Promise<number> {
  const count = 2_000_000;
  await server.client.eval(SLOW.text, 0, 1);
  const sinceMs = performance.now();
  await server.client.eval(SLOW.text, 0, count);
  return Math.ceil((count * COMMAND_MS) / 5 / (performance.now() - sinceMs));
}

/**
 * Sends commands that Redis answers one after the other, all together after more than the time limit. Redis reads 16 KB of
 * commands at a time, and sends the replies of these together, so each command is longer.
 */
function makeLine(link: RedisLink, steps: number): Promise<unknown>[] {
  return Array.from({ length: 8 }, () => link.run(SLOW, [], [steps, "x".repeat(20_000)]));
}

/** Requests runs of a token that has five. @returns the runs that were admitted, and those of them that were not counted. */
async function request(store: LimitStore, runs: number): Promise<{ admitted: number; uncounted: number }> {
  const outcomes = await Promise.allSettled(Array.from({ length: runs }, () => store.admit([FIVE])));
  let [admitted, uncounted] = [0, 0];
  for (const outcome of outcomes) {
    if (outcome.status === "rejected") assert.equal((outcome.reason as Problem).code, "store_unavailable");
    else if (outcome.value.admitted) {
      admitted += 1;
      if (outcome.value.usage.length === 0) uncounted += 1;
    }
  }
  return { admitted, uncounted };
}

const never = (): Promise<never> => new Promise(() => {});

describe("a Redis that answers", { skip: await missing("redis-server") }, () => {
  it("is not lost while a long line of commands delays its answers", async () => {
    await using server = await startRedis();
    const link = await server.hastyLink();
    await Promise.all(makeLine(link, 1));
    const outcomes = await Promise.allSettled(makeLine(link, await slowSteps(server)));
    assert.equal(outcomes[6]!.status, "fulfilled");
    assert.equal(link.lost, null);
  });

  it("is not lost because the node had no time to read", async () => {
    await using server = await startRedis();
    const link = await server.hastyLink();
    await link.call("PING");
    await halt(server);
    const answer = link.call("PING");
    block(1.5 * COMMAND_MS);
    // Redis could not answer before, and answers soon after.
    process.kill(server.pid, "SIGCONT");
    assert.equal(await answer, "PONG");
    assert.equal(link.lost, null);
  });

  it("admits no uncounted run of a caller that makes a long line, if runs are allowed while Redis is lost", async () => {
    await using server = await startRedis();
    const link = await server.hastyLink();
    const store = new FailOpenLimitStore(new RedisLimitStore(link), link);
    await Promise.all(makeLine(link, 1));
    const steps = await slowSteps(server);
    for (let round = 0; round < 2; round++) {
      const line = Promise.allSettled(makeLine(link, steps));
      const { uncounted } = await request(store, 50);
      assert.equal(uncounted, 0);
      await line;
    }
    assert.equal(link.lost, null);
    assert.ok((await request(store, 50)).admitted <= 5);
    assert.equal((await readOne(store, FIVE)).used.at(-1), 5);
  });
});

describe("a Redis that stands still", { skip: await missing("redis-server") }, () => {
  it("is lost after its time limit, and runs are admitted if the operator allows it", async () => {
    await using server = await startRedis();
    const link = await server.hastyLink();
    const store = new FailOpenLimitStore(new RedisLimitStore(link), link);
    assert.deepEqual(await request(store, 1), { admitted: 1, uncounted: 0 });
    await halt(server);
    assert.deepEqual(await request(store, 20), { admitted: 20, uncounted: 20 });
    assert.match(link.lost!.message, /^it did not answer in 250 ms$/);
    process.kill(server.pid, "SIGCONT");
    await until(() => link.lost === null, "the link is back");
    assert.equal((await request(store, 20)).uncounted, 0);
  });

  it("is lost soon also if callers keep the node busy", async () => {
    await using server = await startRedis();
    const link = await server.hastyLink();
    await link.call("PING");
    await halt(server);
    const answer = assert.rejects(link.call("PING"), Problem);
    let turns = 0;
    for (; link.lost === null && turns < 100; turns++) {
      block(COMMAND_MS / 2);
      await new Promise(setImmediate);
    }
    // The maximum wait of 750 ms has six turns.
    assert.ok(turns <= 9, `${turns} turns`);
    await answer;
    process.kill(server.pid, "SIGCONT");
  });
});

describe("a Redis that is killed", { skip: await missing("redis-server") }, () => {
  it("is lost also for runs that it has received, if the node had no time to read that the connection is closed", async () => {
    await using server = await startRedis();
    const link = await server.hastyLink();
    const store = new FailOpenLimitStore(new RedisLimitStore(link), link);
    await Promise.all(makeLine(link, 1));
    assert.deepEqual(await request(store, 1), { admitted: 1, uncounted: 0 });
    const answered = link.call("PING");
    // Redis reads 16 KB at a time, so it answers the first command before it begins the second one, which does not end.
    const unanswered = assert.rejects(link.run(SLOW, [], [1e12, "x".repeat(40_000)]), Problem);
    const requested = request(store, 20);
    assert.equal(await answered, "PONG");
    process.kill(server.pid, "SIGKILL");
    block(4 * COMMAND_MS);
    assert.deepEqual(await requested, { admitted: 20, uncounted: 20 });
    await unanswered;
    assert.ok(link.lost);
  });
});

describe("the wait for replies of Redis", () => {
  const LIMIT_MS = 20;

  it("ends as a loss if no reply arrives, also for a command that was sent before the last reply", async () => {
    const replies = new Replies(LIMIT_MS, () => false);
    const command = replies.wait(never());
    await replies.wait(Promise.resolve());
    block(4 * LIMIT_MS);
    await assert.rejects(
      command,
      (error: Error) => !(error instanceof RedisBusy) && /did not answer/.test(error.message),
    );
  });

  it("ends as a loss if the connection of another command ends", async () => {
    const replies = new Replies(LIMIT_MS, () => false);
    const command = replies.wait(never());
    block(4 * LIMIT_MS);
    await assert.rejects(replies.wait(Promise.reject(new Error("the connection ended"))), /the connection ended/);
    await assert.rejects(command, (error: Error) => !(error instanceof RedisBusy));
  });

  it("ends as busy for a command that is overdue when Redis answers or refuses another one", async () => {
    for (const other of [() => Promise.resolve(), () => Promise.reject(new Error("refused"))]) {
      const replies = new Replies(LIMIT_MS, () => true);
      const command = replies.wait(never());
      block(4 * LIMIT_MS);
      await replies.wait(other()).catch(() => {});
      await assert.rejects(command, RedisBusy);
    }
  });
});
