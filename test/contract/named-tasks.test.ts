import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, describe, it } from "node:test";

import { type CodeServer, serveCode } from "./code-server.ts";
import type { Answer, RequestOptions } from "./http.ts";
import { assertProblem } from "./problem.ts";
import { containerRecord, limitRecord } from "./record.ts";
import { type Home, leave, makeHome, NO_WALL, type Service, startService } from "./service.ts";
import { until } from "./until.ts";

const TELLS = `(c) => ({ method: c.method, url: c.url, body: c.body, data: c.data, params: c.params, secrets: c.secrets,
  turn: (globalThis.turn = (globalThis.turn ?? 0) + 1) })`;
const VERBS = ["GET", "POST", "PUT", "PATCH", "DELETE"];
const KEEPER = { containers: ["*"], can: ["run", "tasks"] };

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

/** Puts a task that is taken. */
async function kept(task: string, json: unknown, options: RequestOptions = {}): Promise<Described> {
  const answer = await put(task, json, options);
  assert.ok([200, 201].includes(answer.status), answer.text);
  return answer.json() as Described;
}

function run(task: string, options: RequestOptions = {}, method = "POST"): Promise<Answer> {
  return service.request(method, `/api/run/${task}`, options);
}

async function told(task: string, options: RequestOptions = {}, method = "POST"): Promise<Record<string, unknown>> {
  const answer = await run(task, options, method);
  assert.equal(answer.status, 200, answer.text);
  return answer.json() as Record<string, unknown>;
}

async function turnOf(task: string): Promise<unknown> {
  return (await told(task))["turn"];
}

/** Of a run that nobody is known to have asked for. */
async function statusOf(task: string): Promise<number> {
  return (await run(task, { token: null })).status;
}

async function secretsOf(task: string): Promise<unknown> {
  return (await told(task))["secrets"];
}

function rollBack(task: string, json: unknown, options: RequestOptions = {}): Promise<Answer> {
  return service.request("POST", `/api/tasks/${task}/rollback`, { json, ...options });
}

/** Eight changes at once, each with code and a secret that belong together. */
function rivals(options: RequestOptions): Promise<Answer[]> {
  const all = Array.from({ length: 8 }, (_, rival) => {
    return put("race/task", { code: `(c) => [${rival}, c.secrets.KEY]`, secrets: { KEY: `${rival}` } }, options);
  });
  return Promise.all(all);
}

function get(task: string, more = ""): Promise<Answer> {
  return service.request("GET", `/api/tasks/${task}${more}`);
}

