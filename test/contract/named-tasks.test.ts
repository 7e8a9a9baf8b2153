import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, describe, it } from "node:test";

import { type CodeServer, serveCode } from "./code-server.ts";
import type { Answer, RequestOptions } from "./http.ts";
import { assertProblem } from "./problem.ts";
import { containerRecord, limitRecord } from "./record.ts";
import { type Home, leave, makeHome, NO_WALL, type Service, startService } from "./service.ts";
import { until } from "./until.ts";

const ECHO = `(c) => ({ method: c.method, url: c.url, body: c.body, data: c.data, params: c.params, secrets: c.secrets,
  turn: (globalThis.turn = (globalThis.turn ?? 0) + 1) })`;
const VERBS = ["GET", "POST", "PUT", "PATCH", "DELETE"];
const STORES_TASKS = { containers: ["*"], can: ["run", "tasks"] };

interface Described {
  version: number;
  jti: string;
  etag: string;
  [member: string]: unknown;
}

let home: Home;
let server: CodeServer;
let service: Service;
const texts = new Map<string, string>();

before(async () => {
  server = await serveCode((request, response) => response.end(texts.get(request.url!)));
  home = await makeHome();
  service = await start();
});
after(async () => {
  await leave(service, home);
  await server.close();
});

function start(): Promise<Service> {
  return startService(
    [...NO_WALL, "--egress-allow", server.address, "--token-containers", "1000", "--kill-revoked"],
    home,
  );
}

function put(task: string, json: unknown, options: RequestOptions = {}): Promise<Answer> {
  return service.request("PUT", `/api/tasks/${task}`, { json, ...options });
}

/** Puts a task that the service accepts. */
async function putTask(task: string, json: unknown, options: RequestOptions = {}): Promise<Described> {
  const answer = await put(task, json, options);
  assert.ok([200, 201].includes(answer.status), answer.text);
  return answer.json() as Described;
}

function run(task: string, options: RequestOptions = {}, method = "POST"): Promise<Answer> {
  return service.request(method, `/api/run/${task}`, options);
}

async function runJson(task: string, options: RequestOptions = {}, method = "POST"): Promise<Record<string, unknown>> {
  const answer = await run(task, options, method);
  assert.equal(answer.status, 200, answer.text);
  return answer.json() as Record<string, unknown>;
}

async function turnOf(task: string): Promise<unknown> {
  return (await runJson(task))["turn"];
}

/** Returns the status of a run without a token. */
async function statusOf(task: string): Promise<number> {
  return (await run(task, { token: null })).status;
}

async function secretsOf(task: string): Promise<unknown> {
  return (await runJson(task))["secrets"];
}

function rollBack(task: string, json: unknown, options: RequestOptions = {}): Promise<Answer> {
  return service.request("POST", `/api/tasks/${task}/rollback`, { json, ...options });
}

/** Sends eight changes at once. Each has code and a secret that belong together. */
function rivals(options: RequestOptions): Promise<Answer[]> {
  const all = Array.from({ length: 8 }, (_, rival) => {
    return put("acme/race", { code: `(c) => [${rival}, c.secrets.KEY]`, secrets: { KEY: `${rival}` } }, options);
  });
  return Promise.all(all);
}

function get(task: string, more = ""): Promise<Answer> {
  return service.request("GET", `/api/tasks/${task}${more}`);
}

describe("a named task", () => {
  it("is created once, and changed after that", async () => {
    const made = await put("acme/made", { code: ECHO });
    assert.equal(made.status, 201, made.text);
    const { version, etag, jti, ...rest } = made.json() as Described;
    assert.deepEqual([version, made.headers["etag"]], [1, `"${etag}"`]);
    assert.partialDeepStrictEqual(rest, {
      container: "acme",
      name: "made",
      url: null,
      sha256: createHash("sha256").update(ECHO).digest("hex"),
      ...{ public: false, params: {}, limits: {}, net: null, fresh: false, exp: null },
      ...{ timeout: null, errors: "hidden", record: null },
    });
    const changed = await put("acme/made", { params: { plan: "pro" } });
    assert.equal(changed.status, 200);
    assert.partialDeepStrictEqual(changed.json(), { version: 2, jti, params: { plan: "pro" } });
    assert.notEqual((changed.json() as Described).etag, etag);
  });

  it("runs at its name and at every path below it, by every method, with the request body as data", async () => {
    await putTask("acme/verbs", { code: ECHO, params: { plan: "pro" } });
    for (const method of VERBS) {
      const json = { b: 2, plan: "mine" };
      const { url, ...rest } = await runJson("acme/verbs/any/path%2F/?a=1", { json }, method);
      assert.equal(url, `${service.url}/api/run/acme/verbs/any/path%2F/?a=1`);
      assert.partialDeepStrictEqual(rest, { method, body: json, data: { a: "1", b: 2, plan: "pro" } });
    }
    assert.equal((await runJson("acme/verbs", {}, "GET"))["body"], undefined);
    assert.equal((await runJson("%61cme/v%65rbs", { body: "6 * 7" }))["body"], "6 * 7");
  });

  it("accepts a webhook without a token if it is public, and receives the path, the headers and the form", async () => {
    const code = `export default { async fetch(request, env) {
      const { pathname, searchParams } = new URL(request.url);
      const form = await request.formData();
      return Response.json([request.method, pathname, searchParams.get("q"), form.get("event"), request.headers.get("x-hub")]);
    } }`;
    await putTask("acme/hook", { code, public: true });
    const headers = { "content-type": "application/x-www-form-urlencoded", "x-hub": "1" };
    const sent = { token: null, headers, body: "event=push" };
    const seen = ["POST", "/api/run/acme/hook/github/push", "7", "push", "1"];
    assert.deepEqual((await run("acme/hook/github/push?q=7", sent)).json(), seen);
    // The sender may have a credential for another service, so the service ignores it.
    for (const authorization of ["Bearer of.another.place", "Basic YTpi", `Bearer ${service.admin}x`]) {
      const answer = await run("acme/hook/github/push?q=7", { ...sent, headers: { ...headers, authorization } });
      assert.deepEqual(answer.json(), seen);
    }
  });

  it("takes forms of 10,000 fields, so that no stranger fills the memory of its guest with fields", async () => {
    await putTask("acme/fields", { code: "(context) => context.body", public: true });
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const form = (body: string) => run("acme/fields", { token: null, headers, body });
    const most = await form(`a+b=c+d%2B&${"x&".repeat(9_998)}`);
    assert.deepEqual([most.status, (most.json() as Record<string, unknown>)["a b"]], [200, "c d+"]);
    const over = await form("x&".repeat(10_000));
    assert.equal(over.status, 400);
    assert.match(over.text, /the form has more than 10000 fields.*request_invalid/);
  });

  it("takes JSON objects of 10,000 members, so that no stranger blocks its guest with names", async () => {
    await putTask("acme/members", { code: "(context) => Object.keys(context.data).length", public: true });
    const headers = { "content-type": "application/json" };
    const send = (members: number) => {
      const body = `{${Array.from({ length: members }, (_, at) => `"k${at}":1`).join(",")}}`;
      return run("acme/members", { token: null, headers, body });
    };
    for (const members of [10_001, 350_000]) {
      const over = await send(members);
      assert.equal(over.status, 400, over.text);
      assert.match(over.text, /the JSON object has more than 10000 members.*request_invalid/);
    }
    assert.equal((await send(10_000)).text, "10000");
  });

  it("can have its code at a URL, with or without a digest", async () => {
    texts.set("/named", ECHO);
    await putTask("acme/url", { url: `${server.url}/named` });
    assert.equal((await runJson("acme/url/x", { body: "data" }))["body"], "data");
    const sha256 = createHash("sha256").update("other").digest("hex");
    assert.equal((await putTask("acme/url", { sha256 }))["url"], `${server.url}/named`);
    assertProblem(await run("acme/url", { body: "data" }), 400, "code_pinned", "task");
    assert.equal((await putTask("acme/url", { code: "() => 42" }))["url"], null);
    assert.equal((await run("acme/url")).text, "42");
  });

  it("accepts no code from its caller", async () => {
    await putTask("acme/strict", { code: ECHO });
    const query = { task_url: `${server.url}/named` };
    assertProblem(await run("acme/strict", { query }, "GET"), 400, "code_pinned");
    assert.deepEqual((await runJson("acme/strict", { json: { code: "1" } }))["body"], { code: "1" });
  });

  it("has a separate guest, and another guest for other code", async () => {
    await putTask("own/task", { code: ECHO });
    await putTask("own/other", { code: ECHO });
    assert.deepEqual([await turnOf("own/task"), await turnOf("own/task"), await turnOf("own/other")], [1, 2, 1]);
    assert.equal((await service.run("own", "globalThis.turn ?? 0")).text, "0");
    await putTask("own/task", { code: `${ECHO} ` });
    assert.equal(await turnOf("own/task"), 1);
  });

  it("exists after a restart, with its secrets and its versions", async () => {
    await putTask("acme/restart", { code: ECHO, secrets: { KEY: "kept" } });
    await putTask("acme/restart", { params: { a: 1 } });
    await service.stop();
    service = await start();
    assert.partialDeepStrictEqual(await runJson("acme/restart"), { secrets: { KEY: "kept" }, params: { a: 1 } });
    assert.equal(((await get("acme/restart", "/versions")).json() as { versions: [] }).versions.length, 2);
  });
});

