import assert from "node:assert/strict";
import { once } from "node:events";
import { stat } from "node:fs/promises";
import path from "node:path";
import { after, before, describe, it } from "node:test";

import type { Answer } from "./http.ts";
import { altered } from "./jwt.ts";
import { NO_WALL, caisson, type Home, leave, makeHome, type Service, startService } from "./service.ts";

let home: Home;
let service: Service;
let token: string;

before(async () => {
  home = await makeHome();
  service = await startService([...NO_WALL, "--log-level", "debug"], home);
  token = await service.issue({ containers: ["solo"] });
});
after(() => leave(service, home));

describe("a secret file or token", () => {
  it("is readable by its owner only", async () => {
    for (const name of ["admin.token", "keys.json"]) {
      assert.equal((await stat(path.join(service.data, name))).mode & 0o777, 0o600, name);
    }
  });

  it("is in no answer and in no line that the service prints", async () => {
    const forged = altered(token, { payload: { jti: "forged" } });
    const answers: Answer[] = [];
    for (const key of [token, service.admin, forged]) {
      const options = { token: null, query: { key } };
      const targets = [
        "/api/run/solo",
        "/api/nothing",
        "/nothing",
        "/api/limits/token/x",
        "/api/run/%00",
        "/api/tokens",
        "/healthz",
      ];
      for (const target of targets) {
        answers.push(await service.request("POST", target, { ...options, body: "throw new Error('seen')" }));
        answers.push(await service.request("GET", target, options));
        answers.push(
          await service.request("GET", target, { token: null, headers: { referer: `http://x/?key=${key}` } }),
        );
        answers.push(await service.request("GET", target, { token: null, query: { key, task_typo: "1" } }));
        answers.push(await service.request("GET", target, { token: key, query: { key } }));
      }
      await service.raw(`GET /api/run/solo?key=${key} HTTP/9.9\r\nHost: x\r\n\r\n`);
      await service.raw(`GET /api/run/solo?key=${key} HTTP/1.1\r\nHost: x\r\nBroken header\r\n\r\n`);
    }
    const secrets = [token, service.admin, forged].map((text) => text.split(".")[2]!.slice(0, 40));
    for (const secret of secrets) {
      for (const answer of answers)
        assert.ok(!answer.text.includes(secret) && !answer.rawHeaders.join().includes(secret));
      assert.ok(!service.stderr().includes(secret));
      assert.ok(!service.stdout().includes(secret));
    }
    assert.doesNotMatch(service.stderr() + service.stdout(), /eyJ[\w-]{20}/);
  });

  it("does not reach the task", async () => {
    const code =
      "(context, req, res) => res.end(JSON.stringify([context.url, context.query, context.headers, req.url, req.headers]))";
    for (const options of [{ token }, { token: null, query: { key: token, a: "1" } }]) {
      const answer = await service.run("solo", code, options);
      assert.equal(answer.status, 200);
      assert.doesNotMatch(answer.text, /eyJ/);
    }
  });
});

describe("the command line", () => {
  it("issues another administrative token from the data folder", async () => {
    const child = caisson(home, "token", "issue", "--admin");
    let output = "";
    child.stdout!.setEncoding("utf8").on("data", (text: string) => (output += text));
    const [code] = (await once(child, "close")) as [number];
    assert.equal(code, 0);
    const issued = output.trim();
    assert.notEqual(issued, service.admin);
    assert.equal((await service.request("DELETE", "/api/limits/container/solo", { token: issued })).status, 200);
  });

  it("switches off the query key with --no-query-key", async () => {
    const strict = await startService([...NO_WALL, "--no-query-key"]);
    try {
      const answer = await strict.request("POST", "/api/run/a", {
        token: null,
        query: { key: strict.admin },
        body: "1",
      });
      assert.ok(answer.status === 400 || answer.status === 403, answer.text);
      assert.doesNotMatch(answer.text, /eyJ/);
      assert.equal((await strict.run("a", "6 * 7")).text, "42");
    } finally {
      await strict.stop();
    }
  });
});
