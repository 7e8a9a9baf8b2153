import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { gzipSync } from "node:zlib";

import type { Answer, RequestOptions } from "./http.ts";
import { assertProblem } from "./problem.ts";
import { NO_WALL, type Service, startService } from "./service.ts";

const JTI = "11111111-1111-4111-8111-111111111111";
const METRICS_TOKEN = "metrics-token-of-the-collector";

let folder: string;
let service: Service;
/** Tokens without the verbs that a mistake needs. */
let runner: string;
let reader: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "caisson-mistakes-"));
  await writeFile(join(folder, "metrics"), METRICS_TOKEN, { mode: 0o600 });
  service = await startService([...NO_WALL, "--metrics-token", join(folder, "metrics")]);
  runner = await service.issue({ containers: ["acme"] });
  reader = await service.issue({ containers: ["acme"], can: ["logs", "tasks"] });
  const made = await service.request("PUT", "/api/tasks/acme/hook", { json: { code: "return 1" } });
  assert.equal(made.status, 201);
});
after(async () => {
  await service.stop();
  await rm(folder, { recursive: true });
});

/** What a user types, and the expected answer. */
interface Mistake {
  readonly method?: string;
  readonly target: string;
  readonly options?: RequestOptions;
  readonly status: number;
  readonly code: string;
  readonly detail?: RegExp;
  readonly hint?: RegExp;
}

async function check({ method = "GET", target, options = {}, status, code, detail, hint }: Mistake): Promise<void> {
  const problem = assertProblem(await service.request(method, target, options), status, code);
  if (detail) assert.match(problem.detail, detail);
  if (hint) assert.match(problem.hint ?? "(no hint)", hint);
}

function mistakes(rows: readonly Mistake[]): void {
  for (const row of rows) {
    const { options: { body, json, headers } = {} } = row;
    const more = JSON.stringify({ body, json, headers }).slice(0, 100);
    it(`${row.method ?? "GET"} ${row.target} ${more} is answered with the fix`, () => check(row));
  }
}

mistakes([
  {
    method: "DELETE",
    target: "/api/packages/allow/nosuch",
    status: 404,
    code: "not_found",
    detail: /^the list has no entry nosuch$/,
    hint: /^caisson packages list prints the entries\./,
  },
  {
    method: "POST",
    target: "/api/runs/acme?a=6",
    options: { body: "1" },
    status: 400,
    code: "request_invalid",
    detail: /a is no option/,
    hint: /is a member of the envelope: \{"code": "\.\.\.", "query": \{"a": "6"\}\}\.$/,
  },
  {
    method: "POST",
    target: "/api/runs/acme?async=true",
    options: { body: "1" },
    status: 400,
    code: "request_invalid",
    detail: /async is no option/,
    hint: /^The service answers when the run has ended.*no run in the background/,
  },
  {
    method: "POST",
    target: "/api/run/acme",
    options: { body: "#!/usr/bin/env node return 1" },
    status: 400,
    code: "code_missing",
    hint: /begins with #! and is a comment: .*--data-binary/,
  },
  {
    method: "POST",
    target: "/api/run/acme",
    options: { body: gzipSync("1") },
    status: 400,
    code: "request_invalid",
    hint: /compressed with gzip/,
  },
  {
    method: "POST",
    target: "/api/run/acme",
    options: { body: Buffer.from("\uFEFFreturn 1", "utf16le") },
    status: 400,
    code: "request_invalid",
    hint: /UTF-16.*: save the file as UTF-8/,
  },
  {
    method: "POST",
    target: "/api/run/acme",
    options: { json: { code: " " } },
    status: 400,
    code: "code_missing",
    hint: /^The code is empty or has only white space/,
  },
  {
    method: "POST",
    target: "/api/tokens",
    options: { json: { containers: ["acme"], net: true } },
    status: 400,
    code: "request_invalid",
    detail:
      /net must be false, or a list of 1 to 100 hosts, such as \["api\.example\.com"\]; without net, code may reach what the service permits/,
  },
]);

it("a token with the verb issue and without a depth learns what its issuer sets", async () => {
  const token = await service.issue({ containers: ["acme"], can: ["run", "issue"] });
  await check({
    method: "POST",
    target: "/api/tokens",
    options: { token, json: { containers: ["acme"] } },
    status: 403,
    code: "token_forbidden",
    detail: /depth of the calling token is 0/,
    hint: /\{"can": \["run", "issue"\], "depth": 1\}/,
  });
});

describe("a token that may not do this", () => {
  const rows: readonly [string, string, RegExp, RegExp, (() => string)?][] = [
    ["GET", "/api/runs/acme", /reading records of runs needs the verb logs/, /has the verbs run, limits/],
    ["GET", "/api/failures", /needs the verb logs/, /can issue one with logs/],
    ["GET", "/api/usage", /reading usage needs the verb logs/, /has the verbs run, limits/],
    ["POST", "/api/tokens", /issuing a token needs the verb issue/, /has the verbs/],
    ["GET", "/api/tokens", /listing tokens needs the verb issue/, /has the verbs/],
    ["GET", "/api/containers", /needs the verb issue/, /has the verbs/],
    ["PUT", "/api/tasks/acme/x", /needs the verb tasks/, /has the verbs/],
    ["POST", "/api/containers/acme/restart", /needs the verb tasks/, /has the verbs/],
    ["GET", "/api/audit", /reading the audit needs the token of an administrator/, /--admin/],
    ["GET", "/metrics", /administrator/, /--admin/],
    ["GET", "/api/containers/acme", /administrator/, /--admin/],
    ["DELETE", "/api/limits/container/acme", /administrator/, /--admin/],
    ["POST", "/api/containers/acme/suspend", /administrator/, /--admin/],
    ["GET", "/api/limits/container/other", /in this container/, /The token is for acme\./],
    ["DELETE", "/api/runs/other/e506c653c0d4-2", /in this container/, /The token is for acme\./],
    ["GET", `/api/limits/token/${JTI}`, /of this jti/, /for itself and the tasks below it/],
    ["GET", `/api/tokens/${JTI}`, /of this jti/, /for itself and the tokens below it/],
    ["DELETE", `/api/tokens/${JTI}`, /of this jti/, /for itself and the tokens below it/],
    ["PUT", `/api/tokens/${JTI}/secrets`, /needs the verb issue/, /has the verbs/],
    ["GET", "/api/runs/other", /in this container/, /The token is for acme\./, () => reader],
    ["GET", "/api/tasks/other", /in this container/, /The token is for acme\./, () => reader],
  ];
  for (const [method, path, detail, hint, token = () => runner] of rows) {
    it(`learns what it needs and what it has: ${method} ${path}`, async () => {
      await check({
        method,
        target: path,
        options: { token: token() },
        status: 403,
        code: "token_forbidden",
        detail,
        hint,
      });
    });
  }
});