describe("the code of a named task", () => {
  it("is rejected if it does not parse, with the line, and the previous code stays", async () => {
    await putTask("acme/read", { code: "1" });
    const unreadable: [string, RegExp][] = [
      ["return 1 +;", /\(line 1, column 11\)/],
      ["export default async (context) => {\n  return 1;\n", /\(line 3, column 1\)/],
      ["import os from 'node:os';\nexport const a = ;", /\(line 2, column 18\)/],
      ["export default 1;\nreturn 2;", /Illegal return statement \(line 2, column 1\)/],
      ["import { nothing } from 'node:fs';\nexport default nothing;", /named 'nothing'/],
    ];
    for (const [code, says] of unreadable) {
      const problem = assertProblem(await put("acme/read", { code }), 400, "code_syntax");
      assert.match(problem.detail, says);
      const stored = assertProblem(await service.run("acme", code), 400, "code_syntax");
      assert.equal(problem.detail, stored.detail, "the same as for a run");
    }
    assert.deepEqual([(await run("acme/read")).text, (await putTask("acme/read", {})).version], ["1", 1]);
  });

  it("is parsed and not evaluated when it is put", async () => {
    for (const code of [
      "process.exit(1)",
      "#!/usr/bin/env node\nawait new Promise(() => {}); throw new Error('evaluated')",
      "import fs from 'node:fs'; process.exit(1); export default 1;",
      "await new Promise(() => {}); export default 1;",
      "const a: number = 1; throw new Error(`${a}`)",
      "class A {}",
      "missing",
    ]) {
      for (let times = 0; times < 2; times++) assert.ok((await put("unrun/task", { code })).status < 300, code);
    }
    assertProblem(await run("unrun/task"), 500, "task_threw");
  });

  it("imports nothing when it is put, because data: and file: URLs are the author's code too", async () => {
    // If the service evaluated this code, every later module would fail to parse in the guest that parses.
    const hook =
      'import { registerHooks } from "node:module";' +
      'registerHooks({ load: () => ({ format: "module", source: "1 +", shortCircuit: true }) })';
    const url = `data:text/javascript,${encodeURIComponent(hook)}`;
    const nested = `data:text/javascript,${encodeURIComponent(`import "${url}"`)}`;
    for (const imported of [url, nested, "file:///guest/guest/main.js"]) {
      const code = `import ${JSON.stringify(imported)};\nexport default 1;`;
      assert.ok((await put("unrun/imports", { code })).status < 300, imported);
      const next = await put("unrun/next", { code: `import "node:fs"; export default ${JSON.stringify(imported)};` });
      assert.ok(next.status < 300, next.text);
    }
    const missing = 'import { nothing } from "data:text/javascript,export const a = 1"; export default nothing;';
    assertProblem(await put("unrun/imports", { code: missing }), 400, "code_syntax");
    for (const code of [
      "export const x = 1",
      "import 'node:os';\nexport function a(): number { return 1 }\nexport { a as b }",
    ]) {
      const problem = assertProblem(await put("unrun/names", { code }), 400, "code_shape");
      assert.match(problem.hint!, /^Add a default export that a run calls: `export default \(context\) => value`/);
    }
    for (const code of [
      "export const x = 1; export { x as default }",
      "export function fetch() { return new Response('x') }",
      "return `\nexport const x = 1`",
      "export * from 'node:os'",
    ])
      assert.equal((await put("unrun/handled", { code })).status < 300, true, code);
  });

  it("is stored without a check if there is no room for a guest, and its runs report the error", async () => {
    const oneSlot = await startService([...NO_WALL, "--concurrency", "1"]);
    try {
      const task = { json: { code: "return 1 +;" } };
      const held = new AbortController();
      const long = oneSlot
        .run("full", "await new Promise((never) => setTimeout(never, 60_000))", { signal: held.signal })
        .catch(() => null);
      const busy = async (): Promise<boolean> => {
        const { containers } = (await oneSlot.request("GET", "/api/containers")).json() as {
          containers: { container: string; running: number }[];
        };
        return containers.some(({ container, running }) => container === "full" && running === 1);
      };
      await until(busy, "the run is in flight");
      const stored = await oneSlot.request("PUT", "/api/tasks/full/task", task);
      assert.equal(stored.status, 201);
      assert.match(stored.headers["caisson-hint"] ?? "", /^No guest was free to parse the code, /);
      held.abort();
      await long;
      await until(async () => !(await busy()), "the run has ended");
      assertProblem(await oneSlot.request("POST", "/api/run/full/task"), 400, "code_syntax", "task");
      const other = { json: { code: "return 2 +;" } };
      assertProblem(await oneSlot.request("PUT", "/api/tasks/full/task", other), 400, "code_syntax");
    } finally {
      await oneSlot.stop();
    }
  });
});

