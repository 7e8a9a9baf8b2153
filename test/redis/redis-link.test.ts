import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, it } from "node:test";
import { inspect } from "node:util";

import { RedisLimitStore } from "../../src/limits/stores/redis.ts";
import { durabilityWarnings } from "../../src/redis/durability.ts";
import { RedisLink } from "../../src/redis/redis-link.ts";
import { until } from "../contract/until.ts";
import { freePort } from "../ports.ts";
import { admitted, charge } from "../suites/limit-store.ts";
import { missing, placeOf, startRedis } from "./server.ts";

const CHARGES = [charge("c:acme", { minute: 3 }, "container"), charge("t:one", { day: 9 })] as const;

/** Opens a link, admits charges, and closes it. @returns how many charges were admitted. */
async function count(url: string, authority: string | null = null): Promise<number> {
  const link = await RedisLink.open(placeOf(url), { realm: "test", authority });
  try {
    return await admitted(new RedisLimitStore(link), 5, ...CHARGES);
  } finally {
    link.close();
  }
}

describe("the link to Redis", { skip: await missing("redis-server") }, () => {
  it("authenticates with a user and a password, and reports a wrong password without repeating it", async () => {
    await using server = await startRedis(["--save", "", "--user", "alice", "on", ">s3cret/?", "~caisson:*", "+@all"]);
    const url = (password: string): string => `redis://alice:${encodeURIComponent(password)}@127.0.0.1:${server.port}`;
    assert.equal(await count(url("s3cret/?")), 3);
    await assert.rejects(count(url("wr0ng")), (error: Error) => {
      assert.match(error.message, /^the Redis at 127\.0\.0\.1:\d+ cannot be used: WRONGPASS/);
      return !inspect(error, { depth: 9 }).includes("wr0ng");
    });
  });

  it("reports a port on which nothing listens", async () => {
    await assert.rejects(count(`redis://127.0.0.1:${await freePort()}`), /cannot be used: .*ECONNREFUSED/);
  });

  it("checks the certificate of a server with TLS", async () => {
    const folder = await mkdtemp(path.join(tmpdir(), "caisson-tls-"));
    try {
      const [key, certificate] = [path.join(folder, "key.pem"), path.join(folder, "cert.pem")];
      const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"];
      const form = [
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "2",
      ];
      execFileSync("openssl", [...form, "-keyout", key, "-out", certificate, ...subject], { stdio: "ignore" });
      const port = await freePort();
      const tlsFlags = ["--tls-port", String(port), "--tls-cert-file", certificate, "--tls-key-file", key];
      await using server = await startRedis(["--save", "", ...tlsFlags, "--tls-auth-clients", "no"]);
      assert.equal(await server.client.ping(), "PONG");
      assert.equal(await count(`rediss://127.0.0.1:${port}`, certificate), 3);
      await assert.rejects(count(`rediss://127.0.0.1:${port}`), /self-signed certificate/);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it("counts in a cluster, all keys of a decision on one node", async () => {
    await using server = await startRedis([
      "--save",
      "",
      "--cluster-enabled",
      "yes",
      // The default is the port plus 10,000, which a client of another test may have.
      "--cluster-port",
      String(await freePort()),
      "--cluster-announce-ip",
      "127.0.0.1",
    ]);
    await server.client.call("CLUSTER", "ADDSLOTSRANGE", 0, 16_383);
    await until(
      async () => (await server.client.cluster("INFO")).includes("cluster_state:ok"),
      "the cluster is formed",
    );
    assert.equal(await count(`redis-cluster://127.0.0.1:${server.port}`), 3);
    const keys = await server.client.keys("*");
    const slots = await Promise.all(keys.map((key) => server.client.cluster("KEYSLOT", key)));
    assert.equal(new Set(slots).size, 1, keys.join());
  });

  it("finds the server through sentinels", async () => {
    await using server = await startRedis();
    const folder = await mkdtemp(path.join(tmpdir(), "caisson-sentinel-"));
    try {
      const config = path.join(folder, "sentinel.conf");
      await writeFile(config, `sentinel monitor main 127.0.0.1 ${server.port} 1\n`);
      await using sentinel = await startRedis([], "redis-server", [config, "--sentinel"]);
      assert.equal(await count(`redis-sentinel://127.0.0.1:${sentinel.port}/main`), 3);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it("separates realms, and keeps names of callers out of the keys", async () => {
    await using server = await startRedis();
    const [one, other] = [await server.link("one"), await server.link("other")];
    assert.equal(await admitted(new RedisLimitStore(one), 5, charge("c:{x}", { minute: 3 })), 3);
    assert.equal(await admitted(new RedisLimitStore(other), 5, charge("c:{x}", { minute: 3 })), 3);
    for (const key of await server.client.keys("*")) assert.match(key, /^caisson:\{(one|other)\}:[\w-]+$/);
  });

  it("lets keys expire after the longest window, and removes the names of expired keys", async () => {
    await using server = await startRedis();
    const store = new RedisLimitStore(await server.link());
    for (let name = 0; name < 20; name++) await admitted(store, 1, charge(`c:old-${name}`, {}));
    const month = 31 * 86_400_000;
    const logs = (await server.client.keys("*")).filter((key) => !key.endsWith(":names"));
    for (const key of logs) {
      const ttl = await server.client.pttl(key);
      assert.ok(ttl > month && ttl <= month + 3_600_000, `${key}: ${ttl}`);
    }
    await server.client.del(...logs);
    for (let name = 0; name < 100; name++) await admitted(store, 1, charge(`c:new-${name}`, {}));
    assert.ok((await server.client.zcard("caisson:{test}:names")) < 110);
    assert.equal((await store.keys(["c:"], "c:", 1_000)).length, 100);
  });

  it("warns of a Redis that may lose counts", async () => {
    await using careless = await startRedis(["--save", "", "--maxmemory-policy", "allkeys-lru"]);
    const warnings = await durabilityWarnings(await careless.link());
    assert.match(warnings[0]!, /append-only/);
    assert.match(warnings[1]!, /allkeys-lru/);
    await using slow = await startRedis(["--save", "", "--appendonly", "yes"]);
    const [warning, ...others] = await durabilityWarnings(await slow.link());
    assert.match(warning!, /everysec/);
    assert.deepEqual(others, []);
    await using careful = await startRedis();
    assert.deepEqual(await durabilityWarnings(await careful.link()), []);
  });
});
