import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import type { Answer } from "./http.ts";
import { assertProblem } from "./problem.ts";
import { containerRecord } from "./record.ts";
import { type Service, shareService } from "./service.ts";

let service: Service;
let token: string;

before(async () => {
  service = await shareService();
  token = await service.issue({ containers: ["*"], limits: { container: { minute: 1000 } } });
});
after(() => service.stop());

function parseTimings(answer: Answer): Map<string, string> {
  const entries = answer.headers["server-timing"]!.split(/, */).map((entry): [string, string] => {
    const [name, ...parameters] = entry.split(";");
    return [name!, parameters.join(";")];
  });
  return new Map(entries);
}

describe("every answer to an authorized run", () => {
  const runs: [string, number, string][] = [
    ["a result", 200, "6 * 7"],
    ["a Response", 200, "new Response('a')"],
    ["a Response with an error", 404, "new Response('a', { status: 404 })"],
    ["missing code", 400, ""],
    ["code that does not parse", 400, "const ="],
    ["an error that the task throws", 500, "throw new Error()"],
  ];
  for (const [what, status, code] of runs) {
    it(`has the headers of a run: ${what}`, async () => {
      const answer = await service.run("headers", code, { token });
      assert.equal(answer.status, status, answer.text);
      assert.match(answer.headers["caisson-run"]!, /^\S+$/);
      assert.equal(answer.headers["x-content-type-options"], "nosniff");
      assert.equal(answer.headers["referrer-policy"], "no-referrer");
      assert.equal(answer.headers["cache-control"], "no-store");
      assert.equal(answer.headers["content-security-policy"], "sandbox allow-scripts allow-forms");
      assert.match(answer.headers["ratelimit-policy"]!, /"container-minute"/);
      assert.match(answer.headers["ratelimit"]!, /"container-minute"/);
      assert.ok(answer.headers["server-timing"]);
    });
  }

  it("has no headers about limits if no window is tracked, because a header cannot be an empty list", async () => {
    const answer = await service.run("headers", "1");
    assert.equal(answer.headers["ratelimit"], undefined);
    assert.equal(answer.headers["ratelimit-policy"], undefined);
  });

  it("has a unique run id", async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => service.run("headers", "1")));
    assert.equal(new Set(answers.map((answer) => answer.headers["caisson-run"])).size, 20);
  });

  it("may not run scripts in a page if the credential is in the query", async () => {
    for (const code of ["1", "new Response('<p>', { headers: { 'content-type': 'text/html' } })", "throw 1"]) {
      const answer = await service.run("headers", code, { token: null, query: { key: token } });
      assert.equal(answer.headers["content-security-policy"], "sandbox allow-forms");
    }
  });

  it("may not run scripts in the page of a public task that was opened with a token in its URL", async () => {
    const code = "() => new Response('<p>', { headers: { 'content-type': 'text/html' } })";
    for (const open of [false, true]) {
      await service.request("PUT", "/api/tasks/headers/page", { json: { code, public: open } });
      for (const name of ["key", "%6Bey"]) {
        const answer = await service.request("GET", `/api/run/headers/page?a=1&${name}=${token}`, { token: null });
        assert.equal(answer.status, 200, answer.text);
        assert.equal(answer.headers["content-security-policy"], "sandbox allow-forms");
      }
    }
    const answer = await service.request("GET", "/api/run/headers/page?keys=1", { token: null });
    assert.equal(answer.headers["content-security-policy"], "sandbox allow-scripts allow-forms");
  });

  it("keeps the Cache-Control of the task", async () => {
    const answer = await service.run("headers", "new Response('a', { headers: { 'cache-control': 'max-age=60' } })");
    assert.equal(answer.headers["cache-control"], "max-age=60");
  });
});

describe("Server-Timing", () => {
  it("reports queue, start and run in milliseconds, and whether the guest was new", async () => {
    const first = parseTimings(await service.run("timed", "1"));
    assert.deepEqual([...first.keys()], ["queue", "start", "run"]);
    for (const parameters of first.values()) assert.match(parameters, /dur=\d+(\.\d+)?/);
    assert.match(first.get("start")!, /desc="(new|cold)"/);
  });

  it("reports a warm guest for the second run", async () => {
    await service.run("warmed", "1");
    assert.match(parseTimings(await service.run("warmed", "1")).get("start")!, /desc="warm"/);
  });

  it("reports the time of the run up to its head", async () => {
    const answer = await service.run("timed", "await new Promise((end) => setTimeout(end, 60))");
    assert.ok(Number(/dur=([\d.]+)/.exec(parseTimings(answer).get("run")!)![1]) >= 59);
  });
});

describe("a request that a page of a browser sends", () => {
  for (const use of ["script", "style", "worker", "sharedworker", "serviceworker", "object", "embed"]) {
    it(`is rejected for ${use}, and nothing is counted`, async () => {
      const earlier = await containerRecord(service, "fetched", token);
      const answer = await service.run("fetched", "1", { token, headers: { "sec-fetch-dest": use } });
      assertProblem(answer, 400, "request_invalid");
      assert.deepEqual(await containerRecord(service, "fetched", token), earlier);
    });
  }

  for (const use of ["empty", "document", "iframe", "image"]) {
    it(`is answered for ${use}`, async () => {
      assert.equal((await service.run("fetched", "1", { headers: { "sec-fetch-dest": use } })).status, 200);
    });
  }
});
