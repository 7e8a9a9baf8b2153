import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { after, before, describe, it } from "node:test";

import { type CodeServer, serveCode } from "./code-server.ts";
import type { Answer } from "./http.ts";
import { assertProblem } from "./problem.ts";
import { tokenRecord } from "./record.ts";
import { NO_WALL, type Service, startService } from "./service.ts";
import { until } from "./until.ts";

const RUNS = 20;

let service: Service;
let code: CodeServer;
let other: CodeServer;
/** Answers that the test holds back. */
const heldAnswers: (() => void)[] = [];

before(async () => {
  other = await serveCode((_, response) => response.writeHead(200, { "cache-control": "max-age=60" }).end("'other'"));
  code = await serveCode((request, response) => {
    const { pathname, searchParams } = new URL(request.url!, "http://x");
    const answer = (): void => give(response, pathname, searchParams.get("cache-control"));
    if (request.headers["if-none-match"] === '"1"') response.writeHead(304).end();
    else if (searchParams.has("held")) heldAnswers.push(answer);
    else answer();
  });
  const open = [code.address, other.address].flatMap((address) => ["--egress-allow", address]);
  service = await startService([...NO_WALL, ...open, "--task-url-cache", "1MiB", "--task-url-cache-entries", "8"]);
});
after(async () => {
  await service.stop();
  await code.close();
  await other.close();
});

function give(response: ServerResponse, path: string, cacheControl: string | null): void {
  const headers: Record<string, string> = cacheControl === null ? {} : { "cache-control": cacheControl };
  if (path === "/away") return void response.writeHead(302, { ...headers, location: `${other.url}/` }).end();
  if (path === "/tagged") headers["etag"] = '"1"';
  if (path === "/page") headers["content-type"] = "text/html";
  return void response.writeHead(path === "/absent" ? 404 : 200, headers).end("6 * 7");
}

function runUrl(url: string, token?: string, signal?: AbortSignal): Promise<Answer> {
  const options = { query: { task_url: url }, ...(token && { token }), ...(signal && { signal }) };
  return service.request("GET", "/api/run/cached", options);
}

function requestsFor(target: string): number {
  return code.requests.filter(({ url }) => url === target).length;
}

/** Returns the number of requests for a URL that three runs cause, one after another. */
async function requestsOfThreeRuns(target: string): Promise<number> {
  for (let run = 0; run < 3; run += 1) assert.equal((await runUrl(code.url + target)).text, "42");
  return requestsFor(target);
}

describe("code from task_url that may be stored", () => {
  it("is requested once, and again if the server does not permit storing", async () => {
    assert.equal(await requestsOfThreeRuns("/a?cache-control=max-age=60"), 1);
    assert.equal(await requestsOfThreeRuns("/a"), 3);
    for (const each of ["no-store", "private,max-age=60", "no-cache", "max-age=0"]) {
      assert.equal(await requestsOfThreeRuns(`/a?cache-control=${each}`), 3, each);
    }
  });

  it("is validated if the server sends a tag", async () => {
    assert.equal(await requestsOfThreeRuns("/tagged?cache-control=no-cache"), 3);
    const conditions = code.requests.slice(-3).map(({ headers }) => headers["if-none-match"]);
    assert.deepEqual(conditions, [undefined, '"1"', '"1"']);
  });

  it("has a maximum number of entries", async () => {
    const targets = Array.from({ length: 9 }, (_, index) => `/${index}?cache-control=max-age=60`);
    for (const target of targets) await runUrl(code.url + target);
    for (const target of targets) await runUrl(code.url + target);
    assert.equal(requestsFor(targets[0]!), 2);
  });

  it("is never stored for a failure", async () => {
    for (const [path, expected] of [
      ["/absent", "task_url_status"],
      ["/page", "task_url_not_code"],
    ] as const) {
      const target = `${path}?cache-control=max-age=60`;
      for (const times of [1, 2]) {
        const problem = assertProblem(await runUrl(code.url + target), 400, expected);
        if (path === "/page") assert.match(problem.hint ?? "", /raw file/);
        assert.equal(requestsFor(target), times);
      }
    }
  });

  it("is not available to a token that may not reach its host, or the host of a redirect", async () => {
    const url = `${code.url}/away?cache-control=max-age=60`;
    assert.equal((await runUrl(url)).text, '"other"');
    for (const net of [false, ["api.example.com"], [other.address], [code.address]]) {
      const token = await service.issue({ containers: ["cached"], net });
      assertProblem(await runUrl(url, token), 400, "task_url_forbidden");
    }
    const token = await service.issue({ containers: ["cached"], net: [code.address, other.address] });
    assert.equal((await runUrl(url, token)).text, '"other"');
    assert.equal(other.requests.length, 1);
  });

  it("is requested once for many concurrent runs, even if the first of them leaves", async () => {
    const target = "/many?held&cache-control=max-age=60";
    const token = await service.issue({ containers: ["cached"], limits: { token: { day: 1_000 } } });
    const leaver = new AbortController();
    const left = assert.rejects(runUrl(code.url + target, token, leaver.signal));
    await until(() => heldAnswers.length === 1, "the code is requested");
    const runs = Array.from({ length: RUNS }, () => runUrl(code.url + target, token));
    await until(async () => (await tokenRecord(service, token)).day === 1_000 - RUNS - 1, "all runs are admitted");
    leaver.abort();
    await left;
    heldAnswers[0]!();
    for (const answer of await Promise.all(runs)) assert.equal(answer.text, "42");
    assert.equal(requestsFor(target), 1);
  });
});
