import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import type { RunRecord } from "../../src/records/record.ts";
import type { RequestOptions } from "./http.ts";
import { assertProblem } from "./problem.ts";
import { jtiOf } from "./record.ts";
import { type Service, shareService } from "./service.ts";
import { until } from "./until.ts";

let service: Service;

before(async () => {
  service = await shareService();
});
after(() => service.stop());

const PATH = "/api/tasks/d-tasks/greets";
/** The header of a token with one run a month. */
const POLICY = '"token-month";q=1;w=2678400';

async function dryRun(json: object, options: RequestOptions = {}): Promise<RunRecord & { result: unknown }> {
  const answer = await service.request("PUT", `${PATH}?dryRun=true`, { json, ...options });
  assert.equal(answer.status, 200, answer.text);
  return (answer.json() as { record: RunRecord & { result: unknown } }).record;
}

describe("PUT /api/tasks/{container}/{name}?dryRun=true", () => {
  it("runs the task once, and publishes nothing", async () => {
    const code = "(context) => { console.log('tried'); return context.params.greeting + ' ' + context.container }";
    const record = await dryRun({ code, params: { greeting: "hello" } });
    assert.deepEqual([record.status, record.result], ["ok", "hello d-tasks"]);
    assert.deepEqual([record.task, record.version], ["greets", null]);
    assert.equal(record.console[0]!.text, "tried");
    assertProblem(await service.request("GET", PATH), 404, "not_found");
    assertProblem(await service.run("d-tasks/greets", "", { json: {} }), 404, "not_found");
  });

  it("is refused like a run before its body is read, and counted as refused", async () => {
    const claims = { containers: ["d-limited"], can: ["run", "tasks", "logs"], limits: { token: { month: 1 } } };
    const token = await service.issue(claims);
    const path = "/api/tasks/d-limited/tries?dryRun=true";
    const admitted = await service.request("PUT", path, { token, json: { code: "1" } });
    assert.equal(admitted.status, 200);
    const { record } = admitted.json() as { record: RunRecord };
    assert.deepEqual([admitted.headers["caisson-run"], admitted.headers["ratelimit-policy"]], [record.run, POLICY]);
    assert.match(admitted.headers["server-timing"]!, /^queue;.*, run;/);
    for (const body of ["{", '{"code":"1"}']) {
      const refused = await service.request("PUT", path, { token, body });
      assertProblem(refused, 429, "token_limited");
      assert.equal(refused.headers["ratelimit-policy"], POLICY);
      assert.match(refused.headers["ratelimit"]!, /^"token-month";r=0;t=\d+$/);
    }
    const answer = await service.request("GET", "/api/usage", { token });
    assert.equal(answer.status, 200, answer.text);
    const { usage } = answer.json() as { usage: { refused: Record<string, number> }[] };
    assert.deepEqual(usage[0]!.refused, { token_limited: 2 });
    await service.logLine((line) => line.includes("token_limited") && line.includes("tries"));
  });

  it("is no longer under way when its client has left, so that its token can use the API", async () => {
    const token = await service.issue({ containers: ["d-left"], can: ["run", "tasks", "issue"] });
    const json = { code: "await new Promise(() => {})" };
    const inFlight = async (): Promise<boolean> => {
      return /^caisson_runs_in_flight 1$/m.test((await service.request("GET", "/metrics")).text);
    };
    // One more than the requests that a token and all tokens below it may have under way.
    for (let count = 0; count < 33; count++) {
      const client = new AbortController();
      const path = "/api/tasks/d-left/tries?dryRun=true";
      const left = assert.rejects(service.request("PUT", path, { token, json, signal: client.signal }));
      await until(inFlight, "the run is in flight");
      client.abort();
      await left;
      await until(async () => !(await inFlight()), "the run has ended");
    }
    await until(async () => (await service.request("GET", "/api/tokens", { token })).status === 200, "the API is free");
  });

  it("leaves a published task and its version as they are", async () => {
    const path = "/api/tasks/d-tasks/stays";
    assert.equal((await service.request("PUT", path, { json: { code: "1" } })).status, 201);
    const published = (await service.request("GET", path)).text;
    const answer = await service.request("PUT", `${path}?dryRun=true`, { json: { code: "2" } });
    assert.equal((answer.json() as { record: { result: unknown } }).record.result, 2);
    assert.equal((await service.request("GET", path)).text, published);
  });

  it("answers 200 with the record of a run that failed, with its place", async () => {
    const threw = await dryRun({ code: "\nthrow new TypeError('not yet')" });
    assert.deepEqual([threw.status, threw.error!.at!.line], ["threw", 2]);
    const syntax = await dryRun({ code: "return (" });
    assert.equal(syntax.status, "syntax");
  });

  it("gives the task the secrets in the request, and no others", async () => {
    const path = "/api/tasks/d-tasks/secret";
    const code = "({ secrets }) => { console.log(secrets?.KEY); return Object.keys(secrets ?? {}) }";
    const stored = { code, secrets: { KEY: "stored-secret-value" } };
    assert.equal((await service.request("PUT", path, { json: stored })).status, 201);
    const tried = await service.request("PUT", `${path}?dryRun=true`, { json: { code } });
    assert.deepEqual((tried.json() as { record: { result: unknown } }).record.result, []);
    const own = await dryRun({ code, secrets: { KEY: "secret-in-the-request" } });
    assert.deepEqual(own.result, ["KEY"]);
    assert.ok(!own.console[0]!.text.includes("secret-in-the-request"));
  });

  it("runs in a guest that nothing has used, and that nothing uses later", async () => {
    const code = "() => (globalThis.uses = (globalThis.uses ?? 0) + 1)";
    assert.equal((await dryRun({ code })).result, 1);
    assert.equal((await dryRun({ code })).result, 1);
  });

  it("reports the faults of the members, and runs nothing", async () => {
    const answer = await service.request("PUT", `${PATH}?dryRun=true`, { json: { code: "1", timeout: "never" } });
    assert.match(assertProblem(answer, 400, "request_invalid").detail, /timeout/);
    const query = await service.request("PUT", `${PATH}?dryRun=maybe`, { json: { code: "1" } });
    assert.match(assertProblem(query, 400, "request_invalid").detail, /dryRun/);
  });

  it("needs the verbs tasks and run, and counts for the token", async () => {
    const json = { code: "1" };
    const tasks = await service.issue({ containers: ["d-tasks"], can: ["tasks"] });
    assertProblem(await service.request("PUT", `${PATH}?dryRun=true`, { json, token: tasks }), 403, "token_forbidden");
    const claims = { containers: ["d-tasks"], can: ["tasks", "run", "limits"], limits: { token: { day: 1 } } };
    const token = await service.issue(claims);
    assert.equal((await dryRun(json, { token })).result, 1);
    const limits = await service.request("GET", `/api/limits/token/${jtiOf(token)}`, { token });
    assert.equal((limits.json() as { day: number }).day, -1);
    assertProblem(await service.request("PUT", `${PATH}?dryRun=true`, { json, token }), 429, "token_limited");
  });
});