describe("a text that is no token", () => {
  const jwt =
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U";
  const rows: readonly [string, () => string, RegExp, RegExp][] = [
    ["of another service", () => jwt, /algorithm of the token is not EdDSA/, /Another service issued/],
    ["in quotes", () => `"${runner}"`, /in quotes/, /without quotes/],
    ["cut", () => runner.slice(0, -5), /its end is missing/, /whole/],
    ["with more after it", () => `${runner}abc`, /other characters at its end/, /whole/],
    ["a path", () => "data/admin.token", /characters of a path/, /\$\(cat FILE\)/],
    ["a variable that is not set", () => "undefined", /the text undefined/, /variable/],
    ["a placeholder", () => "<token>", /placeholder/, /member token/],
    ["a variable in single quotes", () => "$TOKEN", /name of a variable, and not its value/, /not in single quotes/],
  ];
  for (const [title, token, detail, hint] of rows) {
    it(`is named without repeating it: ${title}`, async () => {
      const options = { token: token() };
      await check({ target: "/api/tokens", options, status: 403, code: "token_invalid", detail, hint });
      await check({
        method: "POST",
        target: "/api/run/acme",
        options,
        status: 403,
        code: "token_invalid",
        detail,
        hint,
      });
    });
  }

  it("is named if a line end follows in the query", async () => {
    const path = `/api/tokens?key=${runner}%0A`;
    const options = { token: null };
    await check({ target: path, options, status: 403, code: "token_invalid", detail: /white space or a line end/ });
  });
});

