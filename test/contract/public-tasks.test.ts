import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { after, before, describe, it } from "node:test";

import type { Answer, RequestOptions } from "./http.ts";
import { assertProblem } from "./problem.ts";
import { type Service, shareService } from "./service.ts";
import { until } from "./until.ts";

let service: Service;
before(async () => {
  service = await shareService();
});
after(() => service.stop());

async function publish(name: string, code: string, more: object = {}): Promise<void> {
  const json = { code, public: true, ...more };
  const answer = await service.request("PUT", `/api/tasks/shop/${name}`, { json });
  assert.ok(answer.status < 300, answer.text);
}

/** Calls a task without a token. */
function call(method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
  return service.request(method, `/api/run/shop/${path}`, { token: null, ...options });
}

const PREFLIGHT = { origin: "https://shop.example", "access-control-request-method": "PUT" };
const HANDLER = `let calls = 0;
export default {
  async fetch(request: Request): Promise<Response> {
    calls += 1;
    const own = { "access-control-allow-origin": "https://shop.example", "x-calls": String(calls), "x-method": request.method };
    if (request.method !== "OPTIONS") return Response.json([calls], { headers: own });
    const methods = request.headers.get("access-control-request-method") ?? "";
    return new Response(null, { status: 204, headers: { ...own, "access-control-allow-methods": methods, allow: "PUT" } });
  },
};`;

describe("OPTIONS of a public task", () => {
  it("is answered by its fetch handler, and has only its Access-Control headers", async () => {
    await publish("cors", HANDLER);
    const { status, headers } = await call("OPTIONS", "cors/below?a=1", { headers: PREFLIGHT });
    assert.partialDeepStrictEqual(headers, {
      "access-control-allow-origin": "https://shop.example",
      "access-control-allow-methods": "PUT",
      ...{ allow: "PUT", "x-method": "OPTIONS", "x-calls": "1" },
    });
    assert.deepEqual([status, headers["access-control-allow-headers"]], [204, undefined]);
    assert.ok(headers["caisson-run"]);
  });

  it("belongs to a handler in every usual form", async () => {
    const forms = [
      '({ fetch(request) { return new Response("", { headers: { "x-own": "1" } }) } })',
      'const app = { fetch: () => new Response("", { headers: { "x-own": "1" } }) }; module.exports = app',
      'class App { fetch = (request) => new Response("", { headers: { "x-own": "1" } }) } export default new App();',
      'const fetch = async () => new Response("", { headers: { "x-own": "1" } }); export default { fetch };',
    ];
    for (const [at, code] of forms.entries()) {
      await publish(`form-${at}`, code);
      assert.equal((await call("OPTIONS", `form-${at}`)).headers["x-own"], "1", code);
    }
  });

  it("is answered by the service for other code, which does not run", async () => {
    const others = [
      "globalThis.ran = (globalThis.ran ?? 0) + 1; return globalThis.ran",
      "() => { globalThis.ran = (globalThis.ran ?? 0) + 1; return globalThis.ran }",
      // The text looks like that of a handler, so the guest decides.
      "({ fetch: 1 }); module.exports = () => (globalThis.ran = (globalThis.ran ?? 0) + 1)",
      "(context) => { const fetch = 1; globalThis.ran = (globalThis.ran ?? 0) + 1; return globalThis.ran }",
    ];
    for (const [at, code] of others.entries()) {
      await publish(`other-${at}`, code);
      for (let times = 0; times < 2; times++) {
        const { status, headers } = await call("OPTIONS", `other-${at}`, { headers: PREFLIGHT });
        assert.deepEqual([status, headers["access-control-allow-origin"]], [204, "*"]);
        assert.match(headers["access-control-allow-methods"]!, /PUT/);
      }
      assert.equal((await call("GET", `other-${at}`)).text, "1", code);
    }
  });

  it("of a task that is not public, or of none, is answered by the service without a run", async () => {
    await publish("private", HANDLER, { public: false });
    for (const path of ["private", "none", ""]) {
      const { status, headers } = await call("OPTIONS", path);
      assert.deepEqual([status, headers["access-control-allow-origin"], headers["caisson-run"]], [204, "*", undefined]);
    }
  });

  it("counts as a run of the handler", async () => {
    await publish("limited", HANDLER, { limits: { token: { day: 1 } } });
    assert.equal((await call("OPTIONS", "limited")).status, 204);
    assertProblem(await call("OPTIONS", "limited"), 429, "token_limited");
  });
});

describe("the Access-Control headers of an answer", () => {
  it("are those of the fetch handler, and otherwise those of the service", async () => {
    await publish("answers", HANDLER);
    const own = await call("GET", "answers");
    assert.equal(own.headers["access-control-allow-origin"], "https://shop.example");
    assert.equal(own.headers["access-control-expose-headers"], undefined);
    await publish("silent", 'export default { fetch: () => new Response("hi") }');
    assert.equal((await call("GET", "silent")).headers["access-control-allow-origin"], undefined);
    const response = 'new Response("hi", { headers: { "access-control-allow-origin": "https://other.example" } })';
    await publish("function", `() => ${response}`);
    assert.equal((await call("GET", "function")).headers["access-control-allow-origin"], "*");
    const free = await service.run("shop", `export default { fetch: () => ${response} }`);
    assert.equal(free.headers["access-control-allow-origin"], "*");
  });

  it("of a failure are those of the service, so that a page can read the failure", async () => {
    await publish("fails", 'export default { fetch() { throw new Error("no") } }');
    const failed = await call("GET", "fails");
    assertProblem(failed, 500, "task_threw");
    assert.equal(failed.headers["access-control-allow-origin"], "*");
  });
});