describe("a run of a named task", () => {
  it("needs a token with run on the container; other callers cannot find out which tasks exist", async () => {
    await putTask("acme/who", { code: ECHO });
    const runner = await service.issue({ containers: ["acme"] });
    assert.equal((await runJson("acme/who", { token: runner }))["method"], "POST");
    const answers = ["acme/who", "acme/none"].map(async (task) => {
      const strangers: (string | null)[] = [
        await service.issue({ containers: ["other"] }),
        await service.issue({ containers: ["acme"], can: ["limits", "tasks"] }),
        null,
        "no.token.atall",
      ];
      return Promise.all(strangers.map(async (token) => (await run(task, { token })).text));
    });
    const [there, none] = await Promise.all(answers);
    assert.deepEqual(there, none);
    for (const text of there!) assert.match(text, /"status":403/);
    assertProblem(await run("acme/none", { token: runner }), 404, "not_found");
    assertProblem(await run("acme/-", { token: runner }), 404, "not_found");
    const pinned = await service.issue({ containers: ["acme"], code: { sha256: "a".repeat(64) } });
    assertProblem(await run("acme/who", { token: pinned }), 400, "code_pinned");
  });

  it("counts against the calling token, the token of the task and the container", async () => {
    const { jti } = await putTask("charged/task", { code: "() => 1", limits: { token: { day: 5 } } });
    const claims = { containers: ["charged"], limits: { token: { day: 2 }, container: { day: 9 } } };
    const [one, other] = [await service.issue(claims), await service.issue({ containers: ["charged"] })];
    for (let turn = 0; turn < 2; turn++) assert.equal((await run("charged/task", { token: one })).status, 200);
    assertProblem(await run("charged/task", { token: one }), 429, "token_limited");
    assert.deepEqual(await containerRecord(service, "charged", one), limitRecord({ day: 7 }));
    for (let turn = 0; turn < 3; turn++) assert.equal((await run("charged/task", { token: other })).status, 200);
    const answer = await run("charged/task", { token: other });
    assertProblem(answer, 429, "token_limited");
    assert.match(answer.headers["ratelimit-policy"]!, /"token-day";q=5/);
    const left = await service.request("GET", `/api/limits/token/${jti}`);
    assert.partialDeepStrictEqual(left.json(), { day: -1 });
  });

  it("of a public task needs no token, and counts against the task's token and the tokens above it", async () => {
    const head = await service.issue({ ...STORES_TASKS, limits: { token: { day: 4 } } });
    const limits = { token: { day: 3 } };
    await putTask("open/one", { code: "() => 1", public: true, limits }, { token: head });
    await putTask("open/two", { code: "() => 2", public: true, limits }, { token: head });
    assert.deepEqual(
      [await statusOf("open/one"), await statusOf("open/one"), await statusOf("open/one")],
      [200, 200, 200],
    );
    assert.equal(await statusOf("open/one"), 429);
    assert.equal(await statusOf("open/two"), 200);
    // The token of the second task would allow two more runs, but the limit of the token above is used up.
    assert.equal(await statusOf("open/two"), 429);
  });

  it("is rejected after the task's token has ended: revoked, expired, or below a revoked token", async () => {
    const head = await service.request("POST", "/api/tokens", { json: STORES_TASKS });
    const above = head.json() as { token: string; jti: string };
    const revoked = await putTask("ended/revoked", { code: ECHO, public: true });
    await putTask("ended/below", { code: ECHO, public: true, secrets: { KEY: "x" } }, { token: above.token });
    await service.request("DELETE", `/api/tokens/${revoked.jti}`);
    await service.request("DELETE", `/api/tokens/${above.jti}`);
    for (const task of ["ended/revoked", "ended/below"]) {
      for (const token of [null, service.admin]) {
        assert.match(assertProblem(await run(task, { token }), 403, "token_invalid").detail, /the task has ended/);
      }
    }
    for (const answer of [await get("ended/revoked"), await get("ended/below")]) {
      assert.partialDeepStrictEqual(answer.json(), { revoked: true, expired: false });
    }
    await putTask("ended/alive", { code: ECHO });
    assert.partialDeepStrictEqual((await get("ended/alive")).json(), { revoked: false, expired: false });
    const { tasks } = (await get("ended")).json() as { tasks: { name: string; revoked: boolean }[] };
    assert.deepEqual(
      tasks.map(({ name, revoked: has }) => [name, has]),
      [
        ["alive", false],
        ["below", true],
        ["revoked", true],
      ],
    );
    // A task that is put again starts from nothing: its members and secrets are gone.
    const partial = assertProblem(await put("ended/revoked", { params: {} }), 400, "request_invalid");
    assert.match(partial.detail, /the task has ended/);
    const back = await rollBack("ended/revoked", { version: 1 });
    assert.partialDeepStrictEqual(back.json(), { version: 2, public: true });
    assert.equal(await statusOf("ended/revoked"), 200);
    const recreated = await putTask("ended/below", { code: ECHO });
    assert.equal(recreated.version, 2);
    assert.equal(recreated["public"], false);
    assert.deepEqual((await runJson("ended/below"))["secrets"], {});
  });

  it("ends with the task", async () => {
    await putTask("ended/running", { code: "() => new Promise(() => setTimeout(() => {}, 1e6))" });
    const running = run("ended/running");
    await service.logLine((line) => line.includes("task made") && line.includes("running"));
    const isRunning = async (): Promise<boolean> => {
      const answer = await service.request("GET", "/api/containers?limit=1000");
      const { containers } = answer.json() as { containers: { container: string; running: number }[] };
      return containers.some(({ container, running: count }) => container === "ended" && count > 0);
    };
    while (!(await isRunning()));
    assert.equal((await service.request("DELETE", "/api/tasks/ended/running")).status, 200);
    assertProblem(await running, 403, "token_invalid");
  });
});

