import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { inspect } from "node:util";

import { Caisson, CaissonError, type ErrorCode, type RunEvent } from "../../client/src/index.ts";
import { type CodeServer, serveCode } from "../contract/code-server.ts";
import { NO_WALL, type Service, startService } from "../contract/service.ts";
import { until } from "../contract/until.ts";
import { freePort } from "../ports.ts";

let service: Service;
let server: CodeServer;
let caisson: Caisson;

before(async () => {
  server = await serveCode((_, response) => response.end("(context) => ({ pinned: context.body })"));
  service = await startService([...NO_WALL, "--egress-allow", server.address]);
  caisson = new Caisson({ url: service.url, token: service.admin });
});
after(async () => {
  await service.stop();
  await server.close();
});

/** Returns the error of a promise that must fail. */
async function failure(promise: Promise<unknown>, code: ErrorCode): Promise<CaissonError> {
  const error = await promise.then(
    (value) => assert.fail(`it returned ${JSON.stringify(value)}`),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof CaissonError, String(error));
  assert.equal(error.code, code, error.message);
  return error;
}

/** A client whose service answers once, with this. */
function answering(answer: Response): Caisson {
  return new Caisson({ url: "http://proxy.example", fetch: () => Promise.resolve(answer) });
}

async function collect<T>(events: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const event of events) all.push(event);
  return all;
}

/** Issues a token, and returns a client with it. */
async function clientOf(claims: Parameters<Caisson["tokens"]["issue"]>[0]): Promise<{ client: Caisson; jti: string }> {
  const { token, jti } = await caisson.tokens.issue(claims);
  return { client: new Caisson({ url: service.url, token: () => Promise.resolve(token) }), jti };
}