describe("a wrong path", () => {
  const near: readonly [string, string, string?][] = [
    ["/api/run", "/api/run/{container}"],
    ["/api/run/", "/api/run/{container}", "POST"],
    ["/run/demo", "/api/run/demo", "POST"],
    ["/api/container/acme", "/api/containers/acme"],
    ["/api/task/acme/hook", "/api/tasks/acme/hook"],
    ["/api/limits/acme", "/api/limits/container/acme"],
    ["/api/limits/containers/acme", "/api/limits/container/acme"],
    ["/api/v1/run/demo", "/api/run/demo", "POST"],
    ["/health", "/healthz"],
    ["/healthz/", "/healthz"],
    ["/metrics/", "/metrics"],
    ["/openapi.yaml", "/openapi.json"],
    ["/api/Runs/demo", "/api/runs/demo"],
    ["/api/run_s/acme/events", "/api/runs/acme/events"],
    ["/api/token", "/api/tokens"],
  ];
  for (const [path, meant, method = "GET"] of near) {
    it(`is answered with the path that is meant: ${path}`, async () => {
      const { hint } = assertProblem(await service.request(method, path), 404, "not_found");
      assert.equal(hint, `Did you mean ${meant}?`);
    });
  }

  it("of another service is answered with the path that serves its purpose", async () => {
    const others: readonly [string, RegExp][] = [
      ["/sse", /\/mcp\/\{container\}/],
      ["/api/logs/acme", /GET \/api\/runs\/\{container\} lists the runs/],
      ["/api/containers/acme/stop", /\/suspend refuses new runs; with \?now=true/],
      ["/api/containers/acme/start", /\/resume/],
      ["/api/containers/acme/unsuspend", /\/resume permits runs again/],
      ["/api/containers/acme/deactivate", /\/suspend refuses new runs/],
      ["/api/containers/acme/reload", /\/restart replaces the guests/],
      ["/api/containers/acme/reset", /DELETE \/api\/limits\/container\/\{container\} resets the counts/],
      ["/api/containers/acme/remove", /^DELETE \/api\/containers\/\{container\} removes limits, labels/],
      ["/api/containers/acme/create", /needs no creation/],
      ["/api/containers/acme/labels", /^PATCH \/api\/containers\/\{container\} sets them: \{"labels"/],
      ["/api/containers/acme/secrets/KEY", /belong to a task, with PUT \/api\/tasks/],
      ["/api/webhooks/acme/hook", /^A webhook is a named task: PUT .* with "public": true/],
      ["/console", /^The web console is at \/, or/],
      ["/login", /^The web console is at \/, or/],
      ["/api/keys/rotate", /`caisson keys` lists, rotates and revokes/],
      ["/mcp/", /Leave the slash at the end out/],
      ["/hook", /^A webhook is a named task/],
      [
        "/api/tasks",
        /^PUT \/api\/tasks\/\{container\}\/\{name\} makes a task, with its container and its name in the path\. GET/,
      ],
      ["/api/tasks/acme/hook/run", /POST \/api\/run\/\{container\}\/\{name\}/],
      ["/api/schedules", /no schedule/],
      ["/api/packages/zod", /PUT \/api\/packages\/allow\/\{entry\} permits a package/],
      ["/api/containers/acme/tasks", /GET \/api\/tasks\/\{container\}/],
      ["/api/containers/acme/tasks/hook", /PUT \/api\/tasks\/\{container\}\/\{name\} makes one/],
      ["/api/containers/acme/logs", /GET \/api\/runs\/\{container\} lists/],
      ["/api/containers/acme/run", /POST \/api\/run\/\{container\}/],
      ["/api/containers/acme/limits", /sets the limits/],
      ["/api/limits", /\/api\/limits\/token\/\{jti\}/],
      ["/api/limits/user/bob", /\/api\/limits\/container\/\{container\}/],
      ["/api/runs/acme/e506c653c0d4-2/logs", /\/console/],
      ["/api/runs/acme/e506c653c0d4-2/cancel", /^DELETE \/api\/runs\/\{container\}\/\{run\} cancels/],
      ["/api/tasks/acme/hook/version/3", /versions\/\{version\} has a version with its code/],
      [`/api/tokens/${JTI}/revoke`, /DELETE \/api\/tokens\/\{jti\}/],
      [`/api/tokens/${JTI}/refresh`, /does not change/],
      ["/api/secrets/acme", /PUT \/api\/tasks/],
      ["/api/health", /GET \/healthz/],
      ["/docs", /folder docs/],
    ];
    for (const [target, hint] of others) await check({ method: "POST", target, status: 404, code: "not_found", hint });
  });

  it("that resembles none is answered with the place of the list", async () => {
    for (const path of ["/wp-login.php", "/api/demo", "/api", `/${"a/".repeat(500)}`, `/${"a".repeat(5_000)}`]) {
      await check({
        target: path,
        status: 404,
        code: "not_found",
        hint: /^GET \/openapi\.json lists the paths\. POST/,
      });
    }
  });

  it("answers the same for containers that exist and for others, without a token", async () => {
    for (const name of ["acme", "nope"]) {
      const { hint } = assertProblem(
        await service.request("GET", `/api/container/${name}`, { token: null }),
        404,
        "not_found",
      );
      assert.equal(hint, `Did you mean /api/containers/${name}?`);
    }
  });

  it("with a slash at the end is answered with the path without it", async () => {
    for (const path of [
      "/api/tokens/",
      "/api/runs/",
      "/api/containers/",
      "/api/tasks/acme/",
      "/api/limits/container/",
    ]) {
      const hint = new RegExp(`Leave the slash .* ${path.slice(0, -1)}$`);
      await check({ target: path, status: 404, code: "not_found", hint });
    }
    await check({ method: "POST", target: "/api/runs/", status: 404, code: "not_found", hint: /Leave the slash/ });
  });
});

describe("a jti that is none", () => {
  const rows: readonly [string, string][] = [
    ["GET", "/api/tokens/nope"],
    ["DELETE", "/api/tokens/nope"],
    ["PUT", "/api/tokens/nope/secrets"],
  ];
  mistakes(
    rows.map(([method, target]) => ({
      ...{ method, target, status: 400, code: "request_invalid" },
      ...{ detail: /"nope" is not the jti of a token/, hint: /UUID in lower case/ },
    })),
  );

  it("is not repeated if it is a token", async () => {
    for (const method of ["GET", "DELETE"]) {
      const answer = await service.request(method, `/api/tokens/${runner}`);
      const problem = assertProblem(answer, 400, "request_invalid");
      assert.match(problem.detail, /^the path has a token itself, and not the jti of a token$/);
      assert.match(problem.hint ?? "", /POST \/api\/tokens\/introspect/);
    }
  });

  it("reads as the limits of the service, with a hint, because another node may have signed the token", async () => {
    for (const [jti, form] of [
      ["nope", /^No token with this jti is stored here\. .* A jti is a UUID/],
      [JTI, /^No token with this jti is stored here\. .* service\. GET/],
    ] as const) {
      const { status, headers } = await service.request("GET", `/api/limits/token/${jti}`);
      assert.equal(status, 200);
      assert.match(headers["caisson-hint"] ?? "", form);
    }
    const { jti } = (await service.request("POST", "/api/tokens", { json: { containers: ["a"] } })).json() as {
      jti: string;
    };
    assert.ok(!("caisson-hint" in (await service.request("GET", `/api/limits/token/${jti}`)).headers));
  });
});

describe("a wrong member of a body", () => {
  const known = /^The members are admin, containers, can, exp, expiresIn/;
  const rows: readonly [method: string, path: string, json: object, detail: RegExp, hint?: RegExp][] = [
    ["POST", "/api/tokens", { containers: ["a"], ttl: "1h" }, /ttl .* did you mean expiresIn\?/, known],
    ["POST", "/api/tokens", { containers: ["a"], scope: "run" }, /did you mean can\?/, known],
    ["POST", "/api/tokens", { containers: ["a"], network: ["a.b"] }, /network .* did you mean net\?/, known],
    ["POST", "/api/tokens", { containers: ["a"], name: "ci" }, /name .* did you mean description\?/, known],
    ["POST", "/api/tokens", { container: "a" }, /did you mean containers\?/, known],
    ["POST", "/api/tokens", { containers: ["a"], zzz: 1 }, /zzz is not a known member$/, known],
    [
      "POST",
      "/api/tokens",
      { containers: ["a"], preset: "customer" },
      /only `caisson tokens issue --preset` has presets/,
    ],
    [
      "POST",
      "/api/tokens",
      { containers: ["a"], limits: "3/minute" },
      /limits must be an object with container, token or both, such as \{\\"container\\": \{\\"minute\\": 3\}\}/,
    ],
    [
      "POST",
      "/api/tokens",
      { containers: ["a"], limits: ["minute=3"] },
      /limits must be an object with container, token or both, such as \{\\"container\\": \{\\"minute\\": 3\}\}/,
    ],
    [
      "POST",
      "/api/tokens",
      { containers: ["a"], limits: { container: "3/minute" } },
      /limits\.container must be an object with any of second, .* month, such as \{\\"minute\\": 3\}/,
    ],
    ["PUT", "/api/tasks/acme/x", { code: "1", limits: { minutes: 1 } }, /belongs in limits\.container\.minute or/],
    [
      "PUT",
      "/api/tasks/acme/x",
      { code: "1", limits: { task: 1 } },
      /limits has container and token, each with windows/,
    ],
    ["POST", "/api/tasks/acme/hook/rollback", [], /must be a JSON object such as \{.*version.*: 3\}/],
    ["POST", "/api/tokens", { containers: ["a"], limits: { minute: 1 } }, /belongs in limits\.container\.minute/],
    [
      "POST",
      "/api/tokens",
      { containers: ["a"], limits: { container: { minutes: 1 } } },
      /limits\.container\.minutes is not a known member; did you mean minute\?/,
      /^The members of limits\.container are second, minute, hour/,
    ],
    ["POST", "/api/tokens", { containers: ["a"], limits: { container: { min: 1 } } }, /did you mean minute\?/],
    ["POST", "/api/tokens", { containers: ["a"], can: "run" }, /can must be a list with any of run, limits/],
    ["POST", "/api/tokens", { containers: "a" }, /must be a list of container names, such as \[.*acme/],
    ["POST", "/api/tokens", [], /must be a JSON object such as \{.*containers/],
    ["POST", "/api/tokens", { containers: ["a"], limits: { token: { day: 0 } } }, /leave the window out for no limit/],
    ["PATCH", "/api/containers/acme", [{ op: "add" }], /must be a JSON object such as \{.*limits/],
    ["PUT", "/api/containers/acme", { minute: 60 }, /minute belongs in limits, such as/],
    ["PUT", "/api/containers/acme", { limits: { min: 60 } }, /did you mean minute\?/, /members of limits are/],
    ["PUT", "/api/containers/acme", { memory: "512MiB" }, /the operator sets --memory-limit, for all containers/],
    ["PATCH", "/api/containers/acme", { timeout: "5s" }, /a task, a token and a request have a timeout/],
    [
      "PATCH",
      "/api/containers/acme",
      { labels: Object.fromEntries(Array.from({ length: 33 }, (_, at) => [`l${at}`, "x"])) },
      /at most 16 texts by their names, .* of at most 32 members with those that are null/,
    ],
    ["PATCH", "/api/containers/acme", { label: {} }, /did you mean labels\?/, /are limits, labels, description/],
    ["PUT", "/api/tasks/acme/x", { source: "1" }, /did you mean code\?/, /^The members are code, modules/],
    ["PUT", "/api/tasks/acme/x", { code: "1", colour: "red" }, /colour is not a known/, /^The members are code/],
    ["PUT", "/api/tasks/acme/x", { scrpt: "1" }, /did you mean code\?/, /^The members are code, modules/],
    ["PUT", "/api/tasks/acme/x", { code: "1", dependncies: {} }, /did you mean packages\?/],
    ["POST", "/api/tokens", { containers: ["a"], scoeps: "run" }, /did you mean can\?/, known],
    ["POST", "/api/run/acme", { scrpt: "return 1" }, /#\/scrpt is not a member of the envelope; did you mean code\?/],
    ["POST", "/api/runs/acme", { scrpt: "return 1" }, /#\/scrpt is not a member of the envelope; did you mean code\?/],
    ["POST", "/api/run/acme", { code: "1", paylod: {} }, /did you mean data\?/, /The envelope is/],
    ["PUT", "/api/tasks/acme/x", { code: "1", rateLimit: {} }, /did you mean limits\?/],
    ["PUT", "/api/tasks/acme/x", { code: "1", dependencies: {} }, /did you mean packages\?/],
    ["PUT", "/api/tasks/acme/x", { code: "1", auth: "none" }, /\\"public\\": true lets callers without a token/],
    ["PUT", "/api/tasks/acme/x", { code: "1", method: "POST" }, /reads context\.method/],
    ["PUT", "/api/tasks/acme/x", { code: "1", cors: true }, /pages of every origin may call a task/],
    ["PUT", "/api/tasks/acme/x", { code: "1", name: "x" }, /the path has the name of the task/],
    ["PUT", "/api/tasks/acme/x", { code: "1", memory: "1GB" }, /the operator sets --memory-limit/],
    ["PUT", "/api/tasks/acme/x", { code: "1", runtime: "node20" }, /in the Node of the service/],
    ["PUT", "/api/tasks/acme/x", { code: "1", retries: 3 }, /runs the code once/],
    ["PUT", "/api/tasks/acme/x", { code: "1", handler: "a.b" }, /export default \(context\) =>/],
    ["PUT", "/api/tasks/acme/x", { code: "1", ttl: "1h" }, /did you mean expiresIn\?/],
    ["POST", "/api/tasks/acme/hook/rollback", { verson: 1 }, /version/, /members are version, secrets/],
    [
      "POST",
      "/api/runs/acme",
      { code: "1", maxresult: "1MiB" },
      /did you mean maxResult\?/,
      /timeout, file, maxResult/,
    ],
    ["POST", "/api/run/acme", { code: "1", dat: 1 }, /did you mean data\?/, /The envelope is/],
    ["POST", "/api/run/acme", { code: "1", secrets: {} }, /PUT \/api\/tasks\/\{container\}\/\{name\} sets secrets/],
    ["PUT", "/api/containers/acme", { limits: { container: { minute: 5 } } }, /write \{.*limits.*minute.*60/],
    ["POST", "/api/tokens", { containers: ["a"], exp: "2027-01-01" }, /whole Unix seconds.*such as 1900000000/],
  ];
  for (const [method, path, json, detail, hint] of rows) {
    it(`is answered with the members: ${method} ${path} ${JSON.stringify(json)}`, async () => {
      const problem = assertProblem(await service.request(method, path, { json }), 400, "request_invalid");
      assert.match(JSON.stringify([problem.detail, problem.violations]), new RegExp(detail.source.replace(/\$$/, '"')));
      if (hint) assert.match(problem.hint ?? "(no hint)", hint);
      for (const violation of problem.violations ?? []) assert.ok(!("known" in violation));
    });
  }

  it("is answered quickly if all of many members are wrong", async () => {
    const json = Object.fromEntries(Array.from({ length: 128 }, (_, at) => [`containerz${at}`, 1]));
    const { violations } = assertProblem(
      await service.request("POST", "/api/tokens", { json }),
      400,
      "request_invalid",
    );
    const meant = violations!.filter(({ detail }) => String(detail).includes("did you mean"));
    assert.equal(violations!.length, 100);
    assert.ok(meant.length <= 8);
    const more = await service.request("POST", "/api/tokens", { json: { ...json, another: 1 } });
    assert.match(assertProblem(more, 400, "request_invalid").detail, /more than 128 members/);
  });
});

describe("a body that is not JSON", () => {
  const form = { "Content-Type": "multipart/form-data; boundary=x" };
  const parts = '--x\r\nContent-Disposition: form-data; name="containers"\r\n\r\nacme\r\n--x--\r\n';
  const status = 400;
  const code = "request_invalid";
  const tokens = { method: "POST", target: "/api/tokens", status, code };
  const rollback = { method: "POST", target: "/api/tasks/acme/hook/rollback", status, code };
  mistakes([
    { ...tokens, options: { body: "" }, detail: /the body is empty/, hint: /such as \{"containers":\["acme"\]\}/ },
    { ...tokens, options: { body: parts, headers: form }, detail: /the body is a form/, hint: /Send JSON/ },
    { ...tokens, options: { body: "containers=acme" }, detail: /the body is a form/, hint: /Send JSON/ },
    { ...tokens, options: { body: '{"containers":' }, detail: /the body is not JSON: .* line 1/, hint: /Send JSON/ },
    { ...rollback, detail: /the body is empty/, hint: /\{"version":3\}/ },
    {
      method: "PUT",
      target: "/api/containers/acme",
      status,
      code,
      detail: /empty/,
      hint: /\{"limits":\{"minute":60\}\}/,
    },
  ]);
});

function ifMatch(tag: string): RequestOptions {
  return { json: { code: "return 2" }, headers: { "If-Match": tag } };
}

describe("a condition that does not hold", () => {
  const put = { method: "PUT", target: "/api/tasks/acme/hook", status: 412, code: "precondition_failed" };
  const json = { code: "return 2" };

  it("is named: the task exists, or does not", async () => {
    await check({
      ...put,
      options: { json, headers: { "If-None-Match": "*" } },
      detail: /the task exists already/,
      hint: /Leave If-None-Match out/,
    });
    await check({
      ...{ ...put, target: "/api/tasks/acme/none", options: { json, headers: { "If-Match": "*" } } },
      ...{ detail: /no task with this name/, hint: /Leave If-Match out/ },
    });
  });

  it("is named: quotes are missing, the tag is weak, or the task has changed", async () => {
    const { etag } = (await service.request("GET", "/api/tasks/acme/hook")).json() as { etag: string };
    await check({
      ...put,
      options: ifMatch(etag),
      detail: /not in double quotes/,
      hint: new RegExp(`ETag: "${etag}"`),
    });
    await check({ ...put, options: ifMatch(`W/"${etag}"`), detail: /weak/, hint: /without W\// });
    await check({
      ...put,
      options: ifMatch('"other"'),
      detail: /another client has changed/,
      hint: /Read the task again/,
    });
  });
});

async function hintOf(method: string, target: string): Promise<string | undefined> {
  const answer = await service.request(method, target, method === "POST" ? { body: "1" } : {});
  assert.equal(answer.status, 200);
  return answer.headers["caisson-hint"];
}

const SOURCE = { method: "PUT", options: { body: "1", headers: { "Content-Type": "text/javascript" } } };

describe("a wrong method", () => {
  const rows: readonly [string, string, RegExp][] = [
    ["GET", "/api/tokens/introspect", /POST with the form token=/],
    ["GET", `/api/tokens/${JTI}/secrets`, /never shows secrets/],
    ["DELETE", "/api/runs/acme", /\/\{run\} cancels one run/],
    ["POST", "/api/runs/acme/hook", /\?task=\{name\}/],
    ["POST", "/api/packages", /^PUT \/api\/packages\/allow\/\{entry\} permits a package/],
  ];
  for (const [method, target, hint] of rows) {
    it(`is answered with the request that is meant: ${method} ${target}`, async () => {
      await check({ method, target, status: 405, code: "method_not_allowed", hint });
    });
  }
});

describe("a task that does not exist", () => {
  const status = 404;
  const code = "not_found";
  const near = /^Did you mean hook\? GET \/api\/tasks\/\{container\} lists the tasks\.$/;
  const target = "/api/tasks/acme/hok";
  mistakes([
    { target, status, code, hint: near },
    { method: "DELETE", target, status, code, hint: near },
    { target: `${target}/versions`, status, code, hint: near },
    { method: "POST", target: `${target}/rollback`, options: { json: { version: 1 } }, status, code, hint: near },
    { method: "POST", target: "/api/run/acme/hok", status, code, hint: near },
    { method: "POST", target: "/api/runs/acme?task=hok", status, code, hint: near },
    {
      target: "/api/tasks/acme/other",
      status,
      code,
      hint: /^GET \/api\/tasks\/\{container\} lists the tasks, and PUT/,
    },
    { target: "/api/run/acme/e506c653c0d4-2", status, code, hint: /the id of a run: GET \/api\/runs\// },
  ]);

  it("is not compared with those that exist for a token that may not list them", async () => {
    const options = { token: runner };
    await check({ method: "POST", target: "/api/run/acme/hok", options, status, code, hint: /^GET \/api\/tasks/ });
  });
});

describe("a query", () => {
  const status = 400;
  const code = "request_invalid";
  mistakes([
    { target: "/api/audit?action=deleted", status, code, detail: /must be one of token issued, .*task deleted/ },
    { target: "/api/tokens?cursor=1795490968406.8", status, code, detail: /leave it out for the first page/ },
    { target: "/api/containers?cursor=%2F", status, code, detail: /not the member next of a page/ },
    { method: "POST", target: "/api/run/acme?task_timeout=5", status, code, hint: /\/api\/runs\/.*timeout=5s/ },
    { target: "/api/runs?sinse=1h", status, code, detail: /did you mean since\?/, hint: /The parameters here are/ },
    { target: "/api/runs?from=24h", status, code, detail: /did you mean since\?/ },
    { target: "/api/runs?offset=10", status, code, detail: /did you mean cursor\?/ },
    {
      target: "/api/runs?since=1h&until=2h",
      status,
      code,
      detail: /since is not before until; a duration is before now/,
    },
    { target: "/api/failures?since=1h&until=2h", status, code, detail: /since is not before until/ },
    { target: "/api/runs?task=my%20task", status, code, detail: /A-Z a-z 0-9/ },
    { target: "/api/usage?group=container", status, code, detail: /did you mean by\?/ },
    { target: "/api/usage?since=24h", status, code, detail: /did you mean from\?/ },
    { target: "/api/usage?container=acme", status, code, detail: /by=container counts each container/ },
    { target: "/api/usage?format=csv", status, code, detail: /Accept: text\/csv/ },
    {
      method: "POST",
      target: "/api/tasks/acme/hook/rollback?version=1",
      status,
      code,
      detail: /in its body, \{"version": 3\}/,
    },
    {
      ...{ method: "PUT", target: "/api/tasks/acme/x?timeout=5s", options: { body: "return 1" } },
      ...{ status, code, detail: /timeout is a parameter only if the body is the code itself, with Content-Type: / },
    },
    { ...SOURCE, target: "/api/tasks/acme/x?secrets=KEY", status, code, detail: /send the task as JSON/ },
  ]);

  it("that does something else than it seems is answered with a hint", async () => {
    assert.match(
      (await hintOf("POST", "/api/run/acme?timeout=5")) ?? "",
      /is for the task.*\/api\/runs\/\{container\}/,
    );
    assert.equal(await hintOf("POST", "/api/run/acme/hook?timeout=5"), undefined);
    assert.match((await hintOf("GET", "/api/runs?status=failed")) ?? "", /threw, called_back, .*\/api\/failures/);
    const none = (await service.request("GET", "/api/runs?status=failed")).json() as { hint?: string };
    assert.match(none.hint ?? "", /^The status failed is a fault of the service\./);
    assert.equal(await hintOf("GET", "/api/runs?status=failed,memory"), undefined);
    assert.match((await hintOf("GET", "/api/runs/e506c653c0d4-2")) ?? "", /the id of a run/);
    assert.match((await hintOf("GET", "/api/runs/events")) ?? "", /\{container\}\/events/);
  });

  it("with a wrong value is not answered with the names of parameters", async () => {
    const { detail, hint } = assertProblem(await service.request("GET", "/api/runs?since=yesterday"), status, code);
    assert.match(detail, /since is not a time such as/);
    assert.equal(hint, undefined);
    for (const json of [
      { code: "1", timeout: "5" },
      { code: "1", timeout: 5 },
    ]) {
      const answer = assertProblem(await service.request("POST", "/api/runs/acme", { json }), status, code);
      assert.match(answer.detail, /timeout must be a duration such as 500ms or 5s/);
      assert.equal(answer.hint, undefined);
    }
  });
});

describe("a request with the right parts in the wrong place", () => {
  it("is refused if a path without a body receives one", async () => {
    for (const action of ["suspend", "resume", "restart"]) {
      const path = `/api/containers/quiet/${action}`;
      const options = { json: { now: true } };
      await check({ method: "POST", target: path, options, status: 400, code: "request_invalid", hint: /\?now=true/ });
      assert.equal((await service.request("POST", path, { json: {} })).status, 200);
    }
    await service.request("POST", "/api/containers/quiet/resume");
  });

  it("counts no run if task_url is no URL", async () => {
    const used = async (): Promise<number> => {
      const answer = await service.request("GET", "/api/limits/container/urls?detail=true");
      return (answer.json() as { hour: { used: number } }).hour.used;
    };
    for (const url of ["x", "ftp://example.com/a.js", "https://user:password@example.com/a.js"]) {
      const path = `/api/run/urls?task_url=${encodeURIComponent(url)}`;
      await check({ target: path, status: 400, code: "task_url_invalid" });
    }
    assert.equal(await used(), 0);
    assert.equal((await service.run("urls", "1")).status, 200);
    assert.equal(await used(), 1);
  });

  it("names the methods that take code in a body", async () => {
    const options = { body: "return 1" };
    const hint = /POST, PUT or PATCH/;
    await check({ method: "DELETE", target: "/api/run/acme", options, status: 400, code: "request_invalid", hint });
  });

  it("names the form of an introspection", async () => {
    const wrong = { method: "POST", target: "/api/tokens/introspect", status: 400, code: "request_invalid" };
    const headers = { "Content-Type": "application/x-www-form-urlencoded" };
    for (const options of [{}, { json: { token: "x" } }, { body: "tok=x", headers }]) {
      await check({ ...wrong, options, hint: /token=<token>/ });
    }
  });

  it("names the way in which a task receives a body that is not JSON", async () => {
    const options = { body: "{a:1}", headers: { "Content-Type": "application/json" } };
    const hint = /double quotes.*text\/plain/;
    await check({ method: "POST", target: "/api/run/acme/hook", options, status: 400, code: "request_invalid", hint });
  });
});

function putSecret(json: object): Promise<Answer> {
  return service.request("PUT", "/api/tasks/acme/secret", { json });
}

describe("a change that is probably not meant", () => {
  it("has a hint: other code drops the secrets of a task", async () => {
    assert.ok(!("caisson-hint" in (await putSecret({ code: "return 1", secrets: { API_KEY: "bbbbbb" } })).headers));
    assert.ok(!("caisson-hint" in (await putSecret({ public: false, description: "the same code" })).headers));
    assert.match(
      (await putSecret({ code: "return 2" })).headers["caisson-hint"] ?? "",
      /does not keep .*: API_KEY\. Send/,
    );
    assert.ok(!("caisson-hint" in (await putSecret({ code: "return 3" })).headers));
  });

  it("has a hint: no token with the revoked jti is stored", async () => {
    const { status, headers } = await service.request("DELETE", `/api/tokens/${crypto.randomUUID()}`);
    assert.equal(status, 200);
    assert.match(headers["caisson-hint"] ?? "", /^No token with this jti is stored here/);
  });
});

describe("a task that is called without a token", () => {
  it("can be public", async () => {
    const hints: string[] = [];
    for (const target of ["/api/run/acme/hook", "/api/run/acme/none", "/api/run/acme"]) {
      const answer = await service.request("POST", target, { token: null });
      hints.push(assertProblem(answer, 403, "token_missing").hint!);
    }
    const [hook, none, code] = hints;
    assert.match(hook!, /Bearer <token>.* answers without a token only if it is public/);
    assert.equal(none, hook);
    assert.doesNotMatch(code!, /public/);
  });
});

describe("a token in a place of other services", () => {
  const headers: readonly string[] = ["X-API-Key", "X-Auth-Token"];
  for (const name of headers) {
    it(`is named: ${name}`, async () => {
      const options = { token: null, headers: { [name]: "secret" } };
      const problem = assertProblem(await service.request("GET", "/api/tokens", options), 403, "token_missing");
      assert.match(problem.detail, new RegExp(`; the service reads none from the header ${name.toLowerCase()}$`));
    });
  }
  for (const name of ["token", "access_token"]) {
    it(`is named: ?${name}=`, async () => {
      const target = `/api/run/acme?${name}=secret`;
      const problem = assertProblem(
        await service.request("POST", target, { token: null, body: "1" }),
        403,
        "token_missing",
      );
      assert.equal(problem.detail, `the request contains no token; the service reads none from the parameter ${name}`);
    });
  }
});

describe("a run without code", () => {
  const rows: readonly [method: string, query: string, hint: RegExp][] = [
    ["GET", "", /as the request body of a POST/],
    ["POST", "", /as the request body, or name it with task_url/],
    ["GET", "?code=1", /The parameter code is for the task\. Send the code itself as the body of a POST/],
    ["GET", "?taskUrl=https://example.com/a.js", /Did you mean task_url\?/],
  ];
  mistakes(
    rows.map(([method, query, hint]) => {
      return { method, target: `/api/run/acme${query}`, status: 400, code: "code_missing", hint };
    }),
  );

  const json = { "Content-Type": "application/json" };
  const run = { method: "POST", target: "/api/run/acme", status: 400, code: "request_invalid" };
  mistakes([
    { ...run, options: { body: "return 1", headers: json }, hint: /Send code as it is as text\/javascript/ },
    { ...run, options: { body: "const a = 1;\na", headers: json }, hint: /application\/json is an envelope/ },
    {
      ...run,
      options: { body: '{"code": "1",}', headers: json },
      hint: /^JSON has no comma before a \}\. The envelope is/,
    },
    {
      ...run,
      options: { body: "{'code': '1'}", headers: json },
      hint: /^JSON has names and texts in double quotes only/,
    },
    { ...run, options: { body: '{"code": "a;\nb"}', headers: json }, hint: /a line break of the code is written \\n/ },
    {
      ...run,
      options: { json: { source: "1" } },
      detail: /#\/source is not .*; did you mean code\?; 1 more/,
      hint: /only code is required/,
    },
    { ...run, options: { json: { code: "1", input: {} } }, detail: /input is not .*; did you mean data\?/ },
    { ...run, options: { json: { code: "1", body: {} } }, detail: /body is not .*; did you mean data\?/ },
    { ...run, options: { json: { code: "1", files: {} } }, detail: /files is not .*; did you mean modules\?/ },
    {
      ...{ ...run, code: "code_too_large", options: { body: "a".repeat(1_048_577) } },
      ...{ detail: /1048576/, hint: /--code-limit/ },
    },
  ]);
});

describe("a method that a path does not have", () => {
  const rows: readonly [method: string, path: string, hint: RegExp][] = [
    ["PUT", "/api/limits/container/acme", /PUT \/api\/containers\/\{container\} sets the limits/],
    ["POST", `/api/limits/token/${JTI}`, /set when it is issued/],
    ["POST", "/api/containers", /needs no creation/],
    ["POST", "/api/containers/acme", /PUT replaces all limits .* PATCH changes some/],
    ["POST", "/api/tasks/acme", /PUT \/api\/tasks\/\{container\}\/\{name\} makes a task/],
    ["POST", "/api/tasks/acme/hook", /POST \/api\/run\/\{container\}\/\{name\} runs it/],
    ["PATCH", `/api/tokens/${JTI}`, /A token does not change/],
    ["PUT", "/api/tokens", /POST issues a token/],
    ["POST", "/api/runs", /POST \/api\/runs\/\{container\} runs code/],
    ["POST", "/", /^POST \/api\/run\/\{container\} runs the code of its body/],
    ["DELETE", "/api/tasks/acme", /deletes one task/],
    ["POST", "/api/tasks/acme/hook/versions/1", /\/rollback makes version 3 the newest again/],
    ["DELETE", "/api/containers/acme/suspend", /\/resume permits runs again/],
    ["HEAD", "/api/run/acme", /./],
    ["GET", "/api/tasks/acme/hook/rollback", /POST \{"version":3\}/],
    ["GET", "/api/containers/acme/suspend", /POST without a body/],
    ["GET", "/mcp/acme", /address for an MCP client.*POST/],
  ];
  for (const [method, path, hint] of rows) {
    it(`is answered with what to do instead: ${method} ${path}`, async () => {
      const answer = await service.request(method, path);
      assert.equal(answer.status, 405);
      if (method !== "HEAD") assert.match(assertProblem(answer, 405, "method_not_allowed").hint ?? "", hint);
    });
  }

  it("is answered with its case if it is in lower case", async () => {
    const text = await service.raw("post /api/run/acme HTTP/1.1\r\nHost: x\r\n\r\n");
    assert.match(text, /^HTTP\/1\.1 400 [^]*in upper case, such as POST/);
  });
});

describe("a name that nothing has", () => {
  const code = "not_found";
  const status = 404;
  mistakes([
    {
      target: "/api/runs/acme/hook",
      status,
      code,
      hint: /no id of a run\. POST \/api\/run\/\{container\}\/\{name\} runs/,
    },
    { target: "/api/tasks/acme/hook/secrets", status, code, hint: /members of the task: PUT .* sets them/ },
    { target: "/api/tasks/acme/hook/invocations", status, code, hint: /POST \/api\/run\/\{container\}\/\{name\} runs/ },
    { target: "/api/tasks/acme/my/hook", status, code, hint: /The name of a task has no slash/ },
    {
      ...{ method: "PUT", target: "/api/packages/allow/@acme/tools", status, code },
      hint: /written %2F: \/api\/packages\/allow\/@acme%2Ftools/,
    },
    { target: "/api/run/acme/none", status, code, hint: /PUT \/api\/tasks\/.* makes a task/ },
    {
      target: "/api/tasks/acme/none",
      status,
      code,
      hint: /GET \/api\/tasks\/\{container\} lists the tasks.*makes a task/,
    },
    { method: "DELETE", target: "/api/tasks/acme/none", status, code, hint: /lists the tasks/ },
    {
      ...{ method: "POST", target: "/api/tasks/acme/none/rollback", options: { json: { version: 1 } } },
      ...{ status, code, detail: /has no task with this name/ },
    },
    { target: "/api/runs/acme/e506c653c0d4-2", status, code, hint: /GET \/api\/runs\/\{container\} lists/ },
    { method: "DELETE", target: "/api/runs/acme/e506c653c0d4-2", status, code, hint: /status=running/ },
    {
      ...{ method: "POST", target: "/api/tasks/acme/hook/rollback", options: { json: { version: 99 } } },
      ...{ status, code, hint: /\/versions lists the versions/ },
    },
  ]);
});

describe("a body that is encoded", () => {
  it("is answered with its encoding", async () => {
    const options = { body: gzipSync("return 1"), headers: { "Content-Encoding": "gzip" } };
    const target = "/api/run/acme";
    const detail = /content encoding "gzip"/;
    await check({ method: "POST", target, options, status: 415, code: "request_invalid", detail });
  });
});

describe("an empty parameter task", () => {
  it("is named, and no slash", async () => {
    const target = "/api/runs/acme?task=";
    await check({
      method: "POST",
      target,
      options: { body: "1" },
      status: 404,
      code: "not_found",
      detail: /task is empty/,
    });
  });
});

describe("the token of the metrics", () => {
  it("at another path is answered with what it reads", async () => {
    const options = { token: METRICS_TOKEN };
    const detail = /reads \/metrics and nothing else/;
    await check({ target: "/api/runs", options, status: 403, code: "token_invalid", detail });
    assert.equal((await service.request("GET", "/metrics", options)).status, 200);
  });
});

describe("code", () => {
  const rows: readonly [string, number, string, RegExp][] = [
    ['throw "oops"', 500, "task_threw", /threw a string and no Error: oops.*Throw an Error/s],
    ["return Promise.reject(undefined)", 500, "task_threw", /threw a undefined|Throw an Error/],
    ['await fetch("http://nowhere.invalid/")', 500, "task_threw", /nowhere\.invalid\. Check the name of the host/],
    [
      "const { createInterface } = require('node:readline/promises');\nreturn createInterface(process.stdin).question('?')",
      500,
      "task_stalled",
      /has no stdin/,
    ],
    ["return len([1])", 500, "task_threw", /looks like Python/],
    ["const ok = True;\nreturn ok", 500, "task_threw", /looks like Python/],
    ["return data.x", 500, "task_threw", /context\.data/],
    ["return context.input.x", 500, "task_threw", /context\.data for the query/],
    ["(context) => context.input.x", 500, "task_threw", /context\.data for the query/],
    ['await context.storage.set("a", 1)', 500, "task_threw", /no storage/],
    ["return context.secrets.KEY.length", 500, "task_threw", /no secrets\.KEY\. A task or a token sets it/],
    ['await fetch("/api/users")', 500, "task_threw", /Give the full URL/],
    ["def handler(event):\n    return 42", 400, "code_syntax", /looks like Python/],
    ['import json\nprint("hello")', 400, "code_syntax", /looks like Python/],
    ["process.exit(1)", 500, "task_exited", /Return a result, or throw/],
    ['app.get("/", () => {})', 500, "task_threw", /serves no port/],
    ['require("fs").writeFileSync("/etc/x/y", "")', 500, "task_threw", /os\.tmpdir\(\)/],
    ["https://example.com/task.js", 400, "code_syntax", /The text is a URL.*task_url/],
    ["./task.js", 400, "code_syntax", /name of a file.*--data-binary/],
    ["task.js", 500, "task_threw", /name of a file.*--data-binary/],
    ["export default { fetch() { return 'hi' } }", 500, "task_threw", /return new Response\(text\)/i],
    ["export default { fetch() { return { a: 1 } } }", 500, "task_threw", /Response\.json\(value\)/],
    ["export default { fetch() {} }", 500, "task_threw", /fetch returned nothing/],
    ["<?php echo 1;", 400, "code_syntax", /The text is PHP/],
    ["return ctx.query", 500, "task_threw", /context\.query/],
    ["return req.query", 500, "task_threw", /context\.query/],
    ["const e = new Error('slow'); e.status = 429; throw e", 500, "task_threw", /status 429.*new Response/],
  ];
  for (const [text, status, code, said] of rows) {
    it(`is answered with the fix: ${JSON.stringify(text)}`, async () => {
      const { detail, hint } = assertProblem(await service.run("code", text), status, code);
      assert.match(`${detail} ${hint}`, said);
    });
  }
});

describe("the hint for a path", () => {
  it("has all paths of the document", async () => {
    const answer: Answer = await service.request("GET", "/openapi.json");
    const { paths } = answer.json() as { paths: Record<string, unknown> };
    for (const template of Object.keys(paths)) {
      if (template === "/" || template.startsWith("/api/run/")) continue;
      const meant = template.replaceAll(/[{}]/g, "");
      const wrong = meant.replace(/^(\/api)?\/([.a-z]+)/, "$1/$2z");
      const { hint } = assertProblem(await service.request("OPTIONS", wrong), 404, "not_found");
      assert.equal(hint, `Did you mean ${meant}?`);
    }
  });
});