describe("a public task that fails", () => {
  const DETAIL = "the task failed; its owner can read the record of this run";
  const failures: [string, object, number, string][] = [
    ["throws", { code: '() => { throw new TypeError("inner text") }' }, 500, "task_threw"],
    ["passes an error to its callback", { code: '(cb) => cb(new Error("inner text"))' }, 400, "task_error"],
    [
      "throws an error with a status",
      { code: '() => { throw Object.assign(new Error("inner text"), { status: 404 }) }' },
      404,
      "task_threw",
    ],
    ["returns no JSON", { code: "() => 1n" }, 500, "result_unserializable"],
    ["has a form that cannot be run", { code: "(a, b, c, d) => 1" }, 400, "code_shape"],
  ];
  for (const [what, members, status, code] of failures) {
    it(`and ${what}, reports only the status, the code and the run to clients without a token`, async () => {
      await putTask("acme/fails", { ...members, public: true });
      const shown = assertProblem(await run("acme/fails", { token: null }), status, code, "task");
      const { type, title, ...rest } = shown;
      assert.deepEqual(rest, { status, code, detail: DETAIL, run: shown.run });
      assert.ok(shown.run);
      await service.logLine((line) => line.includes(shown.run!) && line.includes(`"code":"${code}"`));
      await putTask("acme/fails", { errors: "shown" });
      const open = assertProblem(await run("acme/fails", { token: null }), status, code, "task");
      assert.deepEqual([open.type, open.title], [type, title]);
      assert.notEqual(open.detail, DETAIL);
      await putTask("acme/fails", { errors: "hidden", public: false });
      // A client with a token receives the details, because it may run any code in the container.
      assert.equal(assertProblem(await run("acme/fails"), status, code, "task").detail, open.detail);
    });
  }

  it("reports nothing of its URL or of the code there", async () => {
    texts.set("/broken", "return 1 +;");
    const url = `${server.url}/broken`;
    const broken: [object, string][] = [
      [{ url }, "code_syntax"],
      [{ url: "http://127.0.0.1:1/hidden" }, "task_url_forbidden"],
      [{ url, sha256: createHash("sha256").update("other").digest("hex") }, "code_pinned"],
    ];
    for (const [at, [members, code]] of broken.entries()) {
      await putTask(`acme/fails-url-${at}`, { ...members, public: true });
      const answer = await run(`acme/fails-url-${at}`, { token: null });
      const { hint, detail } = assertProblem(answer, 400, code, "task");
      assert.deepEqual([hint, detail], [undefined, DETAIL]);
      await putTask(`acme/fails-url-${at}`, { errors: "shown" });
      const open = assertProblem(await run(`acme/fails-url-${at}`, { token: null }), 400, code, "task");
      assert.notEqual(open.detail, DETAIL);
    }
  });

  it("still reports faults of the request and limits in full", async () => {
    await putTask("acme/fails-request", { code: "1", public: true, limits: { token: { day: 1 } } });
    const json = { headers: { "content-type": "application/json" }, body: "{", token: null };
    assert.match(assertProblem(await run("acme/fails-request", json), 400, "request_invalid").detail, /JSON/);
    const query = { task_url: `${server.url}/named` };
    const pinned = assertProblem(await run("acme/fails-request", { query, token: null }, "GET"), 400, "code_pinned");
    assert.match(`${pinned.detail} ${pinned.hint}`, /task_url names other code.*Leave task_url out/);
    assert.equal(await statusOf("acme/fails-request"), 200);
    const limited = assertProblem(await run("acme/fails-request", { token: null }), 429, "token_limited");
    assert.match(limited.detail, /1 run a day/);
  });
});

describe("the timeout, the errors and the record of a named task", () => {
  it("are in every answer about the task, and null removes the timeout and the record", async () => {
    const members = { timeout: "90s", errors: "shown", record: "input" };
    await putTask("members/task", { code: "1", ...members });
    assert.partialDeepStrictEqual((await get("members/task")).json(), members);
    assert.partialDeepStrictEqual((await get("members")).json(), { tasks: [members] });
    const { jti } = await putTask("members/task", { timeout: null, record: null });
    const { versions } = (await get("members/task", "/versions")).json() as { versions: Described[] };
    assert.partialDeepStrictEqual(versions, [{ timeout: null, errors: "shown", record: null }, members]);
    const token = (await service.request("GET", `/api/tokens/${jti}`)).json() as { claims: Described };
    assert.equal(token.claims["timeout"], null);
    assert.partialDeepStrictEqual((await rollBack("members/task", { version: 1 })).json(), members);
  });

  it("are rejected with all other faults at once", async () => {
    const json = { code: "1", timeout: "5", errors: true, record: "output" };
    const { violations } = assertProblem(await put("members/faulty", json), 400, "request_invalid");
    assert.deepEqual(new Set(violations!.map((each) => each["member"])), new Set(["errors", "record", "timeout"]));
  });
});

describe("the limits of a named task", () => {
  it("can be read by administrators and by tokens above with tasks or limits, and by no other token", async () => {
    const issue = async (by: string, claims: object): Promise<{ token: string; jti: string }> => {
      const answer = await service.request("POST", "/api/tokens", {
        token: by,
        json: { containers: ["left"], ...claims },
      });
      return answer.json() as { token: string; jti: string };
    };
    const head = await issue(service.admin, { can: ["run", "limits", "tasks", "issue"], depth: 2 });
    const keeper = await issue(head.token, { can: ["tasks"] });
    const child = await issue(head.token, { can: ["run", "limits", "tasks"] });
    const { jti } = await putTask("left/task", { code: ECHO, limits: { token: { day: 7 } } }, { token: keeper.token });
    const read = (token: string, of: string, method = "GET"): Promise<Answer> => {
      return service.request(method, `/api/limits/token/${of}`, { token });
    };
    for (const token of [keeper.token, head.token, service.admin]) {
      assert.partialDeepStrictEqual((await read(token, jti)).json(), { day: 7 });
    }
    const others = [
      await read(child.token, jti),
      await read(head.token, keeper.jti),
      await read(keeper.token, keeper.jti),
      await read(keeper.token, jti, "DELETE"),
    ];
    for (const answer of others) assertProblem(answer, 403, "token_forbidden");
  });
});

