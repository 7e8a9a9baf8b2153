import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";

import { NodeRegistry } from "../../src/nodes/node-registry.ts";
import { type SharedKeys, signAsNode } from "../../src/nodes/signature.ts";
import type { RedisLink } from "../../src/redis/redis-link.ts";
import { until } from "../contract/until.ts";
import { missing, type RedisServer, startRedis } from "../redis/server.ts";
import { testTokens } from "../tokens/support.ts";

const RENEW_MS = 100;
const [A, B, C] = ["aaaaaaaaaaaa", "bbbbbbbbbbbb", "cccccccccccc"];
const SEEN = "caisson:{test}:nodes:seen";
const TEXTS = "caisson:{test}:nodes:texts";

interface World {
  readonly redis: RedisServer;
  readonly link: RedisLink;
  readonly keys: SharedKeys;
  /** Starts a node that announces itself. */
  readonly start: (process: string, url: string | null, keys?: SharedKeys) => Promise<NodeRegistry>;
}

async function world(t: TestContext): Promise<World> {
  const redis = await startRedis();
  t.after(() => redis[Symbol.asyncDispose]());
  const { keys } = await testTokens(t);
  const link = await redis.link();
  const start: World["start"] = async (process, url, own = keys) => {
    const registry = await NodeRegistry.open({ link, keys: own, process, url, mostPeers: 16, renewMs: RENEW_MS });
    t.after(() => registry.close());
    await registry.announce();
    return registry;
  };
  return { redis, link, keys, start };
}

const urlOf = (process: string): string => `http://${process}.example:7070`;

