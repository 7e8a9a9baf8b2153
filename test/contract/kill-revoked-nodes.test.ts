import assert from "node:assert/strict";
import { copyFile } from "node:fs/promises";
import path from "node:path";
import { after, before, describe, it } from "node:test";

import { missing, type RedisServer, startRedis } from "../redis/server.ts";
import { assertProblem } from "./problem.ts";
import { jtiOf } from "./record.ts";
import { type Home, makeHome, NO_WALL, type Service, startService } from "./service.ts";
import { until } from "./until.ts";

/** Code that writes a line to the log, and then runs until it is ended. */
const LASTING = `async () => { console.log("has begun"); await new Promise(() => setInterval(() => {}, 1_000)); }`;
const STREAMING = `((pulls) => new Response(new ReadableStream({
    pull(stream) {
      if (pulls++ === 0) return stream.enqueue(new TextEncoder().encode("first"));
      console.log("has begun");
      return new Promise((never) => setTimeout(never, 60_000));
    },
  }, { highWaterMark: 0 })))(0)`;

describe(
  "with --kill-revoked a revocation on one node ends runs on another node",
  { skip: await missing("redis-server") },
  () => {
    let redis: RedisServer;
    let homes: [Home, Home];
    let here: Service;
    let there: Service;

    before(async () => {
      redis = await startRedis();
      homes = [await makeHome(), await makeHome()];
      const flags = [...NO_WALL, "--redis", redis.url, "--kill-revoked", "--log-level", "debug"];
      here = await startService(flags, homes[0]);
      const shared = path.join(homes[1].data, "..");
      for (const name of ["keys.json", "secrets.key"])
        await copyFile(path.join(homes[0].data, name), path.join(shared, name));
      const files = ["--keys", path.join(shared, "keys.json"), "--secrets-key", path.join(shared, "secrets.key")];
      there = await startService([...flags, ...files], homes[1]);
    });
    after(async () => {
      try {
        for (const node of [here, there]) await node.stop();
      } finally {
        for (const home of homes) await home[Symbol.asyncDispose]();
        await redis[Symbol.asyncDispose]();
      }
    });

    async function begun(container: string): Promise<void> {
      await there.logLine((line) => line.includes(`"${container}"`) && line.includes("has begun"));
    }

    async function revoke(jti: string): Promise<void> {
      assert.equal((await here.request("DELETE", `/api/tokens/${jti}`)).status, 200);
    }

    it("of the token and of the tokens below it, and of no other token", async () => {
      const head = await here.issue({ containers: ["*"], can: ["run", "issue"], depth: 1 });
      const issued = await there.request("POST", "/api/tokens", { token: head, json: { containers: ["below"] } });
      const { token } = issued.json() as { token: string };
      const other = await here.issue({ containers: ["*"] });
      const lasts = `await new Promise((go) => setTimeout(go, 3_000)); return "kept"`;
      const [own, below, kept] = [
        there.run("own", LASTING, { token: head }),
        there.run("below", LASTING, { token }),
        there.run("other", lasts, { token: other }),
      ];
      await begun("own");
      await begun("below");
      await revoke(jtiOf(head));
      for (const run of [own, below])
        assert.match(assertProblem(await run, 403, "token_invalid").detail, /ended the run/);
      assert.equal((await kept).json(), "kept");
    });

    it("and cuts an answer that streams", async () => {
      const token = await here.issue({ containers: ["*"] });
      const run = there.run("streaming", STREAMING, { token });
      await begun("streaming");
      await revoke(jtiOf(token));
      const { status, complete } = await run;
      assert.deepEqual([status, complete], [200, false]);
    });

    it("of a public task, if the token that stores it or the task itself ends", async () => {
      for (const container of ["kept", "deleted"]) {
        const owner = await here.issue({ containers: [container], can: ["run", "tasks"] });
        const json = { code: LASTING, public: true };
        const target = `/api/tasks/${container}/task`;
        assert.equal((await here.request("PUT", target, { token: owner, json })).status, 201);
        const run = there.request("GET", `/api/run/${container}/task`);
        await begun(container);
        if (container === "kept") await revoke(jtiOf(owner));
        else assert.equal((await here.request("DELETE", target)).status, 200);
        assertProblem(await run, 403, "token_invalid");
      }
    });

    it("of a task that another token called, if that token ends", async () => {
      assert.equal((await here.request("PUT", "/api/tasks/asked/task", { json: { code: LASTING } })).status, 201);
      const token = await here.issue({ containers: ["asked"] });
      const run = there.request("GET", "/api/run/asked/task", { token });
      await begun("asked");
      await revoke(jtiOf(token));
      assertProblem(await run, 403, "token_invalid");
    });

    it("also if that node was cut off from Redis meanwhile, when Redis is back", async () => {
      const token = await here.issue({ containers: ["*"] });
      const run = there.run("away", LASTING, { token });
      await begun("away");
      await redis.kill();
      assertProblem(await here.request("DELETE", `/api/tokens/${jtiOf(token)}`), 503, "store_unavailable");
      await redis.restart();
      const revoked = async (): Promise<boolean> => {
        return (await here.request("DELETE", `/api/tokens/${jtiOf(token)}`)).status === 200;
      };
      await until(revoked, "the revocation is stored");
      assertProblem(await run, 403, "token_invalid");
    });
  },
);