describe("a token that stores a named task", () => {
  const acts: [string, string, unknown?][] = [
    ["PUT", "/api/tasks/keep/task", { code: "1" }],
    ["GET", "/api/tasks/keep/task"],
    ["DELETE", "/api/tasks/keep/task"],
    ["GET", "/api/tasks/keep"],
    ["GET", "/api/tasks/keep/task/versions"],
    ["GET", "/api/tasks/keep/task/versions/1"],
    ["POST", "/api/tasks/keep/task/rollback", { version: 1 }],
  ];

  it("needs tasks on the container", async () => {
    await putTask("keep/task", { code: ECHO, secrets: { KEY: "x" } });
    const others = [
      await service.issue({ containers: ["keep"], can: ["run", "limits", "issue"], depth: 1 }),
      await service.issue({ containers: ["keeper", "kee"], can: ["run", "tasks"] }),
    ];
    for (const [method, target, json] of acts) {
      const body = json === undefined ? {} : { json };
      for (const token of others) {
        assertProblem(await service.request(method, target, { token, ...body }), 403, "token_forbidden");
      }
      assertProblem(await service.request(method, target, { token: null, ...body }), 403, "token_missing");
    }
    const token = await service.issue({ containers: ["keep"], can: ["tasks"] });
    const read = (await service.request("GET", "/api/tasks/keep/task", { token })).json() as { secretNames: unknown };
    assert.deepEqual(read.secretNames, ["KEY"]);
    for (const [method, target, json] of acts.filter(([verb]) => verb !== "DELETE")) {
      const answer = await service.request(method, target, { token, ...(json === undefined ? {} : { json }) });
      assert.equal(answer.status, 200, `${method} ${target}: ${answer.text}`);
    }
  });

  it("gives the task no more permissions than its own", async () => {
    const claims = { ...STORES_TASKS, containers: ["less"], net: ["a.example"], limits: { container: { day: 9 } } };
    const token = await service.issue({ ...claims, params: { plan: "free" }, expiresIn: "1h" });
    const excesses: [string, object][] = [
      ["net", { net: ["b.example"] }],
      ["exp", { expiresIn: "2h" }],
      ["limits.container", { limits: { container: { day: 10 } } }],
      ["params.plan", { params: { plan: "pro" } }],
    ];
    for (const [member, more] of excesses) {
      const problem = assertProblem(await put("less/task", { code: "1", ...more }, { token }), 403, "token_forbidden");
      assert.deepEqual(
        problem.violations!.map((each) => each["member"]),
        [member],
      );
    }
    const task = await putTask("less/task", { code: ECHO, params: { own: 1 } }, { token });
    assert.partialDeepStrictEqual(task, {
      net: ["a.example"],
      limits: { container: { day: 9 } },
      params: { plan: "free", own: 1 },
    });
    assert.ok((task["exp"] as number) <= Date.now() / 1_000 + 3_600);
    const deploys = await service.issue({ containers: ["less"], can: ["tasks"] });
    const opened = await put("less/task", { public: true }, { token: deploys });
    assert.match(assertProblem(opened, 403, "token_forbidden").detail, /public/);
  });

  it("becomes the parent of a task that it changes, and needs a right to every member that stays", async () => {
    const made = await putTask("acme/last", { code: ECHO, public: true, secrets: { KEY: "mine" }, net: ["a.example"] });
    const answer = await service.request("POST", "/api/tokens", { json: { ...STORES_TASKS, net: false } });
    const { token, jti } = answer.json() as { token: string; jti: string };
    // Members that stay count too: with its code the task would reach a host that this token may not reach.
    assertProblem(await put("acme/last", { code: ECHO }, { token }), 403, "token_forbidden");
    const changed = await putTask("acme/last", { params: { a: 1 }, net: null }, { token });
    assert.partialDeepStrictEqual(changed, { net: false, public: true, by: jti });
    assert.notEqual(changed.jti, made.jti);
    assert.deepEqual((await runJson("acme/last", { token: null }))["secrets"], {});
    await service.request("DELETE", `/api/tokens/${jti}`);
    assertProblem(await run("acme/last", { token: null }), 403, "token_invalid");
  });

  it("does not become the parent if it changes nothing: the task keeps its parent and its end", async () => {
    const json = { code: ECHO, params: { a: 1 }, net: ["a.example"], public: true, secrets: { KEY: "x" } };
    const made = await putTask("acme/idle", json);
    const token = await service.issue({ ...STORES_TASKS, expiresIn: "1h" });
    for (const same of [{}, { code: ECHO }, { params: { a: 1 }, net: ["a.example"], public: true, fresh: false }]) {
      assert.deepEqual(await putTask("acme/idle", same, { token }), made);
    }
    const offline = await service.issue({ ...STORES_TASKS, net: false });
    assertProblem(await put("acme/idle", {}, { token: offline }), 403, "token_forbidden");
    assert.deepEqual(await secretsOf("acme/idle"), { KEY: "x" });
    const again = await putTask("acme/idle", { secrets: { KEY: "x" } });
    assert.deepEqual([again.version, again.jti], [made.version + 1, made.jti]);
    assert.notEqual((await putTask("acme/idle", { fresh: true }, { token })).jti, made.jti);
  });

  it("cannot give a param the name of an inherited secret, or a secret the name of a param", async () => {
    const claims = { ...STORES_TASKS, params: { plan: "pro" }, secrets: { KEY: "above" }, secretsReadable: true };
    const token = await service.issue(claims);
    const clashes: [string, object][] = [
      ["params.KEY", { params: { KEY: "mine" } }],
      ["secrets.plan", { secrets: { plan: "mine" } }],
      ["secrets.KEY", { secrets: { KEY: "mine" } }],
    ];
    const refused = async (): Promise<void> => {
      for (const [member, more] of clashes) {
        const problem = assertProblem(
          await put("clash/task", { code: ECHO, ...more }, { token }),
          403,
          "token_forbidden",
        );
        assert.deepEqual(
          problem.violations!.map((each) => each["member"]),
          [member],
        );
      }
    };
    await refused();
    await putTask("clash/task", { code: ECHO, params: { own: 1 } }, { token });
    await refused();
    assert.partialDeepStrictEqual(await runJson("clash/task"), {
      params: { plan: "pro", own: 1 },
      secrets: { KEY: "above" },
    });
  });

  it("receives every fault at once, with a detail about the task", async () => {
    const wrong: [unknown, string[]][] = [
      [null, [""]],
      [{}, ["code"]],
      [{ code: " " }, ["code"]],
      [{ code: "```js\n6 * 7\n```" }, ["code"]],
      [{ code: "<!doctype html><title>404</title>" }, ["code"]],
      [{ code: "1", url: "https://a.example/" }, ["url"]],
      [{ code: "1", sha256: "a".repeat(64) }, ["sha256"]],
      [{ url: "file:///etc/passwd" }, ["url"]],
      [{ url: "https://a.example/", sha256: "x" }, ["sha256"]],
      [{ code: 1, public: "yes", fresh: 1, admin: true }, ["admin", "code", "fresh", "public"]],
      [
        { code: "1", params: [], secrets: { a: 1 }, limits: { token: { day: 0 } }, net: true },
        ["limits.token.day", "net", "params", "secrets.a"],
      ],
      [{ code: "1", exp: 1 }, ["exp"]],
      [{ code: "1", exp: null, expiresIn: "1h" }, ["expiresIn"]],
      // Faults of a member, of a combination of members, and of the limits on what is stored.
      [{ url: 1, sha256: "x", secrets: { a: 1 }, typo: 1, exp: 1 }, ["exp", "secrets.a", "sha256", "typo", "url"]],
      [{ code: "1", url: "file:///a", net: true }, ["net", "url", "url"]],
      [{ secrets: { a: "1" }, public: 1, params: [] }, ["code", "params", "public"]],
    ];
    for (const [json, members] of wrong) {
      const problem = assertProblem(await put("wrong/task", json), 400, "request_invalid");
      assert.deepEqual(problem.violations!.map((each) => String(each["member"])).toSorted(), members);
      assert.match(problem.detail, /the task/);
    }
    for (const name of ["-a", "a%2Fb", "%00", "a".repeat(129)]) {
      assertProblem(await put(`wrong/${name}`, { code: "1" }), 400, "request_invalid");
    }
    assertProblem(await put("-/task", { code: "1" }), 400, "container_invalid");
    assertProblem(await put("wrong/task", { code: "x".repeat(2 ** 20 + 1) }), 400, "request_invalid");
    assertProblem(await put("wrong/task", { code: "1", params: { a: "x".repeat(2 ** 16) } }), 400, "request_invalid");
    assertProblem(await get("wrong/task"), 404, "not_found");
  });

  it("receives invalid members and excess permissions at once", async () => {
    const token = await service.issue({
      ...{ containers: ["both"], can: ["tasks"], net: ["a.example"], params: { plan: "free" } },
      ...{ secrets: { KEY: "above" }, secretsReadable: true, expiresIn: "1h" },
    });
    const excesses = {
      net: ["b.example"],
      params: { plan: "pro", KEY: 1 },
      secrets: { plan: "x" },
      expiresIn: "2h",
      public: true,
    };
    const members = ["exp", "net", "params.KEY", "params.plan", "public", "secrets.plan"];
    const faultsOf = async (json: object, status: number, code: string): Promise<string[]> => {
      const problem = assertProblem(await put("both/task", json, { token }), status, code);
      return problem.violations!.map((each) => String(each["member"])).toSorted();
    };
    assert.deepEqual(await faultsOf({ code: "1", ...excesses }, 403, "token_forbidden"), members);
    assert.deepEqual(await faultsOf({ code: " ", fresh: 1, ...excesses }, 400, "request_invalid"), [
      "code",
      "exp",
      "fresh",
      ...members.slice(1),
    ]);
  });
});

