import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { collect, respond } from "./http.ts";
import { assertProblem } from "./problem.ts";
import { type Service, shareService } from "./service.ts";

const MIB = 2 ** 20;

let service: Service;

before(async () => {
  service = await shareService();
});
after(() => service.stop());

describe("JSON", () => {
  const results: Record<string, string> = {
    "'text'": '"text"',
    "''": '""',
    "'\\u2028é\\u{1F600}'": '"\u2028é\u{1F600}"',
    "0": "0",
    "-0": "0",
    false: "false",
    null: "null",
    undefined: "null",
    NaN: "null",
    "[undefined, () => 1, Symbol()]": "[null,null,null]",
    "({ a: undefined, b: () => 1, c: 1 })": '{"c":1}',
    "({ toJSON: () => 'own' })": '"own"',
    "new Date(0)": '"1970-01-01T00:00:00.000Z"',
    "new Map([[1, 2]])": "{}",
    "new Set([1])": "{}",
    "/x/": "{}",
    "new Boolean(false)": "false",
    "Object.create({ inherited: 1 })": "{}",
    "JSON.parse('{\"__proto__\": 1}')": '{"__proto__":1}',
    "[new Error('inside')]": "[{}]",
  };
  for (const [code, expected] of Object.entries(results)) {
    it(`${code} is ${expected}`, async () => {
      const answer = await service.run("json", code);
      assert.equal(answer.status, 200, answer.text);
      assert.match(answer.headers["content-type"]!, /^application\/json/);
      assert.equal(answer.text, expected);
      assert.equal(answer.headers["content-length"], `${Buffer.byteLength(expected)}`);
    });
  }

  const unserializable = [
    "1n",
    "({ a: [1n] })",
    "const a = {}; a.a = a; return a",
    "Symbol()",
    "() => () => 1",
    "(cb) => cb(null, () => 1)",
  ];
  for (const code of unserializable) {
    it(`${code} cannot be serialized`, async () => {
      assertProblem(await service.run("json", code), 500, "result_unserializable");
    });
  }

  it("a returned Error is task_threw", async () => {
    const problem = assertProblem(await service.run("json", "new RangeError('given back')"), 500, "task_threw");
    assert.equal(`${problem.error!.name} ${problem.error!.message}`, "RangeError given back");
  });

  it("a toJSON that throws is the task's error", async () => {
    const answer = await service.run("json", "({ toJSON() { throw new Error('no') } })");
    assert.equal(answer.status, 500);
    assert.equal(answer.headers["caisson-fault"], "task");
  });

  it("may have 6 MiB and not a byte more", async () => {
    const exact = await service.run("json", `"x".repeat(${6 * MIB - 2})`);
    assert.equal(exact.bytes.length, 6 * MIB);
    assertProblem(await service.run("json", `"x".repeat(${6 * MIB - 1})`), 500, "result_too_large");
    assertProblem(await service.run("json", `"é".repeat(${3 * MIB})`), 500, "result_too_large");
    assertProblem(await service.run("json", `new Array(5e6).fill("xx")`), 500, "result_too_large");
  });
});

describe("bytes and streams", () => {
  const sources = {
    "an ArrayBuffer": "Uint8Array.of(0, 255, 10).buffer",
    "a typed array": "Uint8Array.of(0, 255, 10)",
    "a view of a part of a buffer": "Uint8Array.of(9, 0, 255, 10, 9).subarray(1, 4)",
    "a Buffer": "Buffer.from([0, 255, 10])",
    "a ReadableStream":
      "new ReadableStream({ start(c) { c.enqueue(Uint8Array.of(0, 255)); c.enqueue(Uint8Array.of(10)); c.close() } })",
    "a generator's iterator": "function* () { yield Uint8Array.of(0); yield Uint8Array.of(255, 10) }",
    "an async generator's iterator":
      "async function* () { yield Uint8Array.of(0); await null; yield Uint8Array.of(255, 10) }",
  };
  for (const [what, code] of Object.entries(sources)) {
    it(`${what} is answered without change`, async () => {
      const answer = await service.run("bytes", code);
      assert.equal(answer.headers["content-type"], "application/octet-stream");
      assert.deepEqual([...answer.bytes], [0, 255, 10]);
    });
  }

  it("a Blob is answered with its type", async () => {
    const answer = await service.run("bytes", "new Blob(['text'], { type: 'text/x-own' })");
    assert.equal(`${answer.headers["content-type"]} ${answer.text}`, "text/x-own text");
  });
});

