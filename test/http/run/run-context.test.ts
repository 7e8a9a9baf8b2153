import assert from "node:assert/strict";
import { it, type TestContext } from "node:test";

import { contextText, runContext } from "../../../src/http/run/run-context.ts";
import { parseTarget } from "../../../src/http/target.ts";
import type { RunContext } from "../../../src/wire/messages.ts";
import { sendRaw } from "../../contract/http.ts";
import { listening } from "../listening.ts";

async function contextOf(t: TestContext, sent: { head?: string; headers?: readonly string[] }): Promise<RunContext> {
  const { promise, resolve } = Promise.withResolvers<RunContext>();
  const port = await listening(t, {
    request: (request, response) => {
      const run = {
        headers: request.headers,
        id: "run-1",
        container: "demo",
        origin: "https://example.com",
        params: {},
        traceparent: null,
      };
      resolve(runContext(request, parseTarget(request.url!), run));
      response.end();
    },
  });
  const head = [`${sent.head ?? "GET /"} HTTP/1.1`, ...(sent.headers ?? []), "Connection: close", "", ""];
  await sendRaw(port, [head.join("\r\n")]);
  return promise;
}

it("a task receives its run, its container, the method, and the URL without reserved parameters", async (t) => {
  const context = await contextOf(t, { head: "PATCH /api/run/demo?key=SECRET&a=%201&task_url=u&b" });
  const { headers, ...rest } = context;
  const url = "https://example.com/api/run/demo?a=%201&b";
  assert.deepEqual(rest, { runId: "run-1", container: "demo", method: "PATCH", url });
  assert.ok(!JSON.stringify(context).includes("SECRET"));
  assert.equal(headers["connection"], "close");
});

it("a task never receives credentials or the headers of proxies", async (t) => {
  const { headers } = await contextOf(t, {
    headers: [
      "Authorization: Bearer SECRET",
      "COOKIE: a=SECRET",
      "Proxy-Authorization: Basic SECRET",
      "Proxy-Connection: SECRET",
      "Forwarded: for=SECRET",
      "X-Forwarded-For: SECRET",
      "X-Forwarded-Anything: SECRET",
      "X-Original-URI: /api/run/a?key=SECRET",
      "X-Original-URL: SECRET",
      "X-Rewrite-URL: SECRET",
      "X-Envoy-Original-Path: SECRET",
      "X-Mine: yes",
      "X-Forwarded: kept",
    ],
  });
  assert.deepEqual({ ...headers }, { connection: "close", "x-mine": "yes", "x-forwarded": "kept" });
});

it("a task receives the referer unless it contains a key", async (t) => {
  const refererOf = async (referer: string): Promise<string | undefined> =>
    (await contextOf(t, { headers: [`Referer: ${referer}`] })).headers["referer"];
  assert.equal(await refererOf("http://a.test/?monkey=1#key"), "http://a.test/?monkey=1#key");
  const escaped = ["/?%6Bey=SECRET", "/?%ff&b=%&%4b%65%79=SECRET", "/?next=%2Fapi%3Fkey%3DSECRET"];
  for (const referer of ["http://a.test/?key=SECRET", "http://a.test/?b=1&KEY=SECRET", "/?key=", ...escaped]) {
    assert.equal(await refererOf(referer), undefined, referer);
  }
});

it("repeated headers are joined, and the object of headers has no prototype", async (t) => {
  const { headers } = await contextOf(t, { headers: ["X-A: 1", "X-A: 2", "__proto__: p", "constructor: c"] });
  assert.equal(headers["x-a"], "1, 2");
  assert.equal(headers["constructor"], "c");
  assert.equal(Object.getPrototypeOf(headers), null);
  assert.equal(headers["toString"], undefined);
});

it("absent data is left out, and null stays null", async (t) => {
  const context = await contextOf(t, {});
  assert.deepEqual(JSON.parse(contextText(context, null)), JSON.parse(JSON.stringify(context)));
  for (const data of ["null", '{"a":[1]}', '{"__proto__":1}']) {
    const { body } = JSON.parse(contextText(context, data)) as RunContext;
    assert.equal(JSON.stringify(body), data);
  }
});