describe("run", () => {
  it("returns JSON values as they are", async () => {
    for (const value of [42, "text", "", 0, false, null, [1, { a: "ü\u2028" }]]) {
      assert.deepEqual(await caisson.run("demo", `return ${JSON.stringify(value)}`), value);
    }
    assert.equal(await caisson.run("demo", "const nothing = 1; if (nothing) {}"), null);
  });

  it("gives data, query and modules to the code", async () => {
    const code = `import { two } from "./lib.ts"; export default (context) => [context.data.n * two, context.query]`;
    const options = {
      data: { n: 21 },
      query: { a: "1", b: [2, true] },
      modules: { "./lib.ts": "export const two: number = 2" },
    };
    assert.deepEqual(await caisson.run("demo", code, options), [42, { a: "1", b: ["2", "true"] }]);
  });

  it("returns a Response if the code returns one, bytes, a Blob or a stream", async () => {
    const response = await caisson.run<Response>(
      "demo",
      'return new Response("näh", { status: 404, headers: { "x-a": "b" } })',
    );
    assert.ok(response instanceof Response);
    assert.deepEqual([response.status, response.headers.get("x-a"), await response.text()], [404, "b", "näh"]);
    const json = await caisson.run<Response>("demo", "return Response.json({ a: 1 }, { status: 201 })");
    assert.deepEqual([json.status, await json.json()], [201, { a: 1 }]);
    const bytes = await caisson.run<Response>("demo", "return new Uint8Array([0, 1, 254, 255])");
    assert.deepEqual([...new Uint8Array(await bytes.arrayBuffer())], [0, 1, 254, 255]);
    const blob = await caisson.run<Response>("demo", 'return new Blob(["hi"], { type: "text/css" })');
    assert.deepEqual([blob.headers.get("content-type"), await blob.text()], ["text/css", "hi"]);
    const stream = await caisson.run<Response>("demo", 'return (function* () { yield "a"; yield "b" })()');
    assert.equal(await stream.text(), "ab");
    const empty = await caisson.run<Response>("demo", "return new Response(null, { status: 204 })");
    assert.deepEqual([empty.status, empty.body], [204, null]);
  });

  it("returns the body of a Response that is declared as JSON, whatever it is", async () => {
    const json = '{ headers: { "content-type": "application/json" } }';
    for (const body of ["aGk=", '"aGk="', "{", ""]) {
      const answer = await caisson.run<Response>("demo", `return new Response(${JSON.stringify(body)}, ${json})`);
      assert.equal(await answer.text(), body);
    }
  });

  it("returns a long result as a whole, and fails if the service cuts it", async () => {
    const long = await caisson.run<string>("demo", "'x'.repeat(5 * 2 ** 20)");
    assert.equal(long.length, 5 * 2 ** 20);
    const error = await failure(caisson.run("demo", "new Uint8Array(7 * 2 ** 20)"), "result_too_large");
    assert.equal(error.status, null);
    const streamed =
      "return new Response(new ReadableStream({ pull(to) { this.n = (this.n ?? 0) + 1; to.enqueue(new Uint8Array(2 ** 20)); if (this.n > 7) to.close() } }))";
    const cut = await failure(caisson.run("demo", streamed), "result_truncated");
    assert.ok(cut.hint !== null && cut.run !== null);
  });

  it("throws the error of the code with its position, its stack and its console", async () => {
    const code = 'console.log("before");\nnull.foo';
    const error = await failure(caisson.run("demo", code, { file: "order.js" }), "task_threw");
    assert.partialDeepStrictEqual(error.at, { file: "order.js", line: 2, column: 6 });
    assert.match(error.at!.frame!, /> 2 \| null\.foo/);
    assert.match(error.message, /^TypeError: Cannot read properties of null \(reading 'foo'\) \(order\.js:2:6\)\n./);
    assert.equal(error.taskError?.name, "TypeError");
    assert.match(error.taskError.stack!, /order\.js:2:6/);
    assert.match(error.stack!, /client\.test\.ts/, "the stack of the caller");
    assert.equal(error.record!.console![0]!.text, "before");
    assert.deepEqual([error.status, error.run], [null, error.record!.run]);
    assert.ok(!Object.keys(error).includes("record"));
    const syntax = await failure(caisson.run("demo", "return {"), "code_syntax");
    assert.deepEqual([syntax.taskError, syntax.at!.line], [null, 1]);
    assert.match(syntax.message, /\(line 1, column 9\)\n {2}return \{\n {10}\^\n./);
    const hinted = await failure(caisson.run("demo", "require('lodahs')"), "module_missing");
    assert.ok(hinted.message.endsWith(`\n${hinted.hint}`) && hinted.stack!.includes(hinted.hint!));
  });

  it("of the name of a task names the form that runs the task", async () => {
    for (const name of ["total", "send-invoice"]) {
      const hint = `The code is only a name. To run a named task, write run("shop", { task: "${name}" }).`;
      assert.equal((await failure(caisson.run("shop", name), "task_threw")).hint, hint);
      const [, { record }] = (await collect(caisson.stream("shop", name))) as [unknown, RunEvent & { type: "record" }];
      assert.equal(record.error?.hint, hint);
    }
    const other = await failure(caisson.run("shop", "return total"), "task_threw");
    assert.match(other.hint!, /declares total/);
  });

  it("that succeeds gives its hint to onHint, and otherwise prints each hint once", async ({ mock }) => {
    const code = "const a = 6;\na * 7";
    const heard: unknown[] = [];
    const heeding = new Caisson({
      url: service.url,
      token: service.admin,
      onHint: (hint, { status }) => heard.push(hint, status),
    });
    const warn = mock.method(console, "warn", () => {});
    assert.equal(await heeding.run("demo", code), null);
    assert.match(heard[0] as string, /put return before its last statement, in line 2/);
    assert.deepEqual([heard[1], warn.mock.callCount()], ["ok", 0]);
    const client = new Caisson({ url: service.url, token: service.admin });
    for (let n = 0; n < 2; n++) await client.run("demo", code);
    await client.run("demo", "return 1");
    assert.deepEqual(
      warn.mock.calls.map(({ arguments: texts }) => texts as unknown[]),
      [[`caisson: ${String(heard[0])}`]],
    );
  });

  it("throws when the time of the run is over", async () => {
    await failure(
      caisson.run("demo", "await new Promise(() => setInterval(() => {}, 1000))", { timeout: 50 }),
      "task_timeout",
    );
    await failure(caisson.run("demo", "1", { timeout: "5 s" }), "request_invalid");
  });

  it("cancels the run when its signal is aborted", async () => {
    const abort = new AbortController();
    const run = caisson.run("aborted", 'console.log("begun"); await new Promise(() => setInterval(() => {}, 1000))', {
      signal: abort.signal,
    });
    const failed = failure(run, "aborted");
    const list = (status: string): Promise<number> =>
      caisson.runs
        .list({ container: "aborted", status })
        .page()
        .then(({ runs }) => runs.length);
    await until(async () => (await list("running")) === 1, "the run has begun");
    abort.abort(new Error("enough"));
    assert.equal(((await failed).cause as Error).message, "enough");
    await until(async () => (await list("cancelled")) === 1, "the run is cancelled");
    await failure(caisson.run("aborted", "1", { signal: AbortSignal.abort() }), "aborted");
  });

  it("runs a named task with data or with a body, and a pinned token without code", async () => {
    await caisson.tasks.put("named", "echo", { code: "(context) => [context.body, context.headers['content-type']]" });
    assert.deepEqual(await caisson.run("named", { task: "echo" }, { data: { a: 1 } }), [{ a: 1 }, "application/json"]);
    assert.deepEqual(await caisson.run("named", { task: "echo" }, { body: new TextEncoder().encode("raw") }), [
      "raw",
      null,
    ]);
    const form = await caisson.run<unknown[]>("named", { task: "echo" }, { body: new URLSearchParams({ a: "1" }) });
    assert.deepEqual(form[0], { a: "1" });
    await caisson.tasks.put("named", "open", { code: "return 'public'", public: true });
    assert.equal(await new Caisson({ url: service.url }).run("named", { task: "open" }), "public");
    for (const token of [undefined, () => undefined as unknown as string]) {
      const without = new Caisson({ url: service.url, token }).run("named", { task: "echo" });
      assert.match((await failure(without, "token_missing")).hint ?? "", /its token is undefined: new Caisson/);
    }
    const { client } = await clientOf({ containers: ["named"], code: { url: server.url } });
    assert.deepEqual(await client.run("named", null, { data: [1], timeout: "5s" }), { pinned: [1] });
  });
});

describe("a request", () => {
  it("that is refused throws the problem document", async () => {
    const { client } = await clientOf({ containers: ["own"] });
    const error = await failure(client.run("other", "1"), "token_forbidden");
    assert.deepEqual([error.status, error.record], [403, null]);
    const faults = await failure(caisson.tokens.issue({ containers: ["a b"], timeout: "soon" }), "request_invalid");
    assert.equal(faults.violations.length, 2);
  });

  it("with an argument that is not valid is a TypeError, before anything is sent", async () => {
    assert.throws(() => new Caisson({ url: "ftp://localhost" }), TypeError);
    assert.throws(() => new Caisson({ url: "nowhere" }), TypeError);
    for (const name of ["", ".", "..", "\ud800", undefined as unknown as string]) {
      await assert.rejects(caisson.run(name, "1"), TypeError);
      await assert.rejects(caisson.tasks.delete("a", name), TypeError);
    }
    await assert.rejects(caisson.run("a", "1", { body: "x" }), TypeError);
    await assert.rejects(caisson.run("a", "1", { data: 1n }), TypeError);
    await assert.rejects(caisson.run("a", { task: "t" }, { query: "x=1" }), TypeError);
    await failure(caisson.run("a/../b?c#d", "1"), "container_invalid");
  });

  it("with an argument that is not valid names the argument and the right form", async () => {
    const made: [options: unknown, said: RegExp][] = [
      [undefined, /the options must be an object: new Caisson\(\{ url: /],
      [service.url, /the options must be an object: new Caisson\(\{ url: /],
      [{ baseUrl: service.url }, /there is no option baseUrl; the options are url, token, retry, onHint, fetch/],
      [{ url: service.url, onHint: true }, /^onHint must be a function, such as/],
      [{ token: "a" }, /url must be the http or https address .* such as "https:\/\/.*", not undefined/],
      [{ url: "127.0.0.1:7070" }, /url must be the http or https address .*, not "127\.0\.0\.1:7070"/],
      [{ url: service.url, token: "Bearer eyJ" }, /leave Bearer out/],
      [
        { url: service.url, token: "eyJ\nabc" },
        /^token has a line break, or another character that no token has; .*alone$/,
      ],
      [{ url: service.url, token: null }, /token must be a text, or a function that returns one/],
      [{ url: service.url, token: "" }, /token is empty; perhaps a variable of the environment is not set/],
      [{ url: service.url, retry: true }, /must be an object: retry: \{ limited: true/],
      [{ url: service.url, retry: { times: 3 } }, /there is no option times; the options are limited, maxWaitMs/],
    ];
    for (const [options, message] of made)
      assert.throws(() => new Caisson(options as { url: string }), { name: "TypeError", message });
    const circle: Record<string, unknown> = {};
    circle["circle"] = circle;
    const runs: [code: unknown, options: unknown, said: RegExp][] = [
      [
        () => 1,
        {},
        /code must be a text, \{ task: "name" \}, or null .*, not a function: give its text, such as "\(\) => 42"$/,
      ],
      [Buffer.from("() => 42"), {}, /not bytes: read the file as a text, such as readFileSync\("task\.js", "utf8"\)$/],
      [{ name: "x" }, {}, /code must be a text, \{ task: "name" \}, or null/],
      [undefined, {}, /code must be a text, \{ task: "name" \}, or null/],
      ["1", { dat: 1 }, /there is no option dat; the options are data, query, /],
      ["1", { retry: 3 }, /must be an object: retry: \{ limited: true/],
      ["1", { data: circle }, /^data must be JSON: /],
      ["1", { data: () => 1 }, /^data must be JSON, not a function/],
      ["1", { data: Promise.resolve({}) }, /^data must be JSON, not a Promise: await it$/],
      ["1", { data: { user: Promise.resolve({}) } }, /^data\.user must be JSON, not a Promise: await it$/],
      ["1", { data: new Map([["a", 1]]) }, /^data must be JSON, not a Map: send what it has$/],
      [{ task: "t" }, { data: new FormData() }, /^data must be JSON, not a FormData: send what it has$/],
      [{ code: "1" }, {}, /pinned code, not object$/],
      [Promise.resolve("1"), {}, /pinned code, not a Promise: await it$/],
      ["1", 5, /the options must be an object: run\("acme"/],
      ["1", { timeout: 5 }, /^timeout as a number is in milliseconds, .* for seconds write "5s", not 5$/],
      ["1", { signal: "x" }, /signal must be an AbortSignal/],
    ];
    for (const [code, options, message] of runs)
      await assert.rejects(caisson.run("a", code as string, options as object), { name: "TypeError", message });
    const wrong = caisson as unknown as Record<string, Record<string, (...args: unknown[]) => Promise<unknown>>>;
    const others: [called: () => Promise<unknown>, said: RegExp][] = [
      [
        () => wrong["tasks"]!["put"]!("a", "t", "return 1"),
        /must be an object such as \{ code: "return 1" \}, not string/,
      ],
      [
        () => (wrong as unknown as Caisson).run({ container: "a", code: "1" } as unknown as string, "1"),
        /^container must be a name, not object: run\("acme", "return 1"/,
      ],
      [() => caisson.run("return 6 * 7", "acme"), /^container must be a name, not code: run\("acme", "return 1"/],
      [
        () => caisson.run("my app", "1"),
        /^container must be a name, not "my app": a name has .*, such as "my-app": run\(/,
      ],
      [() => caisson.check("a", "return 1" as unknown as { code: string }), /must be an object such as \{ code/],
      [
        () => wrong["tasks"]!["put"]!("a", "t"),
        /^the third argument must be an object such as \{ code: "return 1" \}, not undefined: tasks\.put\("acme", "hello", \{ code: "return 1" \}\)$/,
      ],
      [() => wrong["tasks"]!["put"]!("a", "t", { code: () => 1 }), /^code must be JSON, not a function/],
      [() => wrong["tokens"]!["issue"]!("a"), /must be an object such as \{ containers: \["acme"\] \}/],
      [() => wrong["containers"]!["update"]!("a"), /must be an object such as \{ limits/],
      [
        async () => caisson.runs.list("acme" as unknown as object).page(),
        /the query must be an object, such as \{ container: "acme" \}/,
      ],
      [
        async () => caisson.usage("acme" as unknown as object),
        /the query must be an object, such as \{ container: "acme" \}/,
      ],
      [
        async () => caisson.containers.suspend("a", { force: true } as object),
        /there is no option force; the options are now, signal, retry: suspend\("acme", \{ now: true \}\)/,
      ],
      [
        async () => caisson.tasks.delete("a", "t", { ifmatch: "x" } as object),
        /there is no option ifmatch; the options are ifMatch, ifNoneMatch, signal, retry/,
      ],
      [async () => Array.from(caisson.tasks.list("a") as unknown as string[]), /for await \(const entry of list\)/],
      [() => caisson.runs.follow(undefined as unknown as string).next(), /container must be a name/],
    ];
    for (const [called, message] of others) {
      await assert.rejects(async () => called(), { name: "TypeError", message });
    }
    for (const [resource, name, instead] of [
      ["tasks", "create", /^there is no create: write put\("acme", "hook"/],
      ["tasks", "run", /write caisson\.run\("acme", \{ task: "hook" \}\)/],
      ["tokens", "create", /write issue\(/],
      ["limits", "set", /write caisson\.containers\.set\("acme", \{ limits/],
      ["containers", "create", /needs no creation/],
      ["runs", "logs", /write console\("acme", run\)/],
    ] as const)
      assert.throws(() => wrong[resource]![name], { name: "TypeError", message: instead });
    assert.throws(() => wrong["secrets"], /^TypeError: there is no secrets: a task or a token has them/);
    assert.match(inspect(caisson, { depth: 3 }), /^Caisson /);
    const list = caisson.tasks.list("a");
    assert.match(list.hint, /for await/);
    assert.match(inspect(list), /for await/);
    for (const name of ["map", "length", "filter", "forEach", "tasks"])
      assert.throws(
        () => (list as unknown as Record<string, unknown>)[name],
        /^TypeError: a list comes in pages: use for await/,
      );
    // A date has its own JSON.
    assert.equal(await caisson.run("a", "context.body.at", { data: { at: new Date(0) } }), "1970-01-01T00:00:00.000Z");
    const late = new Caisson({ url: service.url, token: () => "bearer eyJ" });
    await assert.rejects(late.run("a", "1"), { name: "TypeError", message: /leave Bearer out/ });
  });

  it("to a url with too much or with the wrong protocol names what to change", async () => {
    for (const path of ["/api", "/mcp/acme", "/api/run/acme"]) {
      const client = new Caisson({ url: `${service.url}${path}/`, token: service.admin });
      const { hint } = await failure(client.tokens.introspect(), "not_found");
      assert.equal(hint, `Leave ${path} out of the url: ${service.url}`);
    }
    const secure = new Caisson({ url: service.url.replace("http:", "https:"), token: service.admin });
    assert.match((await failure(secure.run("a", "1"), "unreachable")).hint!, /may speak http, and not https/);
  });

  it("that nothing answers throws unreachable", async () => {
    const error = await failure(
      new Caisson({ url: `http://127.0.0.1:${await freePort()}` }).run("a", "1"),
      "unreachable",
    );
    assert.match(error.message, /ECONNREFUSED/);
    assert.ok(error.hint !== null && error.cause instanceof TypeError && error.status === null);
  });

  it("that a proxy answers throws unexpected_answer", async () => {
    const answers: Response[] = [
      new Response("<h1>Bad gateway</h1>", { status: 502, headers: { "content-type": "text/html" } }),
      new Response("<h1>Welcome</h1>", { status: 200, headers: { "content-type": "text/html" } }),
      new Response(null, { status: 302, headers: { location: "https://login.example/" } }),
    ];
    for (const answer of answers) {
      const client = new Caisson({ url: "http://proxy.example", fetch: () => Promise.resolve(answer) });
      const error = await failure(client.run("a", "1"), "unexpected_answer");
      assert.equal(error.status, answer.status);
    }
  });

  it("that another service answers with JSON throws unexpected_answer", async () => {
    const error = await failure(answering(Response.json({ ok: true })).run("a", "1"), "unexpected_answer");
    assert.equal(
      error.message,
      "the answer is not of caisson: it is JSON, and no record of a run\nCheck the url. A proxy may have answered.",
    );
  });

  it("that a program answers which is not caisson throws unexpected_answer, and fills no memory", async () => {
    let sent = 0;
    const pull = (controller: ReadableStreamDefaultController): void => {
      sent += 2 ** 20;
      controller.enqueue(Buffer.alloc(2 ** 20, " "));
    };
    const endless = (status: number, type: string): Response => {
      return new Response(new ReadableStream({ pull }), { status, headers: { "content-type": type } });
    };
    const headers = { "content-type": "application/problem+json" };
    const problems = [null, { code: 1, detail: "d" }, { code: "c", detail: {} }];
    const record = { status: "ok", error: null, run: "r", resultTruncated: false, resultEncoding: "json", result: 1 };
    for (const answer of [
      ...[endless(200, "application/json"), endless(400, "application/problem+json")],
      ...problems.map((json) => Response.json(json, { status: 400, headers })),
      ...[Response.json(null), Response.json({ ...record, response: { status: 99, headers: {} } })],
      Response.json({ ...record, resultEncoding: "base64", response: { status: 200, headers: {} }, result: "%" }),
    ]) {
      const client = new Caisson({ url: "http://proxy.example", fetch: () => Promise.resolve(answer) });
      await failure(client.run("a", "1"), "unexpected_answer");
    }
    assert.ok(sent < 200 * 2 ** 20, `${sent} bytes were read`);
  });

  it("keeps the path of the address", async () => {
    const asked: string[] = [];
    const own: typeof fetch = (input) => {
      asked.push(input as string);
      return Promise.resolve(Response.json({ usage: [], truncated: false, nodes: { asked: 1, answered: 1 } }));
    };
    await new Caisson({ url: "http://proxy.example/caisson/", fetch: own }).usage({ by: "task" });
    assert.deepEqual(asked, ["http://proxy.example/caisson/api/usage?by=task"]);
  });
});

describe("the state of the service", () => {
  it("is read without a token", async () => {
    const { status, isolation } = await new Caisson({ url: service.url }).health();
    assert.deepEqual([status, isolation], ["ok", "none"]);
  });

  it("is read also if the service takes no runs, and is an error if something else answers", async () => {
    const draining = Response.json({ status: "draining", isolation: "none", version: "0.1.0" }, { status: 503 });
    assert.equal((await answering(draining).health()).status, "draining");
    await failure(answering(new Response("no backend", { status: 503 })).health(), "unexpected_answer");
    await failure(answering(new Response("no such host", { status: 502 })).health(), "unexpected_answer");
    // Other methods still take this status as a failure.
    await failure(answering(Response.json({}, { status: 503 })).usage(), "unexpected_answer");
  });
});

describe("usage as CSV", () => {
  it("comes with what it lacks: the rows that were added up, and the nodes that did not answer", async () => {
    const headers = { "caisson-nodes": "asked=3, answered=2", "caisson-truncated": "?1" };
    const answer = new Response("from,container\r\n", { headers });
    const client = answering(answer);
    const expected = { csv: "from,container\r\n", truncated: true, nodes: { asked: 3, answered: 2 } };
    assert.deepEqual(await client.usageCsv(), expected);
  });
});

describe("a limit", () => {
  it("is an error with the time to wait, unless the request waits", async () => {
    const { client } = await clientOf({ containers: ["demo"], limits: { token: { second: 1 } } });
    assert.equal(await client.run("demo", "1"), 1);
    const error = await failure(client.run("demo", "2"), "token_limited");
    assert.equal(error.status, 429);
    assert.ok(error.retryAfterMs! > 0 && error.retryAfterMs! <= 1_000);
    assert.equal(error.violations[0]!["window"], "second");
    const values = await Promise.all([3, 4].map((n) => client.run("demo", `${n}`, { retry: { limited: true } })));
    assert.deepEqual(values, [3, 4]);
  });

  it("of a proxy is waited for, too", async () => {
    const answers = [
      new Response("slow down", { status: 429, headers: { "retry-after": "0" } }),
      Response.json({ usage: [], truncated: false, nodes: { asked: 1, answered: 1 } }),
    ];
    const own: typeof fetch = () => Promise.resolve(answers.shift()!);
    const client = new Caisson({ url: "http://proxy.example", fetch: own, retry: { limited: true } });
    assert.deepEqual((await client.usage()).usage, []);
  });

  it("with a time that is not a number is waited for as if it named none", async () => {
    let sent = 0;
    const own: typeof fetch = () => {
      sent += 1;
      const problem = { code: "token_limited", detail: "d", retryAfterMs: "abc" };
      const headers = { "content-type": "application/problem+json" };
      return Promise.resolve(new Response(JSON.stringify(problem), { status: 429, headers }));
    };
    const retry = { limited: true, maxWaitMs: 999 };
    const client = new Caisson({ url: "http://proxy.example", fetch: own, retry });
    const signal = AbortSignal.timeout(5_000);
    const error = await failure(client.run("a", "1", { signal }), "token_limited");
    assert.deepEqual([error.retryAfterMs, sent], [null, 1]);
  });

  it("is waited for as long as packages are being built, with the packages in each request", async () => {
    const building = { status: 503, code: "packages_building", title: "t", detail: "d", type: "about:blank" };
    const headers = { "content-type": "application/problem+json", "retry-after": "0" };
    const sent: unknown[] = [];
    const own: typeof fetch = (_, init) => {
      sent.push((JSON.parse(init!.body as string) as { packages: unknown }).packages);
      if (sent.length < 3) return Promise.resolve(new Response(JSON.stringify(building), { status: 503, headers }));
      return Promise.resolve(Response.json({ status: "ok", error: null, response: null, result: 42 }));
    };
    const client = new Caisson({ url: "http://service.example", fetch: own });
    const options = { packages: { zod: "^4" } };
    await failure(client.run("demo", "1", options), "packages_building");
    assert.equal(await client.run("demo", "1", { ...options, retry: { limited: true } }), 42);
    assert.deepEqual(sent, [options.packages, options.packages, options.packages]);
  });

  it("is an error at once if the wait would be longer than maxWaitMs, and ends with the signal", async () => {
    const { client } = await clientOf({ containers: ["demo"], limits: { token: { month: 1 } } });
    await client.run("demo", "1");
    await failure(client.run("demo", "2", { retry: { limited: true } }), "token_limited");
    const abort = new AbortController();
    const waits = client.run("demo", "2", { retry: { limited: true, maxWaitMs: 2 ** 40 }, signal: abort.signal });
    setImmediate(() => abort.abort());
    // 31 days are longer than a timer of JavaScript.
    await assert.rejects(waits, (thrown: CaissonError) => ["aborted", "token_limited"].includes(String(thrown.code)));
  });
});

describe("record and stream", () => {
  it("return the record of a run, also if it failed", async () => {
    const record = await caisson.record("demo", 'console.warn("hm"); throw new RangeError("no")');
    assert.partialDeepStrictEqual(record, { status: "threw", console: [{ level: "warn", text: "hm" }] });
    const cut = await caisson.record("demo", "'x'.repeat(300 * 1024)");
    assert.equal(cut.resultTruncated, true);
  });

  it("return the events of a run as they come", async () => {
    const events: string[] = [];
    const code = 'console.log("one\\n\\ntwo"); await new Promise((go) => { globalThis.go = go }); return "done"';
    for await (const event of caisson.stream<string>("demo", code)) {
      events.push(event.type);
      if (event.type === "console") {
        assert.equal(event.text, "one\n\ntwo");
        // The run is in flight: only this event lets it end.
        await caisson.run("demo", "globalThis.go()");
      }
      if (event.type === "result") assert.equal(event.value, "done");
      if (event.type === "record") assert.equal(event.record.status, "ok");
    }
    assert.deepEqual(events, ["console", "result", "record"]);
  });

  it("name the loop that reads the events, for a program that reads them like a list or a result", async () => {
    const message = "stream returns events: use for await (const event of caisson.stream(...))";
    const stream = caisson.stream("demo", "1");
    for (const name of ["value", "result", "status", "on"])
      assert.throws(() => (stream as unknown as Record<string, unknown>)[name], { name: "TypeError", message });
    assert.throws(() => [...(stream as unknown as Iterable<unknown>)], { name: "TypeError", message });
    assert.match(inspect(stream), /AsyncGenerator/);
    assert.equal((await collect(stream)).length, 2);
  });

  it("return the error of a run as an event, and throw if it is refused", async () => {
    const events: RunEvent[] = await collect(caisson.stream("demo", "throw new Error('no')"));
    assert.deepEqual(
      events.map(({ type }) => type),
      ["error", "record"],
    );
    assert.ok(events[0]!.type === "error" && events[0]!.error.at?.line === 1);
    await failure(collect(caisson.stream("demo", "")), "code_missing");
    const [answer] = await collect(caisson.stream<Response>("demo", "return new Response('x', { status: 418 })"));
    assert.ok(answer?.type === "result" && answer.value.status === 418);
  });

  it("cancel the run if the caller stops reading", async () => {
    for await (const event of caisson.stream(
      "left",
      'console.log("hi"); await new Promise(() => setInterval(() => {}, 1000))',
    )) {
      assert.equal(event.type, "console");
      break;
    }
    await until(
      async () => (await caisson.runs.list({ container: "left", status: "cancelled" }).page()).runs.length === 1,
      "the run is cancelled",
    );
  });
});

describe("the resources", () => {
  it("manage tasks with versions and preconditions", async () => {
    const { tasks } = caisson;
    const first = await tasks.put("work", "sum", { code: "return 1", labels: { team: "a" } }, { ifNoneMatch: "*" });
    await failure(tasks.put("work", "sum", { code: "return 2" }, { ifNoneMatch: "*" }), "precondition_failed");
    const second = await tasks.put("work", "sum", { code: "return 2" }, { ifMatch: first.etag });
    await failure(tasks.put("work", "sum", { code: "return 3" }, { ifMatch: first.etag }), "precondition_failed");
    assert.deepEqual(
      (await tasks.versions("work", "sum")).map(({ version }) => version),
      [2, 1],
    );
    assert.equal((await tasks.dryRun("work", "sum", { code: "return 9" })).result, 9);
    await tasks.rollback("work", "sum", first.version, { ifMatch: second.etag });
    assert.equal((await tasks.get("work", "sum")).code, "return 1");
    assert.equal((await tasks.delete("work", "sum")).deleted, true);
    await failure(tasks.get("work", "sum"), "not_found");
    await failure(tasks.put("work", "sum", { code: "return {" }), "code_syntax");
  });

  it("list in pages, one after the other, and from a cursor", async () => {
    for (const name of ["a", "b", "c"]) await caisson.tasks.put("pages", name, { code: "1" });
    const names = async (list: AsyncIterable<{ name: string }>): Promise<string> =>
      (await collect(list)).map(({ name }) => name).join("");
    assert.equal(await names(caisson.tasks.list("pages", { limit: 2 })), "abc");
    const pages = await collect(caisson.tasks.list("pages", { limit: 1 }).pages());
    assert.deepEqual(
      pages.map(({ tasks }) => tasks.length),
      [1, 1, 1],
    );
    assert.equal(await names(caisson.tasks.list("pages", { cursor: pages[0]!.next! })), "bc");
    assert.equal(await names(caisson.tasks.list("none")), "");
  });

  it("do not read the pages of a list again and again", async () => {
    let count = 0;
    const own: typeof fetch = () => {
      count += 1;
      return Promise.resolve(Response.json({ tasks: [], next: `page-${count % 3}` }));
    };
    const client = new Caisson({ url: "http://proxy.example", fetch: own });
    await assert.rejects(async () => {
      for await (const task of client.tasks.list("demo")) assert.fail(JSON.stringify(task));
    }, /^CaissonError: the list repeats a page$/);
    assert.ok(count < 20, `${count} pages`);
  });

  it("manage tokens, limits and containers", async () => {
    const { tokens, limits, containers } = caisson;
    const { token, jti } = await tokens.issue({
      containers: ["managed"],
      limits: { container: { minute: 5 } },
      labels: { a: "b" },
    });
    const client = new Caisson({ url: service.url, token });
    await client.run("managed", "1");
    assert.partialDeepStrictEqual(await client.limits.getContainer("managed"), { minute: 4, day: 0 });
    assert.partialDeepStrictEqual((await client.limits.getContainer("managed", { detail: true })).minute, {
      limit: 5,
      used: 1,
    });
    assert.equal((await limits.resetContainer("managed")).minute, 0);
    assert.equal((await client.limits.getToken(jti)).minute, 0);
    assert.equal((await limits.resetToken(jti)).minute, 0);
    assert.equal((await tokens.get(jti)).runs, 1);
    assert.partialDeepStrictEqual(await tokens.introspect(token), { active: true, jti });
    assert.partialDeepStrictEqual(await tokens.introspect(), { active: true });
    assert.deepEqual(
      (await collect(tokens.list({ label: ["a=b"] }))).map((each) => each.jti),
      [jti],
    );
    await containers.set("managed", { limits: { minute: 60 } });
    const policy = await containers.update("managed", { labels: { team: "x" }, description: "d" });
    assert.partialDeepStrictEqual(policy, { limits: { minute: 60 }, labels: { team: "x" }, suspended: null });
    assert.ok((await collect(containers.list({ label: ["team=x"] }))).some(({ container }) => container === "managed"));
    assert.ok((await containers.suspend("managed", { now: true })).suspended);
    await failure(client.run("managed", "1"), "container_suspended");
    assert.equal((await containers.resume("managed")).suspended, null);
    assert.equal((await containers.restart("managed")).restarted, true);
    assert.deepEqual((await containers.reset("managed")).limits, {});
    assert.equal((await containers.get("managed")).description, null);
    await tokens.revoke(jti);
    await failure(client.run("managed", "1"), "token_invalid");
    const secret = await tokens.issue({ containers: ["managed"], secrets: { A: "1" }, secretsReadable: true });
    await tokens.replaceSecrets(secret.jti, { A: "2" });
    const reader = new Caisson({ url: service.url, token: secret.token });
    assert.equal(await reader.run("managed", "return context.secrets.A === '2'"), true);
  });

  it("read and cancel runs, usage, failures and the audit", async () => {
    const { runs } = caisson;
    const record = await caisson.record("read", 'console.log("line"); throw new TypeError("no")');
    assert.equal((await runs.get("read", record.run)).status, "threw");
    assert.deepEqual(
      (await runs.console("read", record.run)).map(({ text }) => text),
      ["line"],
    );
    const { failures } = await caisson.failures({ container: "read" });
    assert.partialDeepStrictEqual(failures, [{ name: "TypeError", count: 1 }]);
    const usage = await caisson.usage({ by: "container" });
    assert.ok(usage.nodes.answered === 1);
    const { csv, truncated, nodes } = await caisson.usageCsv({ by: "task" });
    assert.match(csv, /^from,container,task,runs,/);
    assert.match(csv, /,read,/);
    assert.deepEqual([truncated, nodes], [false, { asked: 1, answered: 1 }]);
    assert.ok((await collect(caisson.audit({ action: "token issued", limit: 2 }))).length > 2);
    const stuck = caisson.run("read", "await new Promise(() => setInterval(() => {}, 1000))");
    const failed = failure(stuck, "run_cancelled");
    await until(
      async () => (await runs.list({ container: "read", status: "running" }).page()).runs.length === 1,
      "the run has begun",
    );
    const [running] = (await runs.list({ container: "read", status: "running" }).page()).runs;
    assert.equal((await runs.cancel("read", running!.run)).status, "cancelled");
    await failed;
  });
});