describe("the secrets of a named task", () => {
  it("stay with their code, and other code drops them unless they are sent again", async () => {
    await putTask("secret/task", { code: ECHO, secrets: { KEY: "one", B: "2" } });
    assert.deepEqual(await secretsOf("secret/task"), { KEY: "one", B: "2" });
    await putTask("secret/task", { params: { a: 1 }, public: true });
    await putTask("secret/task", { code: ECHO });
    assert.deepEqual(await secretsOf("secret/task"), { KEY: "one", B: "2" });
    await putTask("secret/task", { secrets: { KEY: "two" } });
    assert.deepEqual(await secretsOf("secret/task"), { KEY: "two" });
    await putTask("secret/task", { code: `${ECHO} ` });
    assert.deepEqual(await secretsOf("secret/task"), {});
    await putTask("secret/task", { code: ECHO, secrets: { KEY: "three" } });
    assert.deepEqual(await secretsOf("secret/task"), { KEY: "three" });
    texts.set("/secret", ECHO);
    await putTask("secret/task", { url: `${server.url}/secret` });
    assert.deepEqual(await secretsOf("secret/task"), {});
  });

  it("are dropped if a token that did not set them changes params or net, and stay after its other changes", async () => {
    const other = { token: await service.issue({ containers: ["secret"], can: ["tasks"] }) };
    const setter = { token: await service.issue({ containers: ["secret"], can: ["tasks", "issue"], depth: 1 }) };
    const net = ["good.example.com"];
    for (const changes of [{ params: { to: "evil" } }, { net: null }]) {
      await putTask("secret/aimed", { code: ECHO, params: { to: "good" }, net, secrets: { KEY: "one" } });
      await putTask("secret/aimed", { limits: { token: { day: 100 } } }, other);
      assert.deepEqual(await secretsOf("secret/aimed"), { KEY: "one" });
      await putTask("secret/aimed", changes, other);
      assert.deepEqual(await secretsOf("secret/aimed"), {});
    }
    await putTask("secret/mine", { code: ECHO, secrets: { KEY: "mine" } }, setter);
    await putTask("secret/mine", { params: { a: 1 } }, setter);
    await putTask("secret/mine", { net });
    assert.deepEqual(await secretsOf("secret/mine"), { KEY: "mine" });
  });

  it("are dropped if a token that did not set them makes the task public, or lets it run more often or longer", async () => {
    const other = { token: await service.issue({ containers: ["secret"], can: ["run", "tasks"], expiresIn: "2h" }) };
    const above = { limits: { container: { minute: 1_000 } }, containers: ["secret"], can: ["run", "tasks"] };
    const limited = { token: await service.issue({ ...above, expiresIn: "2h" }) };
    const limits = { token: { day: 100, minute: 90 } };
    const set = { code: ECHO, limits, fresh: true, timeout: "5s", expiresIn: "1h", secrets: { KEY: "one" } };
    const exp = Math.floor(Date.now() / 1_000) + 7_000;
    const opened = [
      { public: true },
      { limits: { token: { day: 101, minute: 90 } } },
      { limits: { token: { minute: 90 } } },
      { limits: null },
      { fresh: false },
      { exp },
      { timeout: "6s" },
      { timeout: null },
      { errors: "shown" },
      { record: "input" },
    ];
    for (const changes of opened) {
      await putTask("secret/opened", set);
      await putTask("secret/opened", { limits: { token: { day: 90, minute: 90 } } }, other);
      await putTask("secret/opened", changes, other);
      assert.deepEqual(await secretsOf("secret/opened"), {}, JSON.stringify(changes));
      await service.request("DELETE", "/api/tasks/secret/opened");
    }
    // A container limit that only an administrator's task has, and a limit that comes from the token above.
    await putTask("secret/opened", { ...set, limits: { ...limits, container: { minute: 500 } } });
    await putTask("secret/opened", { params: {} }, other);
    await putTask("secret/opened", { limits: { token: { day: 80, minute: 90 } } }, limited);
    assert.deepEqual(await secretsOf("secret/opened"), {});
    await service.request("DELETE", "/api/tasks/secret/opened");
    await putTask("secret/opened", { ...set, public: true });
    await putTask("secret/opened", { public: false, limits: { token: { day: 1_000, minute: 90 } } });
    const back = { json: { version: 1 }, ...other };
    assert.equal((await service.request("POST", "/api/tasks/secret/opened/rollback", back)).status, 200);
    assert.deepEqual(await secretsOf("secret/opened"), {});
    await putTask("secret/opened", { ...set, public: true });
    await putTask("secret/opened", { public: false }, other);
    assert.deepEqual(await secretsOf("secret/opened"), { KEY: "one" });
  });

  it("are restored by no rollback, and are in no answer", async () => {
    await putTask("secret/back", { code: ECHO, secrets: { KEY: "hunter2-back" } });
    await putTask("secret/back", { code: "() => 1" });
    const rolled = await service.request("POST", "/api/tasks/secret/back/rollback", { json: { version: 1 } });
    assert.equal(rolled.status, 200, rolled.text);
    assert.deepEqual((await runJson("secret/back"))["secrets"], {});
    const again = { json: { version: 1, secrets: { KEY: "hunter2-again" } } };
    const answers = [
      await service.request("POST", "/api/tasks/secret/back/rollback", again),
      await get("secret/back"),
      await get("secret/back", "/versions"),
      await get("secret"),
    ];
    assert.deepEqual((await runJson("secret/back"))["secrets"], { KEY: "hunter2-again" });
    for (const answer of answers) assert.ok(answer.status === 200 && !answer.text.includes("hunter2"), answer.text);
  });

  it("cannot be set on the token of the task, where they would outlive its code", async () => {
    const { jti } = await putTask("secret/beside", { code: ECHO });
    const answer = await service.request("PUT", `/api/tokens/${jti}/secrets`, { json: { KEY: "x" } });
    assert.match(assertProblem(answer, 400, "request_invalid").detail, /named task/);
    assert.deepEqual((await runJson("secret/beside"))["secrets"], {});
  });
});