describe("HEAD of a named task", () => {
  it("is GET without a body", async () => {
    await publish("head", HANDLER);
    const got = await call("GET", "head");
    const head = await call("HEAD", "head");
    assert.deepEqual([head.status, head.text, head.headers["x-method"]], [200, "", "GET"]);
    assert.equal(head.headers["content-length"], got.headers["content-length"]);
    assert.equal(head.headers["content-type"], "application/json");
    await publish("value", "(context) => context.method");
    const value = await call("HEAD", "value");
    assert.deepEqual([value.status, value.text, value.headers["content-length"]], [200, "", "5"]);
  });

  it("of a body without an end is answered with the head", async () => {
    const code = `export default { fetch: () => new Response(new ReadableStream({
      async pull(controller) { await new Promise((next) => setTimeout(next, 10)); controller.enqueue(new Uint8Array(9)); } })) }`;
    await publish("endless", code, { timeout: "20s" });
    const head = await call("HEAD", "endless");
    assert.equal(head.status, 200);
    // No client reads the body, so the run ends as if its client had left, long before its timeout.
    const record = `/api/runs/shop/${head.headers["caisson-run"]}`;
    const statusOf = async (): Promise<unknown> =>
      ((await service.request("GET", record)).json() as { status: string }).status;
    await until(async () => (await statusOf()) === "cancelled", "the run has ended");
  });

  it("needs the same token as GET", async () => {
    await publish("closed", "1", { public: false });
    assert.equal((await call("HEAD", "closed")).status, 403);
    assert.equal((await service.request("HEAD", "/api/run/shop/closed")).status, 200);
    assert.equal((await service.request("HEAD", "/api/run/shop")).status, 405);
  });
});

const ECHO = "(context) => [context.headers.authorization ?? null, context.url, context.query.key ?? null]";

async function seen(options: RequestOptions, query = ""): Promise<unknown[]> {
  const answer = await call("GET", `echo${query}`, options);
  assert.equal(answer.status, 200, answer.text);
  return answer.json() as unknown[];
}

async function policy(query: string): Promise<string> {
  return (await call("GET", `page${query}`)).headers["content-security-policy"]!;
}

describe("the credentials of a request to a public task", () => {
  it("reach the task if they are not the service's", async () => {
    await publish("echo", ECHO);
    const head = Buffer.from('{"alg":"HS256","typ":"JWT"}').toString("base64url");
    const foreign = `${head}.e30.${createHmac("sha256", "x").update(`${head}.e30`).digest("base64url")}`;
    for (const authorization of ["Bearer abc", "Basic YTpi", `Bearer ${foreign}`, "Signature keyId=1", "x"]) {
      assert.equal((await seen({ headers: { authorization } }))[0], authorization);
    }
    const [, url, key] = await seen({}, `?key=abc&b=${foreign}`);
    assert.deepEqual([url, key], [`${service.url}/api/run/shop/echo?key=abc&b=${foreign}`, "abc"]);
  });

  it("never reach it if they are or look like a token of the service", async () => {
    await publish("echo", ECHO);
    const [head = "", payload = ""] = service.admin.split(".");
    const basic = Buffer.from(`${service.admin}:`).toString("base64");
    const spaced = Buffer.from('{ "typ" : "Caisson+JWT" }').toString("base64url");
    const tokens = [service.admin, `${head}.${payload}.forged`, `${head}..`, `${spaced}.e30.AA`];
    const thrice = Buffer.from(basic).toString("base64");
    const often = Buffer.from(Buffer.from(thrice).toString("base64")).toString("base64");
    const headers = [
      ...tokens.flatMap((each) => [`Bearer ${each}`, each, `bearer  ${each}`, `Bearer${each}`, `Bearer%20${each}`]),
      ...tokens.flatMap((each) => [`Bearer_${each}`, `Token-${each}`, `Be/${each}`, `%65${each.slice(1)}`]),
      ...[basic, Buffer.from(`Bearer${service.admin}`).toString("base64"), thrice, often].map(
        (each) => `Basic ${each}`,
      ),
    ];
    for (const authorization of headers) {
      assert.equal((await seen({ headers: { authorization } }))[0], null, authorization);
    }
    const rest = service.admin.slice(1);
    for (const token of [...tokens, `%65${rest}`, `%2565${rest}`, `t${service.admin}`, `Bearer${service.admin}`]) {
      const [, url, key] = await seen({}, `?a=1&key=${token}&%6bey=${token}`);
      assert.deepEqual([url, key], [`${service.url}/api/run/shop/echo?a=1`, null]);
    }
  });

  it("never reach a task that is not public, or code in the request", async () => {
    await publish("own", ECHO, { public: false });
    const own = (await service.request("GET", "/api/run/shop/own")).json() as unknown[];
    assert.deepEqual([own[0], own[2]], [null, null]);
    const free = await service.run("shop", ECHO, { token: null, query: { key: service.admin } });
    assert.deepEqual((free.json() as unknown[])[2], null);
  });

  it("forbid scripts in the page of the task only if the URL holds a token", async () => {
    await publish(
      "page",
      'export default { fetch: () => new Response("<p>", { headers: { "content-type": "text/html" } }) }',
    );
    assert.match(await policy("?key=abc"), /allow-scripts/);
    assert.doesNotMatch(await policy(`?key=${service.admin}`), /allow-scripts/);
  });
});