describe("a named task", () => {
  it("is made once, and changed after that", async () => {
    const made = await put("acme/made", { code: TELLS });
    assert.equal(made.status, 201, made.text);
    const { version, etag, jti, ...rest } = made.json() as Described;
    assert.deepEqual([version, made.headers["etag"]], [1, `"${etag}"`]);
    assert.partialDeepStrictEqual(rest, {
      container: "acme",
      name: "made",
      url: null,
      sha256: createHash("sha256").update(TELLS).digest("hex"),
      ...{ public: false, params: {}, limits: {}, net: null, fresh: false, exp: null },
    });
    const changed = await put("acme/made", { params: { plan: "pro" } });
    assert.equal(changed.status, 200);
    assert.partialDeepStrictEqual(changed.json(), { version: 2, jti, params: { plan: "pro" } });
    assert.notEqual((changed.json() as Described).etag, etag);
  });

  it("runs at its name and below it, by every verb, with the request body as data", async () => {
    await kept("acme/verbs", { code: TELLS, params: { plan: "pro" } });
    for (const method of VERBS) {
      const json = { b: 2, plan: "mine" };
      const { url, ...rest } = await told("acme/verbs/any/path%2F/?a=1", { json }, method);
      assert.equal(url, `${service.url}/api/run/acme/verbs/any/path%2F/?a=1`);
      assert.partialDeepStrictEqual(rest, { method, body: json, data: { a: "1", b: 2, plan: "pro" } });
    }
    assert.equal((await told("acme/verbs", {}, "GET"))["body"], undefined);
    assert.equal((await told("%61cme/v%65rbs", { body: "6 * 7" }))["body"], "6 * 7");
  });

  it("takes a webhook: a public one needs no token, and sees the path, the headers and the form that were sent", async () => {
    const code = `export default { async fetch(request, env) {
      const { pathname, searchParams } = new URL(request.url);
      const form = await request.formData();
      return Response.json([request.method, pathname, searchParams.get("q"), form.get("event"), request.headers.get("x-hub")]);
    } }`;
    await kept("acme/hook", { code, public: true });
    const headers = { "content-type": "application/x-www-form-urlencoded", "x-hub": "1" };
    const sent = { token: null, headers, body: "event=push" };
    const seen = ["POST", "/api/run/acme/hook/github/push", "7", "push", "1"];
    assert.deepEqual((await run("acme/hook/github/push?q=7", sent)).json(), seen);
    // What the sender has for somebody else is none of this service's business.
    for (const authorization of ["Bearer of.another.place", "Basic YTpi", `Bearer ${service.admin}x`]) {
      const answer = await run("acme/hook/github/push?q=7", { ...sent, headers: { ...headers, authorization } });
      assert.deepEqual(answer.json(), seen);
    }
  });

  it("can have its code at a URL, with or without a digest", async () => {
    texts.set("/named", TELLS);
    await kept("acme/url", { url: `${server.url}/named` });
    assert.equal((await told("acme/url/x", { body: "data" }))["body"], "data");
    const sha256 = createHash("sha256").update("other").digest("hex");
    assert.equal((await kept("acme/url", { sha256 }))["url"], `${server.url}/named`);
    assertProblem(await run("acme/url", { body: "data" }), 400, "code_pinned");
    assert.equal((await kept("acme/url", { code: "() => 42" }))["url"], null);
    assert.equal((await run("acme/url")).text, "42");
  });

  it("takes no code from who runs it", async () => {
    await kept("acme/strict", { code: TELLS });
    const query = { task_url: `${server.url}/named` };
    assertProblem(await run("acme/strict", { query }, "GET"), 400, "code_pinned");
    assert.deepEqual((await told("acme/strict", { json: { code: "1" } }))["body"], { code: "1" });
  });

  it("has a guest of its own, and another one for other code", async () => {
    await kept("own/task", { code: TELLS });
    await kept("own/other", { code: TELLS });
    assert.deepEqual([await turnOf("own/task"), await turnOf("own/task"), await turnOf("own/other")], [1, 2, 1]);
    assert.equal((await service.run("own", "globalThis.turn ?? 0")).text, "0");
    await kept("own/task", { code: `${TELLS} ` });
    assert.equal(await turnOf("own/task"), 1);
  });

  it("is there after a restart, with its secrets and its versions", async () => {
    await kept("acme/restart", { code: TELLS, secrets: { KEY: "kept" } });
    await kept("acme/restart", { params: { a: 1 } });
    await service.stop();
    service = await start();
    assert.partialDeepStrictEqual(await told("acme/restart"), { secrets: { KEY: "kept" }, params: { a: 1 } });
    assert.equal(((await get("acme/restart", "/versions")).json() as { versions: [] }).versions.length, 2);
  });
});