describe("the versions of a named task", () => {
  it("are stored, the last ten, and each of them can become the newest again", async () => {
    for (let number = 1; number <= 12; number++) {
      await putTask("acme/versions", {
        code: `() => ${number}`,
        params: { number },
        ...(number === 4 && { public: true }),
      });
    }
    const { versions } = (await get("acme/versions", "/versions")).json() as { versions: Described[] };
    assert.deepEqual(
      versions.map(({ version }) => version),
      [12, 11, 10, 9, 8, 7, 6, 5, 4, 3],
    );
    assertProblem(await rollBack("acme/versions", { version: 2 }), 404, "not_found");
    const third = (await get("acme/versions", "/versions/3")).json() as Described;
    assert.partialDeepStrictEqual(third, { version: 3, code: "() => 3" });
    for (const none of ["2", "0", "-1", "3.0", "x"])
      assertProblem(await get("acme/versions", `/versions/${none}`), 404, "not_found");
    for (const json of [{}, { version: "3" }, { version: 3, code: "1" }, null]) {
      assertProblem(await rollBack("acme/versions", json), 400, "request_invalid");
    }
    const wrong = assertProblem(
      await rollBack("acme/versions", { version: "3", secrets: { a: 1 }, code: "1" }),
      400,
      "request_invalid",
    );
    assert.deepEqual(
      wrong.violations!.map((each) => each["member"]),
      ["version", "secrets.a", "code"],
    );
    const back = (await rollBack("acme/versions", { version: 3 })).json() as Described;
    assert.partialDeepStrictEqual(back, { version: 13, params: { number: 3 }, public: false });
    assert.equal((await run("acme/versions")).text, "3");
    assert.partialDeepStrictEqual((await rollBack("acme/versions", { version: 4 })).json(), {
      version: 14,
      public: true,
    });
    assert.equal((await get("acme/versions")).json() && (await run("acme/versions", { token: null })).text, "4");
  });
});