describe("the nodes on a Redis", { skip: await missing("redis-server") }, () => {
  it("find each other, and not themselves", async (t) => {
    const { start } = await world(t);
    const a = await start(A, urlOf(A));
    const b = await start(B, urlOf(B));
    assert.deepEqual(b.peers, [{ process: A, url: urlOf(A), isAlive: true }]);
    await until(() => a.peers.length === 1, "the first node finds the second");
    assert.deepEqual(a.peers, [{ process: B, url: urlOf(B), isAlive: true }]);
  });

  it("announce their names, if they have any", async (t) => {
    const { link, keys, start } = await world(t);
    const named = { link, keys, process: B, url: urlOf(B), name: "b1", mostPeers: 16, renewMs: RENEW_MS };
    const b = await NodeRegistry.open(named);
    t.after(() => b.close());
    await b.announce();
    const a = await start(A, urlOf(A));
    assert.deepEqual(a.peers, [{ process: B, name: "b1", url: urlOf(B), isAlive: true }]);
  });

  it("count a node without a URL, and a node with other keys, and ask neither", async (t) => {
    const { start } = await world(t);
    const { keys: other } = await testTokens(t);
    await start(B, null);
    await start(C, urlOf(C), other);
    const { peers } = await start(A, urlOf(A));
    assert.deepEqual(
      new Map(peers.map(({ process, url }) => [process, url])),
      new Map([
        [B, null],
        [C, null],
      ]),
    );
  });

  it("do not ask a stopped node any more, but count it for a minute, or until a node with its URL starts", async (t) => {
    const { start, redis } = await world(t);
    const b = await start(B, urlOf(B));
    const a = await start(A, urlOf(A));
    await b.close();
    await until(() => a.peers[0]?.isAlive === false, "the stop is noticed");
    assert.equal(a.peers.length, 1);
    const leftMs = 600_000 - (Date.now() - Number(await redis.client.zscore(SEEN, B)));
    assert.ok(leftMs > 50_000 && leftMs <= 60_000, `it is known for ${leftMs} ms more`);
    await start(C, urlOf(B));
    await until(() => a.peers[0]?.process === C, "the new process replaces the old one");
    assert.deepEqual(a.peers, [{ process: C, url: urlOf(B), isAlive: true }]);
  });

  it("notice within a few announcements that a node is dead", async (t) => {
    const { start, redis } = await world(t);
    const a = await start(A, urlOf(A));
    await redis.client.zadd(SEEN, Date.now(), B);
    await until(() => a.peers.length === 1, "the node is found");
    await until(() => a.peers[0]?.isAlive === false, "the node is dead");
  });

  it("forget a node that has been gone for ten minutes", async (t) => {
    const { start, redis } = await world(t);
    await redis.client.zadd(SEEN, Date.now() - 590_000, B, Date.now() - 610_000, C);
    const a = await start(A, urlOf(A));
    assert.deepEqual(a.peers, [{ process: B, url: null, isAlive: false }]);
    assert.equal(await redis.client.zscore(SEEN, C), null);
  });

  it("are still known after Redis has lost its data", async (t) => {
    const { start, redis } = await world(t);
    const a = await start(A, urlOf(A));
    await redis.client.zadd(SEEN, Date.now(), B);
    await until(() => a.peers.length === 1, "the node is found");
    await redis.client.flushall();
    await until(async () => (await redis.client.zcard(SEEN)) === 1, "the node has announced itself again");
    assert.deepEqual(
      a.peers.map(({ process }) => process),
      [B],
    );
  });

  it("ignore what is no announcement, and keep their bounds", async (t) => {
    const { start, redis, link, keys } = await world(t);
    const nowMs = Date.now();
    const ofOther = await signAsNode(keys, "caisson-node+jwt", { process: C, url: urlOf(C) });
    const otherPurpose = await signAsNode(keys, "caisson-node-request+jwt", { process: B, url: urlOf(B) });
    const texts: [string, string][] = [
      ["not a process", "{}"],
      ["f".repeat(1_000_000), "x"],
      [B, ofOther],
      ["000000000001", otherPurpose],
      ["000000000002", "x".repeat(1_000_000)],
      ["000000000003", await signAsNode(keys, "caisson-node+jwt", { process: "000000000003", url: "file:///etc" })],
    ];
    for (const [process, text] of texts) {
      await redis.client.zadd(SEEN, nowMs, process);
      await redis.client.hset(TEXTS, process, text);
    }
    const a = await start(A, urlOf(A));
    assert.deepEqual(a.peers.map(({ process, url }) => `${process} ${url}`).toSorted(), [
      "000000000001 null",
      "000000000002 null",
      "000000000003 null",
      `${B} null`,
    ]);
    for (let at = 0; at < 200; at++) await redis.client.zadd(SEEN, nowMs, at.toString(16).padStart(12, "0"));
    // A read may come before the last of them is there.
    await until(() => a.peers.length + a.further >= 190, "there are more nodes than a read asks, and none is hidden");
    assert.ok(a.peers.length <= 16 && a.further > 0);
    const few = await NodeRegistry.open({ link, keys, process: B, url: null, mostPeers: 3 });
    assert.ok(few.peers.length <= 3 && few.further > 190);
  });

  it("are found also if Redis does not answer at the first attempt", async (t) => {
    const { link, keys, start } = await world(t);
    await start(B, urlOf(B));
    let attempts = 0;
    const hasty: Pick<RedisLink, "key" | "run"> = {
      key: (name) => link.key(name),
      run: (...command) => (++attempts === 1 ? Promise.reject(new Error("too late")) : link.run(...command)),
    };
    const a = await NodeRegistry.open({ link: hasty, keys, process: A, url: null, mostPeers: 16 });
    t.after(() => a.close());
    assert.deepEqual([attempts, a.peers.length], [2, 1]);
  });

  it("keep the nodes that they know while Redis has something else under the key", async (t) => {
    const { redis, link, keys } = await world(t);
    let failures = 0;
    const counted: Pick<RedisLink, "key" | "run"> = {
      key: (name) => link.key(name),
      run: (...command) =>
        link.run(...command).catch((error: unknown) => {
          failures += 1;
          throw error;
        }),
    };
    const a = await NodeRegistry.open({ link: counted, keys, process: A, url: null, mostPeers: 16, renewMs: RENEW_MS });
    t.after(() => a.close());
    await a.announce();
    await redis.client.zadd(SEEN, Date.now(), B);
    await until(() => a.peers.length === 1, "the node is found");
    await redis.client.set(SEEN, "no set");
    await until(() => failures >= 2, "Redis has refused two announcements");
    assert.equal(a.peers.length, 1);
    await redis.client.del(SEEN);
    await until(async () => (await redis.client.zcard(SEEN)) === 1, "the node announces itself again");
  });
});