describe("a Response", () => {
  it("answers with its status, headers and body", async () => {
    const code =
      "new Response('made', { status: 201, headers: { 'content-type': 'text/x-own', 'x-own': 'a', etag: '\"1\"' } })";
    const answer = await service.run("response", code);
    assert.equal(answer.status, 201);
    assert.equal(answer.text, "made");
    assert.equal(answer.headers["content-type"], "text/x-own");
    assert.equal(answer.headers["x-own"], "a");
    assert.equal(answer.headers["etag"], '"1"');
    assert.equal(answer.headers["caisson-fault"], undefined);
  });

  for (const status of [301, 400, 401, 403, 404, 418, 429, 500, 503, 599]) {
    it(`with status ${status} is passed on, with the task at fault`, async () => {
      const answer = await service.run(
        "response",
        `new Response('own', { status: ${status}, headers: { location: '/x' } })`,
      );
      assert.equal(answer.status, status);
      assert.equal(answer.text, "own");
      assert.equal(answer.headers["caisson-fault"], "task");
      assert.equal(answer.headers["location"], "/x");
    });
  }

  for (const status of [204, 205, 304]) {
    it(`with status ${status} has no body`, async () => {
      const answer = await service.run("response", `new Response(null, { status: ${status} })`);
      assert.equal(`${answer.status} ${answer.text}`, `${status} `);
      assert.equal((await service.run("response", "6 * 7")).text, "42");
    });
  }

  it("keeps bytes without change, of any size", async () => {
    const bytes = await service.run("response", "new Response(Uint8Array.of(0, 255, 13, 10, 128))");
    assert.deepEqual([...bytes.bytes], [0, 255, 13, 10, 128]);
    const large = await service.run("response", `new Response(new Uint8Array(${8 * MIB}).fill(7))`);
    assert.equal(large.status, 200, large.text.slice(0, 200));
    assert.equal(large.bytes.length, 8 * MIB);
    assert.ok(large.bytes.every((byte) => byte === 7));
  });

  it("is streamed: the first bytes arrive before the rest exists", async () => {
    const code = `(context) => new Response(new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode("first"));
        globalThis.goOn = () => { controller.enqueue(new TextEncoder().encode(" last")); controller.close(); };
      },
    }))`;
    const response = await respond(service.port, "POST", "/api/run/response", { token: service.admin, body: code });
    const first = new Promise((resolve) => response.once("data", (chunk: Buffer) => resolve(chunk.toString())));
    const whole = collect(response);
    assert.equal(await first, "first");
    await service.run("response", "goOn()");
    assert.equal((await whole).text, "first last");
  });

  it("that breaks after its head is cut, and never looks complete", async () => {
    const code = `new Response(new ReadableStream({
      pull(controller) { this.n ??= 0; if (this.n++ < 2) controller.enqueue(new Uint8Array(9)); else controller.error(new Error("broken")); },
    }))`;
    const answer = await service.run("response", code);
    assert.equal(answer.status, 200);
    assert.equal(answer.complete, false);
    assert.equal((await service.run("response", "6 * 7")).text, "42");
  });

  it("passes only the headers of the allow-list", async () => {
    const kept = {
      "cache-control": "max-age=5",
      "content-disposition": "inline",
      "content-language": "de",
      etag: '"a"',
      expires: "0",
      "last-modified": "Thu, 01 Jan 1970 00:00:00 GMT",
      link: "</a>; rel=next",
      location: "/b",
      "retry-after": "5",
      vary: "accept",
      "x-own": "1",
      "x-nextcloud": "1",
      "x-cache": "MISS",
      "x-request-id": "1",
      "x-ratelimit-limit": "60",
    };
    const dropped = {
      "access-control-allow-origin": "https://evil.example",
      "access-control-allow-credentials": "true",
      "alt-svc": 'h3=":1"',
      "caisson-run": "forged",
      "caisson-fault": "service",
      "clear-site-data": "*",
      "content-security-policy": "default-src *",
      "content-security-policy-report-only": "default-src *",
      "keep-alive": "timeout=999",
      nel: '{"report_to":"a"}',
      "report-to": "{}",
      ratelimit: "forged",
      "ratelimit-policy": "forged",
      "referrer-policy": "unsafe-url",
      refresh: "0",
      server: "forged",
      "server-timing": "forged",
      "service-worker-allowed": "/",
      "set-cookie": "a=b",
      "strict-transport-security": "max-age=1",
      trailer: "x-a",
      upgrade: "h2c",
      "www-authenticate": "Basic",
      "x-accel-redirect": "/etc/passwd",
      "x-accel-buffering": "no",
      "x-accelerator-vary": "Cookie",
      "x-action-redirect": "/admin",
      "x-amzn-remapped-date": "forged",
      "x-appengine-blobkey": "a",
      "x-astro-reroute": "no",
      "x-body-eval": "SSI",
      "x-body-file": "/etc/passwd",
      "x-cascade": "pass",
      "x-content-digest": "a",
      "x-envoy-degraded": "true",
      "x-envoy-immediate-health-check-fail": "true",
      "x-envoy-ratelimited": "true",
      "x-kong-limit": "video=1000",
      "x-litespeed-purge": "*",
      "x-middleware-rewrite": "/admin",
      "x-nextjs-rewrite": "/admin",
      "x-nf-anything": "a",
      "x-send-file": "/etc/passwd",
      "x-vercel-cache": "a",
      "x-weblogic-cluster-list": "1.2.3.4:80",
      "x-content-type-options": "forged",
      "x-forwarded-for": "1.2.3.4",
      "x-dns-prefetch-control": "on",
      "x-download-options": "forged",
      "x-frame-options": "ALLOWALL",
      "x-lighttpd-send-file": "/etc/passwd",
      "x-lighttpd-send-tempfile": "/etc/passwd",
      "x-litespeed-location": "/etc/passwd",
      "x-original-url": "/admin",
      "x-permitted-cross-domain-policies": "all",
      "x-reproxy-file": "/etc/passwd",
      "x-reproxy-url": "http://[::1]/",
      "x-rewrite-url": "/admin",
      "x-sendfile": "/etc/passwd",
      "x-sendfile2": "0-9 /etc/passwd",
      "x-ua-compatible": "IE=7",
      "x-xss-protection": "0",
    };
    const headers = JSON.stringify({ ...kept, ...dropped });
    const codes = [
      `new Response("a", { headers: ${headers} })`,
      `(context, req, res) => { for (const [n, v] of Object.entries(${headers})) res.setHeader(n, v); res.end("a") }`,
    ];
    for (const code of codes) {
      const answer = await service.run("headers", code);
      assert.equal(answer.text, "a");
      for (const [name, value] of Object.entries(kept)) assert.equal(answer.headers[name], value, name);
      for (const [name, value] of Object.entries(dropped)) assert.notEqual(answer.headers[name], value, name);
      assert.equal(answer.headers["set-cookie"], undefined);
      assert.equal(answer.headers["x-content-type-options"], "nosniff");
    }
  });

  it("cannot claim a wrong length", async () => {
    for (const length of [1, 100]) {
      const answer = await service.run(
        "headers",
        `new Response("hello", { headers: { "content-length": "${length}" } })`,
      );
      assert.ok(
        answer.status === 500 || answer.text === "hello" || !answer.complete,
        `${answer.status} ${answer.text}`,
      );
    }
    assert.equal((await service.run("headers", "6 * 7")).text, "42");
  });

  it("cannot split the answer with a header", async () => {
    const code = "(context, req, res) => { res.setHeader('x-a', 'b\\r\\nset-cookie: a=b'); res.end() }";
    const answer = await service.run("headers", code);
    assert.equal(answer.headers["set-cookie"], undefined);
  });
});

it("the service cuts answers that one token does not read before they fill the memory, and no other token's answers", async () => {
  const [greedy, quiet] = [await service.issue({ containers: ["*"] }), await service.issue({ containers: ["*"] })];
  const big = { body: `globalThis.text ??= "x".repeat(${5 * MIB})` };
  const ask = (container: string, token: string): ReturnType<typeof respond> => {
    return respond(service.port, "POST", `/api/run/${container}`, { ...big, token });
  };
  const unread: Awaited<ReturnType<typeof ask>>[] = [];
  // Most of the memory first, because an answer of which nothing is read for half a minute is cut in any case.
  for (let count = 0; count < 60; count++) unread.push(await ask("greedy", greedy));
  const other = await ask("quiet", quiet);
  // What the kernel holds for a connection does not count, and can be some megabytes: so there are more than memory for them alone.
  for (let count = 0; count < 30; count++) unread.push(await ask("greedy", greedy));
  assert.equal((await collect(other)).complete, true);
  const complete = (await Promise.all(unread.map(collect))).map((answer) => answer.complete);
  assert.equal(complete[0], false, "the oldest is cut");
  assert.equal(complete.at(-1), true);
});