describe("concurrent changes of a named task", () => {
  it("are detected by ETag and If-Match: a change does not overwrite another token's change", async () => {
    const first = await putTask("acme/match", { code: "() => 1" });
    const second = await putTask(
      "acme/match",
      { code: "() => 2" },
      { headers: { "if-match": `"x", "${first.etag}"` } },
    );
    const stale = { headers: { "if-match": `"${first.etag}"` } };
    assertProblem(await put("acme/match", { code: "() => 3" }, stale), 412, "precondition_failed");
    assertProblem(await service.request("DELETE", "/api/tasks/acme/match", stale), 412, "precondition_failed");
    const rollback = { json: { version: 1 }, ...stale };
    assertProblem(
      await service.request("POST", "/api/tasks/acme/match/rollback", rollback),
      412,
      "precondition_failed",
    );
    const fresh = { headers: { "if-none-match": "*" } };
    assertProblem(await put("acme/match", { code: "() => 3" }, fresh), 412, "precondition_failed");
    assertProblem(
      await put("acme/match-none", { code: "1" }, { headers: { "if-match": "*" } }),
      412,
      "precondition_failed",
    );
    assert.equal((await put("acme/match-none", { code: "1" }, fresh)).status, 201);
    const now = await get("acme/match");
    assert.deepEqual([now.headers["etag"], (now.json() as Described)["code"]], [`"${second.etag}"`, "() => 2"]);
  });

  it("are detected by a weak tag too, if the comparison is weak", async () => {
    const { etag } = await putTask("acme/weak", { code: "() => 1" });
    const weak = { headers: { "if-none-match": `W/"${etag}"` } };
    assertProblem(await put("acme/weak", { code: "() => 2" }, weak), 412, "precondition_failed");
    const strong = { headers: { "if-match": `W/"${etag}"` } };
    assertProblem(await put("acme/weak", { code: "() => 2" }, strong), 412, "precondition_failed");
  });

  it("are visible to GET, which answers 304 if nothing has changed", async () => {
    const { etag, jti } = await putTask("acme/seen", { code: "() => 1" });
    const ask = (headers: Record<string, string>): Promise<Answer> => {
      return service.request("GET", "/api/tasks/acme/seen", { headers });
    };
    for (const tag of [`"${etag}"`, `W/"${etag}"`, "*"]) {
      const same = await ask({ "if-none-match": tag });
      assert.deepEqual([same.status, same.text, same.headers["etag"]], [304, "", `"${etag}"`]);
      assert.ok(same.headers["caisson-version"]);
    }
    assert.equal((await ask({ "if-none-match": '"x"' })).status, 200);
    assert.equal((await ask({ "if-match": `"${etag}"` })).status, 200);
    assertProblem(await ask({ "if-match": '"x"' }), 412, "precondition_failed");
    assertProblem(await ask({ "if-match": `"x"`, "if-none-match": `"${etag}"` }), 412, "precondition_failed");
    const absent = await service.request("GET", "/api/tasks/acme/seen-none", { headers: { "if-match": "*" } });
    assertProblem(absent, 404, "not_found");
    // The end of a task changes neither its version nor its tag, but the client must still learn of it.
    assert.equal((await service.request("DELETE", `/api/tokens/${jti}`)).status, 200);
    const ended = await ask({ "if-none-match": `"${etag}"` });
    assert.deepEqual([ended.status, (ended.json() as Described)["revoked"]], [200, true]);
  });

  it("succeed once for one version if they have a condition, and all succeed in turn without a condition", async () => {
    const { etag } = await putTask("acme/race", { code: "() => 0", secrets: { KEY: "0" } });
    const won = await rivals({ headers: { "if-match": `"${etag}"` } });
    assert.equal(won.filter(({ status }) => status === 200).length, 1);
    assert.equal(won.filter(({ status }) => status === 412).length, 7);
    // The secrets belong to the change that succeeded.
    const winner = won.findIndex(({ status }) => status === 200);
    assert.deepEqual((await run("acme/race")).json(), [winner, String(winner)]);
    const all = await rivals({});
    assert.deepEqual(
      all.map(({ status }) => status),
      Array.from({ length: 8 }, () => 200),
    );
    assert.equal(((await get("acme/race")).json() as Described).version, 10);
    const [rival, key] = (await run("acme/race")).json() as [number, string];
    assert.equal(String(rival), key);
  });
});

describe("the tasks of a container", () => {
  it("are listed page by page, without their code", async () => {
    for (const name of ["c", "a", "b", "d"]) await putTask(`list/${name}`, { code: "() => 'the code'" });
    await putTask("list2/z", { code: "1" });
    const seen: string[] = [];
    for (let target = "/api/tasks/list?limit=3"; ;) {
      const answer = await service.request("GET", target);
      assert.ok(!answer.text.includes("the code"));
      const { tasks, next } = answer.json() as { tasks: { name: string }[]; next: string | null };
      seen.push(...tasks.map(({ name }) => name));
      if (next === null) break;
      target = `/api/tasks/list?limit=3&cursor=${next}`;
    }
    assert.deepEqual(seen, ["a", "b", "c", "d"]);
    assertProblem(await service.request("GET", "/api/tasks/list?limt=3"), 400, "request_invalid");
    assert.deepEqual((await get("nothing-here")).json(), { tasks: [], next: null });
  });

  it("can be deleted, and then no run, token, version or secret is left", async () => {
    const { jti } = await putTask("acme/gone", { code: ECHO, secrets: { KEY: "x" } });
    await putTask("acme/gone", { params: { a: 1 } });
    const answer = await service.request("DELETE", "/api/tasks/acme/gone");
    assert.deepEqual([answer.status, answer.json()], [200, { container: "acme", name: "gone", deleted: true }]);
    assertProblem(await service.request("DELETE", "/api/tasks/acme/gone"), 404, "not_found");
    assertProblem(await run("acme/gone"), 404, "not_found");
    assertProblem(await get("acme/gone", "/versions"), 404, "not_found");
    assert.notEqual(
      ((await service.request("GET", `/api/tokens/${jti}`)).json() as { revoked: unknown }).revoked,
      null,
    );
    const recreated = await putTask("acme/gone", { code: ECHO });
    assert.equal(recreated.version, 1);
    assert.notEqual(recreated.jti, jti);
    assert.deepEqual((await runJson("acme/gone"))["secrets"], {});
  });

  it("have a token that can be inspected, with its use, and that is no credential", async () => {
    const { jti } = await putTask("acme/look", { code: "() => 1", public: true });
    await run("acme/look", { token: null });
    const answer = await service.request("GET", `/api/tokens/${jti}`);
    assert.partialDeepStrictEqual(answer.json(), { jti, runs: 1, claims: { task: "acme/look", containers: ["acme"] } });
  });

  it("answer other methods and paths like the other endpoints", async () => {
    assertProblem(await service.request("POST", "/api/tasks/a/b"), 405, "method_not_allowed");
    assertProblem(await service.request("GET", "/api/tasks/a/b/rollback"), 405, "method_not_allowed");
    assertProblem(await service.request("GET", "/api/tasks/a/b/c"), 404, "not_found");
    assertProblem(await service.request("GET", "/api/run/a/"), 404, "not_found");
    assertProblem(await run("a/b", {}, "TRACE"), 405, "method_not_allowed");
    const preflight = await service.request("OPTIONS", "/api/run/a/b/c", { token: null });
    assert.deepEqual([preflight.status, preflight.headers["access-control-allow-methods"]], [204, VERBS.join(", ")]);
  });
});
