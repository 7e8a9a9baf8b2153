import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { chmod, copyFile, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import { missing, type RedisServer, startRedis } from "../redis/server.ts";
import type { Answer } from "./http.ts";
import { assertProblem } from "./problem.ts";
import { caisson, type Home, makeHome, NO_WALL, type Service, startService } from "./service.ts";
import { until } from "./until.ts";

/** Whether another user than root cannot reach a folder. Only a service that root starts becomes another user. */
function isClosedToOthers(folder: string): boolean {
  if (process.getuid!() !== 0) return false;
  const parent = path.dirname(folder);
  return (statSync(folder).mode & 0o001) === 0 || (parent !== folder && isClosedToOthers(parent));
}

function putTask(node: Service, json: unknown, etag?: string): Promise<Answer> {
  const headers = etag === undefined ? {} : { "if-match": etag };
  return node.request("PUT", "/api/tasks/both/task", { json, headers });
}

/** Returns the packages that a node permits. */
async function permittedBy(node: Service): Promise<string[]> {
  const list = (await node.request("GET", "/api/packages")).json() as { allow: { package: string }[] };
  return list.allow.map((each) => each.package);
}

/** Returns how often Redis has read a whole hash. */
async function readsOfHashes({ client }: RedisServer): Promise<number> {
  const [, calls] = /cmdstat_hgetall:calls=(\d+)/.exec(await client.info("commandstats"))!;
  return Number(calls);
}

describe("two nodes on one Redis", { skip: await missing("redis-server") }, () => {
  let redis: RedisServer;
  let homes: [Home, Home];
  let nodes: [Service, Service];
  let shared: string;

  before(async () => {
    redis = await startRedis();
    shared = await mkdtemp(path.join(tmpdir(), "caisson-shared-"));
    await chmod(shared, 0o755);
    homes = [await makeHome(), await makeHome()];
    const first = await startService([...NO_WALL, "--redis", redis.url], homes[0]);
    // In another folder, because the tests recognise the processes of a home by its path.
    const keys = path.join(shared, "keys.json");
    await copyFile(path.join(homes[0].data, "keys.json"), keys);
    const secrets = path.join(shared, "secrets.key");
    await copyFile(path.join(homes[0].data, "secrets.key"), secrets);
    const flags = [...NO_WALL, "--redis", redis.url, "--keys", keys, "--secrets-key", secrets];
    nodes = [first, await startService(flags, homes[1])];
  });

  after(async () => {
    try {
      for (const node of nodes) await node.stop();
    } finally {
      for (const home of homes) await home[Symbol.asyncDispose]();
      await rm(shared, { recursive: true });
      await redis[Symbol.asyncDispose]();
    }
  });

  it("permit the packages that an administrator has added on one of them, until they are removed on the other", async () => {
    assert.equal((await nodes[0].request("PUT", "/api/packages/allow/leaf@1")).status, 200);
    assert.deepEqual(await permittedBy(nodes[0]), ["leaf@1"]);
    await until(async () => (await permittedBy(nodes[1])).length === 1, "the other node has the entry");
    // The range shows that the entry is in force, without a registry.
    const other = await nodes[1].run("both", 'import "npm:leaf@2"');
    assert.match(assertProblem(other, 403, "packages_forbidden").detail, /permits only the range 1/);
    assert.equal((await nodes[1].request("DELETE", "/api/packages/allow/leaf@1")).status, 200);
    assertProblem(await nodes[1].request("DELETE", "/api/packages/allow/leaf@1"), 404, "not_found");
    await until(async () => (await permittedBy(nodes[0])).length === 0, "the first node has it no more");
    const gone = await nodes[0].run("both", 'import "npm:leaf@1"');
    assert.match(assertProblem(gone, 403, "packages_forbidden").detail, /does not list it/);
  });

  it("admit exactly the limit together, for tokens that one of them issued", async () => {
    const token = await nodes[0].issue({ containers: ["both"], limits: { container: { hour: 30 } } });
    const asked = Array.from({ length: 80 }, (_, run) => nodes[run % 2]!.run("both", "1", { token }));
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    assert.equal(statuses.filter((status) => status === 200).length, 30);
    assert.equal(statuses.filter((status) => status === 429).length, 50);
    for (const node of nodes) {
      const record = await node.request("GET", "/api/limits/container/both", { token });
      assert.equal((record.json() as { hour: number }).hour, -1);
    }
  });

  it("give the code of a token its secrets, whichever node received them, and none after the token is revoked", async () => {
    const code = "(context) => context.secrets";
    const members = { containers: ["both"], secretsReadable: true, secrets: { KEY: "on the first" } };
    const issued = await nodes[0].request("POST", "/api/tokens", { json: members });
    const { token, jti } = issued.json() as { token: string; jti: string };
    const results = (): Promise<unknown[]> => {
      return Promise.all(nodes.map(async (node) => (await node.run("both", code, { token })).json()));
    };
    assert.deepEqual(await results(), [{ KEY: "on the first" }, { KEY: "on the first" }]);
    await nodes[1].request("PUT", `/api/tokens/${jti}/secrets`, { json: { KEY: "on the second" } });
    assert.deepEqual(await results(), [{ KEY: "on the second" }, { KEY: "on the second" }]);
    assert.equal((await redis.client.keys("*:secrets")).length, 1);
    await nodes[1].request("DELETE", `/api/tokens/${jti}`);
    assert.equal((await redis.client.keys("*:secrets")).length, 0);
  });

  it("run the named tasks that either received, with their secrets, and detect concurrent changes", async () => {
    const code = "(context) => [context.secrets.KEY ?? null, context.params.plan ?? null]";
    const results = (): Promise<unknown[]> => {
      return Promise.all(nodes.map(async (node) => (await node.request("POST", "/api/run/both/task/x")).json()));
    };
    const first = await putTask(nodes[0], { code, secrets: { KEY: "one" } });
    assert.equal(first.status, 201, first.text);
    assert.deepEqual(await results(), [
      ["one", null],
      ["one", null],
    ]);
    const second = await putTask(nodes[1], { params: { plan: "pro" } }, first.headers["etag"]);
    assert.equal(second.status, 200, second.text);
    assert.equal((await putTask(nodes[0], { public: true }, first.headers["etag"])).status, 412);
    assert.deepEqual(await results(), [
      ["one", "pro"],
      ["one", "pro"],
    ]);
    await putTask(nodes[0], { code: `${code} ` });
    assert.deepEqual(await results(), [
      [null, "pro"],
      [null, "pro"],
    ]);
    const rolled = await nodes[1].request("POST", "/api/tasks/both/task/rollback", { json: { version: 1 } });
    assert.equal(rolled.status, 200, rolled.text);
    assert.deepEqual(await results(), [
      [null, null],
      [null, null],
    ]);
    const { jti } = rolled.json() as { jti: string };
    await nodes[0].request("DELETE", "/api/tasks/both/task");
    for (const node of nodes) assert.equal((await node.request("POST", "/api/run/both/task")).status, 404);
    assert.notEqual(
      ((await nodes[1].request("GET", `/api/tokens/${jti}`)).json() as { revoked: unknown }).revoked,
      null,
    );
    assert.equal((await redis.client.keys("*:task*")).length, 0);
  });

  it("reset limits together, whichever node receives the reset", async () => {
    const token = await nodes[0].issue({ containers: ["again"], limits: { container: { hour: 1 } } });
    assert.equal((await nodes[0].run("again", "1", { token })).status, 200);
    assert.equal((await nodes[1].run("again", "1", { token })).status, 429);
    await nodes[1].request("DELETE", "/api/limits/container/again");
    assert.equal((await nodes[0].run("again", "1", { token })).status, 200);
  });

  it("apply a revocation at once on the node that received it, and within two seconds on the other", async () => {
    const token = await nodes[0].issue({ containers: ["ended"] });
    const { jti } = JSON.parse(Buffer.from(token.split(".")[1]!, "base64url").toString()) as { jti: string };
    for (const node of nodes) assert.equal((await node.run("ended", "1", { token })).status, 200);
    assert.equal((await nodes[0].request("DELETE", `/api/tokens/${jti}`)).status, 200);
    assert.equal((await nodes[0].run("ended", "1", { token })).status, 403);
    const sinceMs = performance.now();
    await until(async () => {
      const isLate = performance.now() - sinceMs > 2_000;
      const { status } = await nodes[1].run("ended", "1", { token });
      // On a machine that was busy for as long, the node answers that it cannot decide.
      assert.ok(!isLate || status !== 200, "a run started after two seconds");
      return status === 403;
    }, "the other node rejects the token");
  });

  it("read nothing below a token that is revoked again, because callers can repeat that at any rate", async () => {
    const above = await nodes[0].issue({ containers: ["both"], can: ["run", "issue"], depth: 1 });
    const json = { containers: ["both"], secretsReadable: true, secrets: { KEY: "below" } };
    const issued = await nodes[0].request("POST", "/api/tokens", { token: above, json });
    const { jti } = issued.json() as { jti: string };
    const revoke = (): Promise<Answer> => nodes[0].request("DELETE", `/api/tokens/${jti}`, { token: above });
    assert.equal((await revoke()).status, 200);
    const readsBefore = await readsOfHashes(redis);
    for (let again = 0; again < 5; again++) assert.equal((await revoke()).status, 200);
    assert.equal(await readsOfHashes(redis), readsBefore);
  });

  it("share the policies of containers", async () => {
    const json = { limits: { hour: 2 } };
    assert.equal((await nodes[0].request("PUT", "/api/containers/ruled", { json })).status, 200);
    const known = async (): Promise<boolean | null> => {
      const answer = await nodes[1].request("GET", "/api/containers/ruled");
      if (answer.status === 503) return null;
      return (answer.json() as { limits: { hour?: number } }).limits.hour === 2;
    };
    const sinceMs = performance.now();
    await until(async () => {
      const isLate = performance.now() - sinceMs > 2_000;
      const isKnown = await known();
      assert.ok(!isLate || isKnown !== false, "the other node had no policy after two seconds");
      return isKnown === true;
    }, "the other node has the policy");
    const statuses = [];
    for (let run = 0; run < 4; run++) statuses.push((await nodes[run % 2]!.run("ruled", "1")).status);
    assert.deepEqual(statuses, [200, 200, 429, 429]);
    const listed = await nodes[1].request("GET", "/api/containers?cursor=rule&limit=1");
    assert.deepEqual(
      (listed.json() as { containers: { container: string }[] }).containers.map(({ container }) => container),
      ["ruled"],
    );
  });

  it("share the suspension of a container within two seconds, with its runs in flight, and its restart", async () => {
    const lasting = `async () => { globalThis.mark = 1; await new Promise(() => setInterval(() => {}, 1_000)); }`;
    const running = async (): Promise<boolean> => {
      const listed = await nodes[1].request("GET", "/api/containers?cursor=stoppe&limit=1");
      return (listed.json() as { containers: { running: number }[] }).containers[0]?.running === 1;
    };
    const post = async (action: string): Promise<void> => {
      assert.equal((await nodes[0].request("POST", `/api/containers/stopped/${action}`)).status, 200);
    };
    assert.equal((await nodes[0].run("stopped", "1")).status, 200);
    const ended = nodes[1].run("stopped", lasting);
    await until(running, "the run is in flight");
    await post("suspend?now=true");
    assert.equal((await nodes[0].run("stopped", "1")).status, 403);
    const sinceMs = performance.now();
    await until(async () => {
      const isLate = performance.now() - sinceMs > 2_000;
      const { status } = await nodes[1].run("stopped", "1");
      assert.ok(!isLate || status !== 200, "the other node still took runs after two seconds");
      return status === 403;
    }, "the other node takes no run");
    assertProblem(await ended, 403, "container_suspended");
    await post("resume");
    await until(
      async () => (await nodes[1].run("stopped", "globalThis.mark = 2")).status === 200,
      "it takes runs again",
    );
    await post("restart");
    await until(async () => {
      return (await nodes[1].run("stopped", "globalThis.mark ?? null")).json() === null;
    }, "the other node has a new guest");
  });

  for (const [first, next, code] of [
    ["suspend?now=true", "resume", "container_suspended"],
    ["restart?now=true", "restart", "container_restarted"],
  ] as const) {
    it(`end the runs in flight of a container on all nodes after ${first}, also with a ${next} directly after it`, async () => {
      const lasting = `async () => { await new Promise(() => setInterval(() => {}, 1_000)); }`;
      const name = `brief-${next}`;
      const ended = nodes[1].run(name, lasting);
      await until(async () => {
        const listed = await nodes[1].request("GET", `/api/containers?cursor=brief-&limit=9`);
        const { containers } = listed.json() as { containers: { container: string; running: number }[] };
        return containers.some(({ container, running }) => container === name && running === 1);
      }, "the run is in flight");
      for (const action of [first, next]) {
        assert.equal((await nodes[0].request("POST", `/api/containers/${name}/${action}`)).status, 200);
      }
      assert.equal(((await ended).json() as { code: string }).code, code);
      await until(async () => (await nodes[1].run(name, "1")).status === 200, "it takes runs again");
    });
  }

  it("accept an administrative token that the command line issued next to one of them", async () => {
    const child = caisson(homes[0], "token", "issue", "--admin", "--redis", redis.url);
    const token = (await text(child.stdout!)).trim();
    for (const node of nodes) assert.equal((await node.request("GET", "/api/containers", { token })).status, 200);
  });

  it("store only their keys, a token, and what they themselves did in their data folders", async () => {
    for (const { data } of homes) {
      const kept = (await readdir(data)).filter((name) => !["keys.json", "secrets.key"].includes(name));
      const files = kept.filter((name) => !/^(?:audit|packages)\.sqlite/.test(name));
      // A service in a folder of root has a copy of its programs there.
      const programs = isClosedToOthers(import.meta.dirname) ? ["program"] : [];
      assert.deepEqual(files.toSorted(byName), ["admin.token", "backup.sock", "lock", "packages", ...programs, "runs"]);
    }
  });

  it("answer 503 while Redis is away, run nothing, and recover without help", async () => {
    const token = await nodes[0].issue({ containers: ["away"], limits: { container: { hour: 100 } } });
    const run = (node: Service): Promise<Answer> => node.run("away", "1", { token });
    assert.equal((await run(nodes[0])).status, 200);
    await redis.kill();
    for (const node of nodes) {
      const answer = await run(node);
      assert.equal(answer.status, 503);
      assert.equal((answer.json() as { code: string }).code, "store_unavailable");
      assert.equal(answer.headers["retry-after"], "1");
      assert.doesNotMatch(answer.text, /127\.0\.0\.1|ECONN/);
      await until(async () => !(await healthy(node)), "the node reports that it accepts no runs");
    }
    await redis.restart();
    for (const node of nodes) await until(() => healthy(node), "the node accepts runs");
    assert.equal((await run(nodes[1])).status, 200);
    const detail = await nodes[0].request("GET", "/api/limits/container/away?detail=true", { token });
    assert.equal((detail.json() as { hour: { used: number } }).hour.used, 2);
    assert.match(await nodes[0].logLine((line) => line.includes("does not answer")), /the Redis at 127\.0\.0\.1/);
  });

  it("report that they take no runs after Redis refused to count one, until it counts again", async () => {
    const token = await nodes[0].issue({ containers: ["full"], limits: { container: { hour: 100 } } });
    await redis.client.config("SET", "maxmemory", "1");
    try {
      const answer = await nodes[0].run("full", "1", { token });
      assert.equal((answer.json() as { code: string }).code, "store_unavailable");
      const ready = await nodes[0].request("GET", "/readyz", { token: null });
      assert.deepEqual([ready.status, (ready.json() as { status: string }).status], [503, "store_unavailable"]);
    } finally {
      await redis.client.config("SET", "maxmemory", "0");
    }
    assert.equal((await nodes[0].run("full", "1", { token })).status, 200);
    assert.ok(await healthy(nodes[0]));
  });
});

describe("a node with --on-store-loss allow", { skip: await missing("redis-server") }, () => {
  it("accepts runs while Redis is away, without headers about limits", async () => {
    await using redis = await startRedis();
    const node = await startService([
      ...NO_WALL,
      "--redis",
      redis.url,
      "--on-store-loss",
      "allow",
      // The time after which the node accepts no token is longer than the test on any machine.
      "--revocation-lag",
      "10m",
      "--container-limit",
      "hour=2",
    ]);
    try {
      await redis.kill();
      for (let run = 0; run < 5; run++) {
        const answer = await node.run("free", "6 * 7");
        assert.deepEqual([answer.status, answer.text, answer.headers["ratelimit"]], [200, "42", undefined]);
      }
      await node.logLine((line) => /does not answer; on-store-loss is allow, .* for 600 s/.test(line));
      await redis.restart();
      await until(async () => (await node.run("free", "1")).status === 429, "the limit applies again");
    } finally {
      await node.stop();
    }
  });

  it("refuses runs that Redis refuses to count, because callers can fill its memory", async () => {
    await using redis = await startRedis();
    const flags = ["--redis", redis.url, "--on-store-loss", "allow", "--revocation-lag", "10m"];
    const node = await startService([...NO_WALL, ...flags]);
    try {
      await redis.client.config("SET", "maxmemory", "1");
      for (let run = 0; run < 3; run++) assert.equal((await node.run("free", "6 * 7")).status, 503);
    } finally {
      await node.stop();
    }
  });

  it("refuses runs of a Redis that has become a replica, also while it looks for the new master", async () => {
    await using redis = await startRedis();
    const flags = ["--redis", redis.url, "--on-store-loss", "allow", "--revocation-lag", "10m"];
    const node = await startService([...NO_WALL, ...flags]);
    try {
      await redis.client.call("REPLICAOF", "127.0.0.1", "1");
      const statuses = new Set<number>();
      for (let run = 0; run < 30; run++) {
        statuses.add((await node.run("free", "6 * 7")).status);
        await pause(50);
      }
      assert.deepEqual([...statuses], [503]);
      await redis.client.call("REPLICAOF", "NO", "ONE");
      await until(async () => (await node.run("free", "6 * 7")).status === 200, "it counts again");
    } finally {
      await node.stop();
    }
  });

  it("reports that it takes no runs after the revocation lag, until it has read the changes of other nodes", async () => {
    await using redis = await startRedis();
    const flags = ["--redis", redis.url, "--on-store-loss", "allow", "--revocation-lag", "1s"];
    const node = await startService([...NO_WALL, ...flags]);
    try {
      await redis.kill();
      await until(async () => (await node.run("late", "1")).status === 503, "the node accepts no token");
      const ready = await node.request("GET", "/readyz", { token: null });
      assert.deepEqual([ready.status, (ready.json() as { status: string }).status], [503, "store_unavailable"]);
      await redis.restart();
      await until(() => healthy(node), "the node accepts runs");
      assert.equal((await node.run("late", "1")).status, 200);
    } finally {
      await node.stop();
    }
  });

  it("does not start without Redis, and does not print the password", async () => {
    await using home = await makeHome();
    await assert.rejects(
      startService(["--redis", "redis://127.0.0.1:1", "--redis-password-file", await secretFile(home)], home),
      (error: Error) =>
        /the Redis at 127\.0\.0\.1:1 cannot be used: .*ECONNREFUSED/.test(error.message) &&
        !/s3cret/.test(error.message),
    );
  });
});

async function secretFile(home: Home): Promise<string> {
  const file = path.join(home.tmp, "password");
  await writeFile(file, "s3cret\n", { mode: 0o600 });
  return file;
}

async function healthy(node: Service): Promise<boolean> {
  return (await node.request("GET", "/healthz")).status === 200;
}

function byName(one: string, other: string): number {
  return one < other ? -1 : 1;
}