describe("the code of a named task", () => {
  it("is refused where it cannot be read, with the line; what there was stays", async () => {
    await kept("read/task", { code: "1" });
    const unreadable: [string, RegExp][] = [
      ["return 1 +;", /\(line 1, column 11\)/],
      ["export default async (context) => {\n  return 1;\n", /\(line 3, column 1\)/],
      ["import os from 'node:os';\nexport const a = ;", /\(line 2, column 18\)/],
      ["export default 1;\nreturn 2;", /Illegal return statement \(line 2, column 1\)/],
      ["enum A { B }\nexport default A.B;", /TypeScript enum/],
      ["import _ from 'lodash';\nexport default _;", /there is no module "lodash"/],
      ["import { nothing } from 'node:fs';\nexport default nothing;", /named 'nothing'/],
    ];
    for (const [code, says] of unreadable) {
      const problem = assertProblem(await put("read/task", { code }), 400, "code_syntax");
      assert.match(problem.detail, says);
      const stored = assertProblem(await service.run("read", code), 400, "code_syntax");
      assert.equal(problem.detail, stored.detail, "as a run is told");
    }
    assert.deepEqual([(await run("read/task")).text, (await kept("read/task", {})).version], ["1", 1]);
  });

  it("is read, and not evaluated, when it is kept", async () => {
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

  it("evaluates nothing that it imports when it is kept: data: and file: URLs are the author's code, too", async () => {
    // Evaluated, it would have the guest that reads find no module that parses.
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
  });

  it("is kept unread where there is no place for a guest, and told by its runs", async () => {
    const narrow = await startService([...NO_WALL, "--concurrency", "1"]);
    try {
      const task = { json: { code: "return 1 +;" } };
      const held = new AbortController();
      const long = narrow.run("full", "await new Promise(() => {})", { signal: held.signal }).catch(() => null);
      const busy = async (): Promise<boolean> => {
        const { containers } = (await narrow.request("GET", "/api/containers")).json() as {
          containers: { container: string; running: number }[];
        };
        return containers.some(({ container, running }) => container === "full" && running === 1);
      };
      await until(busy, "the run is in flight");
      assert.equal((await narrow.request("PUT", "/api/tasks/full/task", task)).status, 201);
      held.abort();
      await long;
      await until(async () => !(await busy()), "the run has gone");
      assertProblem(await narrow.request("POST", "/api/run/full/task"), 400, "code_syntax");
      const other = { json: { code: "return 2 +;" } };
      assertProblem(await narrow.request("PUT", "/api/tasks/full/task", other), 400, "code_syntax");
    } finally {
      await narrow.stop();
    }
  });
});

describe("who may run a named task", () => {
  it("is a token with run on the container; others are told nothing of which tasks there are", async () => {
    await kept("who/task", { code: TELLS });
    const runner = await service.issue({ containers: ["who"] });
    assert.equal((await told("who/task", { token: runner }))["method"], "POST");
    const answers = ["who/task", "who/none"].map(async (task) => {
      const strangers: (string | null)[] = [
        await service.issue({ containers: ["other"] }),
        await service.issue({ containers: ["who"], can: ["limits", "tasks"] }),
        null,
        "no.token.atall",
      ];
      return Promise.all(strangers.map(async (token) => (await run(task, { token })).text));
    });
    const [there, none] = await Promise.all(answers);
    assert.deepEqual(there, none);
    for (const text of there!) assert.match(text, /"status":403/);
    assertProblem(await run("who/none", { token: runner }), 404, "not_found");
    assertProblem(await run("who/-", { token: runner }), 404, "not_found");
    const pinned = await service.issue({ containers: ["who"], code: { sha256: "a".repeat(64) } });
    assertProblem(await run("who/task", { token: pinned }), 400, "code_pinned");
  });

  it("is charged with it, as is the token of the task, and the container", async () => {
    const { jti } = await kept("charged/task", { code: "() => 1", limits: { token: { day: 5 } } });
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

  it("is anybody where it is public: charged to the task's token, and to those above it", async () => {
    const head = await service.issue({ ...KEEPER, limits: { token: { day: 4 } } });
    const limits = { token: { day: 3 } };
    await kept("open/one", { code: "() => 1", public: true, limits }, { token: head });
    await kept("open/two", { code: "() => 2", public: true, limits }, { token: head });
    assert.deepEqual(
      [await statusOf("open/one"), await statusOf("open/one"), await statusOf("open/one")],
      [200, 200, 200],
    );
    assert.equal(await statusOf("open/one"), 429);
    assert.equal(await statusOf("open/two"), 200);
    // Its own would allow two more; what its family may have is used up.
    assert.equal(await statusOf("open/two"), 429);
  });

  it("is nobody any more when the token of the task has ended: revoked, expired, or below one that was", async () => {
    const head = await service.request("POST", "/api/tokens", { json: KEEPER });
    const above = head.json() as { token: string; jti: string };
    const revoked = await kept("ended/revoked", { code: TELLS, public: true });
    await kept("ended/below", { code: TELLS, public: true, secrets: { KEY: "x" } }, { token: above.token });
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
    await kept("ended/alive", { code: TELLS });
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
    // Put anew it begins again: nothing is kept of it, least of all a secret.
    const partial = assertProblem(await put("ended/revoked", { params: {} }), 400, "request_invalid");
    assert.match(partial.detail, /the task has ended/);
    const back = await rollBack("ended/revoked", { version: 1 });
    assert.partialDeepStrictEqual(back.json(), { version: 2, public: true });
    assert.equal(await statusOf("ended/revoked"), 200);
    const anew = await kept("ended/below", { code: TELLS });
    assert.equal(anew.version, 2);
    assert.equal(anew["public"], false);
    assert.deepEqual((await told("ended/below"))["secrets"], {});
  });

  it("has its run ended with the task", async () => {
    await kept("ended/running", { code: "() => new Promise(() => setTimeout(() => {}, 1e6))" });
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

describe("what is left of a named task", () => {
  it("is told those above its token that keep tasks or read limits, and administrators; nobody else", async () => {
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
    const { jti } = await kept("left/task", { code: TELLS, limits: { token: { day: 7 } } }, { token: keeper.token });
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

describe("who may keep a named task", () => {
  const acts: [string, string, unknown?][] = [
    ["PUT", "/api/tasks/keep/task", { code: "1" }],
    ["GET", "/api/tasks/keep/task"],
    ["DELETE", "/api/tasks/keep/task"],
    ["GET", "/api/tasks/keep"],
    ["GET", "/api/tasks/keep/task/versions"],
    ["POST", "/api/tasks/keep/task/rollback", { version: 1 }],
  ];

  it("is a token with tasks on the container, and nobody else", async () => {
    await kept("keep/task", { code: TELLS, secrets: { KEY: "x" } });
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
    for (const [method, target, json] of acts.filter(([verb]) => verb !== "DELETE")) {
      const answer = await service.request(method, target, { token, ...(json === undefined ? {} : { json }) });
      assert.equal(answer.status, 200, `${method} ${target}: ${answer.text}`);
    }
  });

  it("gives it no more than it has itself", async () => {
    const claims = { ...KEEPER, containers: ["less"], net: ["a.example"], limits: { container: { day: 9 } } };
    const token = await service.issue({ ...claims, params: { plan: "free" }, expiresIn: "1h" });
    const wider: [string, object][] = [
      ["net", { net: ["b.example"] }],
      ["exp", { expiresIn: "2h" }],
      ["limits.container", { limits: { container: { day: 10 } } }],
      ["params.plan", { params: { plan: "pro" } }],
    ];
    for (const [member, more] of wider) {
      const problem = assertProblem(await put("less/task", { code: "1", ...more }, { token }), 403, "token_forbidden");
      assert.deepEqual(
        problem.violations!.map((each) => each["member"]),
        [member],
      );
    }
    const task = await kept("less/task", { code: TELLS, params: { own: 1 } }, { token });
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

  it("answers for the whole of what it changes: it runs below who did that last, and without secrets that others set", async () => {
    const made = await kept("last/task", { code: TELLS, public: true, secrets: { KEY: "mine" }, net: ["a.example"] });
    const answer = await service.request("POST", "/api/tokens", { json: { ...KEEPER, net: false } });
    const { token, jti } = answer.json() as { token: string; jti: string };
    // What is kept counts, too: with its code it would reach a place that it may not.
    assertProblem(await put("last/task", { code: TELLS }, { token }), 403, "token_forbidden");
    const changed = await kept("last/task", { params: { a: 1 }, net: null }, { token });
    assert.partialDeepStrictEqual(changed, { net: false, public: true, by: jti });
    assert.notEqual(changed.jti, made.jti);
    assert.deepEqual((await told("last/task", { token: null }))["secrets"], {});
    await service.request("DELETE", `/api/tokens/${jti}`);
    assertProblem(await run("last/task", { token: null }), 403, "token_invalid");
  });

  it("is not who changes nothing: the task stays below who keeps it, and lasts as long", async () => {
    const json = { code: TELLS, params: { a: 1 }, net: ["a.example"], public: true, secrets: { KEY: "x" } };
    const made = await kept("idle/task", json);
    const token = await service.issue({ ...KEEPER, expiresIn: "1h" });
    for (const same of [{}, { code: TELLS }, { params: { a: 1 }, net: ["a.example"], public: true, fresh: false }]) {
      assert.deepEqual(await kept("idle/task", same, { token }), made);
    }
    const narrow = await service.issue({ ...KEEPER, net: false });
    assertProblem(await put("idle/task", {}, { token: narrow }), 403, "token_forbidden");
    assert.deepEqual(await secretsOf("idle/task"), { KEY: "x" });
    const again = await kept("idle/task", { secrets: { KEY: "x" } });
    assert.deepEqual([again.version, again.jti], [made.version + 1, made.jti]);
    assert.notEqual((await kept("idle/task", { fresh: true }, { token })).jti, made.jti);
  });

  it("gives no param the name of a secret that it inherits, and no secret that of a param", async () => {
    const claims = { ...KEEPER, params: { plan: "pro" }, secrets: { KEY: "above" }, secretsReadable: true };
    const token = await service.issue(claims);
    const clashes: [string, object][] = [
      ["params.KEY", { params: { KEY: "mine" } }],
      ["secrets.plan", { secrets: { plan: "mine" } }],
      ["secrets.KEY", { secrets: { KEY: "mine" } }],
    ];
    const refused = async (): Promise<void> => {
      for (const [member, more] of clashes) {
        const problem = assertProblem(
          await put("clash/task", { code: TELLS, ...more }, { token }),
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
    await kept("clash/task", { code: TELLS, params: { own: 1 } }, { token });
    await refused();
    assert.partialDeepStrictEqual(await told("clash/task"), {
      params: { plan: "pro", own: 1 },
      secrets: { KEY: "above" },
    });
  });

  it("hears every fault at once, in words of the task", async () => {
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
      // What is wrong in itself, in how it goes together, and in how it is kept.
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

  it("hears what is wrong and what is more than its token has at once", async () => {
    const token = await service.issue({
      ...{ containers: ["both"], can: ["tasks"], net: ["a.example"], params: { plan: "free" } },
      ...{ secrets: { KEY: "above" }, secretsReadable: true, expiresIn: "1h" },
    });
    const wider = {
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
    assert.deepEqual(await faultsOf({ code: "1", ...wider }, 403, "token_forbidden"), members);
    assert.deepEqual(await faultsOf({ code: " ", fresh: 1, ...wider }, 400, "request_invalid"), [
      "code",
      "exp",
      "fresh",
      ...members.slice(1),
    ]);
  });
});

describe("the secrets of a named task", () => {
  it("are kept with the code that they are for, and dropped with other code unless they are sent again", async () => {
    await kept("secret/task", { code: TELLS, secrets: { KEY: "one", B: "2" } });
    assert.deepEqual(await secretsOf("secret/task"), { KEY: "one", B: "2" });
    await kept("secret/task", { params: { a: 1 }, public: true });
    await kept("secret/task", { code: TELLS });
    assert.deepEqual(await secretsOf("secret/task"), { KEY: "one", B: "2" });
    await kept("secret/task", { secrets: { KEY: "two" } });
    assert.deepEqual(await secretsOf("secret/task"), { KEY: "two" });
    await kept("secret/task", { code: `${TELLS} ` });
    assert.deepEqual(await secretsOf("secret/task"), {});
    await kept("secret/task", { code: TELLS, secrets: { KEY: "three" } });
    assert.deepEqual(await secretsOf("secret/task"), { KEY: "three" });
    texts.set("/secret", TELLS);
    await kept("secret/task", { url: `${server.url}/secret` });
    assert.deepEqual(await secretsOf("secret/task"), {});
  });

  it("are dropped with other params, or another net, of somebody who has not set them, who keeps them by nothing else", async () => {
    const other = { token: await service.issue({ containers: ["secret"], can: ["tasks"] }) };
    const setter = { token: await service.issue({ containers: ["secret"], can: ["tasks", "issue"], depth: 1 }) };
    const net = ["good.example.com"];
    for (const changes of [{ params: { to: "evil" } }, { net: null }]) {
      await kept("secret/aimed", { code: TELLS, params: { to: "good" }, net, secrets: { KEY: "one" } });
      await kept("secret/aimed", { limits: { token: { day: 100 } } }, other);
      assert.deepEqual(await secretsOf("secret/aimed"), { KEY: "one" });
      await kept("secret/aimed", changes, other);
      assert.deepEqual(await secretsOf("secret/aimed"), {});
    }
    await kept("secret/mine", { code: TELLS, secrets: { KEY: "mine" } }, setter);
    await kept("secret/mine", { params: { a: 1 } }, setter);
    await kept("secret/mine", { net });
    assert.deepEqual(await secretsOf("secret/mine"), { KEY: "mine" });
  });

  it("are dropped when a token that has not set them makes the task public, or lets it run more often or longer", async () => {
    const other = { token: await service.issue({ containers: ["secret"], can: ["run", "tasks"], expiresIn: "2h" }) };
    const above = { limits: { container: { minute: 1_000 } }, containers: ["secret"], can: ["run", "tasks"] };
    const limited = { token: await service.issue({ ...above, expiresIn: "2h" }) };
    const limits = { token: { day: 100, minute: 90 } };
    const set = { code: TELLS, limits, fresh: true, expiresIn: "1h", secrets: { KEY: "one" } };
    const exp = Math.floor(Date.now() / 1_000) + 7_000;
    const opened = [
      { public: true },
      { limits: { token: { day: 101, minute: 90 } } },
      { limits: { token: { minute: 90 } } },
      { limits: null },
      { fresh: false },
      { exp },
    ];
    for (const changes of opened) {
      await kept("secret/opened", set);
      await kept("secret/opened", { limits: { token: { day: 90, minute: 90 } } }, other);
      await kept("secret/opened", changes, other);
      assert.deepEqual(await secretsOf("secret/opened"), {}, JSON.stringify(changes));
      await service.request("DELETE", "/api/tasks/secret/opened");
    }
    // Limits of a container that only an administrator's task has, and a limit that the token above brings.
    await kept("secret/opened", { ...set, limits: { ...limits, container: { minute: 500 } } });
    await kept("secret/opened", { params: {} }, other);
    await kept("secret/opened", { limits: { token: { day: 80, minute: 90 } } }, limited);
    assert.deepEqual(await secretsOf("secret/opened"), {});
    await service.request("DELETE", "/api/tasks/secret/opened");
    await kept("secret/opened", { ...set, public: true });
    await kept("secret/opened", { public: false, limits: { token: { day: 1_000, minute: 90 } } });
    const back = { json: { version: 1 }, ...other };
    assert.equal((await service.request("POST", "/api/tasks/secret/opened/rollback", back)).status, 200);
    assert.deepEqual(await secretsOf("secret/opened"), {});
    await kept("secret/opened", { ...set, public: true });
    await kept("secret/opened", { public: false }, other);
    assert.deepEqual(await secretsOf("secret/opened"), { KEY: "one" });
  });

  it("come back with no version, and are in no answer", async () => {
    await kept("secret/back", { code: TELLS, secrets: { KEY: "hunter2-back" } });
    await kept("secret/back", { code: "() => 1" });
    const rolled = await service.request("POST", "/api/tasks/secret/back/rollback", { json: { version: 1 } });
    assert.equal(rolled.status, 200, rolled.text);
    assert.deepEqual((await told("secret/back"))["secrets"], {});
    const again = { json: { version: 1, secrets: { KEY: "hunter2-again" } } };
    const answers = [
      await service.request("POST", "/api/tasks/secret/back/rollback", again),
      await get("secret/back"),
      await get("secret/back", "/versions"),
      await get("secret"),
    ];
    assert.deepEqual((await told("secret/back"))["secrets"], { KEY: "hunter2-again" });
    for (const answer of answers) assert.ok(answer.status === 200 && !answer.text.includes("hunter2"), answer.text);
  });

  it("cannot be set beside the task, where they would outlive its code", async () => {
    const { jti } = await kept("secret/beside", { code: TELLS });
    const answer = await service.request("PUT", `/api/tokens/${jti}/secrets`, { json: { KEY: "x" } });
    assert.match(assertProblem(answer, 400, "request_invalid").detail, /named task/);
    assert.deepEqual((await told("secret/beside"))["secrets"], {});
  });
});

describe("the versions of a named task", () => {
  it("are kept, the last ten, and any of them can be made the newest again", async () => {
    for (let number = 1; number <= 12; number++) {
      await kept("versions/task", {
        code: `() => ${number}`,
        params: { number },
        ...(number === 4 && { public: true }),
      });
    }
    const { versions } = (await get("versions/task", "/versions")).json() as { versions: Described[] };
    assert.deepEqual(
      versions.map(({ version }) => version),
      [12, 11, 10, 9, 8, 7, 6, 5, 4, 3],
    );
    assertProblem(await rollBack("versions/task", { version: 2 }), 404, "not_found");
    for (const json of [{}, { version: "3" }, { version: 3, code: "1" }, null]) {
      assertProblem(await rollBack("versions/task", json), 400, "request_invalid");
    }
    const wrong = assertProblem(
      await rollBack("versions/task", { version: "3", secrets: { a: 1 }, code: "1" }),
      400,
      "request_invalid",
    );
    assert.deepEqual(
      wrong.violations!.map((each) => each["member"]),
      ["version", "secrets.a", "code"],
    );
    const back = (await rollBack("versions/task", { version: 3 })).json() as Described;
    assert.partialDeepStrictEqual(back, { version: 13, params: { number: 3 }, public: false });
    assert.equal((await run("versions/task")).text, "3");
    assert.partialDeepStrictEqual((await rollBack("versions/task", { version: 4 })).json(), {
      version: 14,
      public: true,
    });
    assert.equal((await get("versions/task")).json() && (await run("versions/task", { token: null })).text, "4");
  });
});

describe("changes of a named task at once", () => {
  it("are told apart by ETag and If-Match: what somebody else has changed is not overwritten", async () => {
    const first = await kept("match/task", { code: "() => 1" });
    const second = await kept("match/task", { code: "() => 2" }, { headers: { "if-match": `"x", "${first.etag}"` } });
    const stale = { headers: { "if-match": `"${first.etag}"` } };
    assertProblem(await put("match/task", { code: "() => 3" }, stale), 412, "precondition_failed");
    assertProblem(await service.request("DELETE", "/api/tasks/match/task", stale), 412, "precondition_failed");
    const rollback = { json: { version: 1 }, ...stale };
    assertProblem(
      await service.request("POST", "/api/tasks/match/task/rollback", rollback),
      412,
      "precondition_failed",
    );
    const fresh = { headers: { "if-none-match": "*" } };
    assertProblem(await put("match/task", { code: "() => 3" }, fresh), 412, "precondition_failed");
    assertProblem(await put("match/none", { code: "1" }, { headers: { "if-match": "*" } }), 412, "precondition_failed");
    assert.equal((await put("match/none", { code: "1" }, fresh)).status, 201);
    const now = await get("match/task");
    assert.deepEqual([now.headers["etag"], (now.json() as Described)["code"]], [`"${second.etag}"`, "() => 2"]);
  });

  it("are told apart by a weak tag too, where the comparison is weak", async () => {
    const { etag } = await kept("weak/task", { code: "() => 1" });
    const weak = { headers: { "if-none-match": `W/"${etag}"` } };
    assertProblem(await put("weak/task", { code: "() => 2" }, weak), 412, "precondition_failed");
    const strong = { headers: { "if-match": `W/"${etag}"` } };
    assertProblem(await put("weak/task", { code: "() => 2" }, strong), 412, "precondition_failed");
  });

  it("are seen by GET, which answers 304 where nothing has changed", async () => {
    const { etag, jti } = await kept("seen/task", { code: "() => 1" });
    const ask = (headers: Record<string, string>): Promise<Answer> => {
      return service.request("GET", "/api/tasks/seen/task", { headers });
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
    const absent = await service.request("GET", "/api/tasks/seen/none", { headers: { "if-match": "*" } });
    assertProblem(absent, 404, "not_found");
    // The end of a task changes no version and no tag, and the client must still learn of it.
    assert.equal((await service.request("DELETE", `/api/tokens/${jti}`)).status, 200);
    const ended = await ask({ "if-none-match": `"${etag}"` });
    assert.deepEqual([ended.status, (ended.json() as Described)["revoked"]], [200, true]);
  });

  it("one of many wins that come after the same version, and without a condition all of them come one after another", async () => {
    const { etag } = await kept("race/task", { code: "() => 0", secrets: { KEY: "0" } });
    const won = await rivals({ headers: { "if-match": `"${etag}"` } });
    assert.equal(won.filter(({ status }) => status === 200).length, 1);
    assert.equal(won.filter(({ status }) => status === 412).length, 7);
    // The secrets are those of the one that won.
    const winner = won.findIndex(({ status }) => status === 200);
    assert.deepEqual((await run("race/task")).json(), [winner, String(winner)]);
    const all = await rivals({});
    assert.deepEqual(
      all.map(({ status }) => status),
      Array.from({ length: 8 }, () => 200),
    );
    assert.equal(((await get("race/task")).json() as Described).version, 10);
    const [rival, key] = (await run("race/task")).json() as [number, string];
    assert.equal(String(rival), key);
  });
});

describe("the tasks of a container", () => {
  it("are listed page by page, without their code", async () => {
    for (const name of ["c", "a", "b", "d"]) await kept(`list/${name}`, { code: "() => 'the code'" });
    await kept("list2/z", { code: "1" });
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

  it("can be deleted, and then nothing is left of them: no run, no token, no version, no secret", async () => {
    const { jti } = await kept("gone/task", { code: TELLS, secrets: { KEY: "x" } });
    await kept("gone/task", { params: { a: 1 } });
    const answer = await service.request("DELETE", "/api/tasks/gone/task");
    assert.deepEqual([answer.status, answer.json()], [200, { container: "gone", name: "task", deleted: true }]);
    assertProblem(await service.request("DELETE", "/api/tasks/gone/task"), 404, "not_found");
    assertProblem(await run("gone/task"), 404, "not_found");
    assertProblem(await get("gone/task", "/versions"), 404, "not_found");
    assert.notEqual(
      ((await service.request("GET", `/api/tokens/${jti}`)).json() as { revoked: unknown }).revoked,
      null,
    );
    const anew = await kept("gone/task", { code: TELLS });
    assert.equal(anew.version, 1);
    assert.notEqual(anew.jti, jti);
    assert.deepEqual((await told("gone/task"))["secrets"], {});
  });

  it("are tokens that can be looked at, with what they were used for, and are nobody's credential", async () => {
    const { jti } = await kept("look/task", { code: "() => 1", public: true });
    await run("look/task", { token: null });
    const answer = await service.request("GET", `/api/tokens/${jti}`);
    assert.partialDeepStrictEqual(answer.json(), { jti, runs: 1, claims: { task: "look/task", containers: ["look"] } });
  });

  it("answer other methods and paths as everything does", async () => {
    assertProblem(await service.request("POST", "/api/tasks/a/b"), 405, "method_not_allowed");
    assertProblem(await service.request("GET", "/api/tasks/a/b/rollback"), 405, "method_not_allowed");
    assertProblem(await service.request("GET", "/api/tasks/a/b/c"), 404, "not_found");
    assertProblem(await service.request("GET", "/api/run/a/"), 404, "not_found");
    assertProblem(await run("a/b", {}, "TRACE"), 405, "method_not_allowed");
    const preflight = await service.request("OPTIONS", "/api/run/a/b/c", { token: null });
    assert.deepEqual([preflight.status, preflight.headers["access-control-allow-methods"]], [204, VERBS.join(", ")]);
  });
});
