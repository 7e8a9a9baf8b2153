import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { command } from "../cli/command.ts";
import { assertProblem } from "./problem.ts";
import { type Service, shareService } from "./service.ts";
import { until } from "./until.ts";

let service: Service;
before(async () => {
  service = await shareService();
});
after(() => service.stop());

describe("an error names the fix", () => {
  it("for an Authorization header without the scheme, without repeating its value", async () => {
    const send = (authorization: string): ReturnType<Service["run"]> => {
      return service.run("demo", "1", { token: null, headers: { Authorization: authorization } });
    };
    const bare = assertProblem(await send(service.admin), 403, "token_missing");
    assert.match(bare.detail, /no scheme/);
    assert.match(bare.hint!, /Authorization: Bearer <token>/);
    assert.ok(!JSON.stringify(bare).includes(service.admin));
    assert.match(
      assertProblem(await send("Basic YTpi"), 403, "token_missing").detail,
      /the scheme Basic, and not Bearer/,
    );
    assert.match(assertProblem(await send("Bearer "), 403, "token_missing").detail, /variable of the shell empty/);
    assert.match(
      assertProblem(await send("Bearer a b"), 403, "token_missing").detail,
      /more than one text after Bearer$/,
    );
    assert.match(
      assertProblem(await send("Bearer Bearer a"), 403, "token_missing").detail,
      /has the word Bearer twice$/,
    );
    assert.match(
      assertProblem(await send("Bearer $(cat data/admin.token)"), 403, "token_missing").detail,
      /the shell runs \$\(\.\.\.\) only in double quotes/,
    );
  });

  it("for a slash after the name of the container", async () => {
    const problem = assertProblem(await service.request("POST", "/api/run/demo/", { body: "1" }), 404, "not_found");
    assert.match(problem.hint!, /Leave the slash out/);
  });

  it("for a container or a verb that the token does not have: it names those that it has", async () => {
    const many = Array.from({ length: 12 }, (_, at) => `shop-${at}`);
    const token = await service.issue({ containers: many });
    const problem = assertProblem(await service.run("other", "1", { token }), 403, "token_forbidden");
    assert.match(problem.hint!, /^The token is for shop-0, .*shop-9 and 2 more\.$/);
    const reader = await service.issue({ containers: ["demo"], can: ["logs", "limits"] });
    const without = assertProblem(await service.run("demo", "1", { token: reader }), 403, "token_forbidden");
    assert.match(without.hint!, /the verbs logs, limits\./);
  });

  it("for members and values of a task that other services have", async () => {
    const put = async (json: object): Promise<string> => {
      const answer = await service.request("PUT", "/api/tasks/demo/other", { json: { code: "1", ...json } });
      return assertProblem(answer, 400, "request_invalid").detail;
    };
    assert.match(await put({ cron: "* * * * *" }), /no schedule; let cron call/);
    assert.match(await put({ input: { n: { type: "number" } } }), /\{"type": "object", "properties": /);
    assert.match(await put({ secrets: ["A"] }), /such as \{"API_KEY": "value"\}/);
    const json = { code: "1", timeout: "5s" };
    const answer = await service.request("POST", "/api/run/demo", { json });
    assert.match(
      assertProblem(answer, 400, "request_invalid").detail,
      /POST \/api\/runs\/\{container\} takes a timeout/,
    );
    const back = await service.request("POST", "/api/tasks/demo/other/rollback", { json: { version: "v1" } });
    assert.match(assertProblem(back, 400, "request_invalid").detail, /such as 3/);
  });

  it("for a run that ends at its timeout, or at a limit", async () => {
    const slow = await service.request("POST", "/api/runs/demo?timeout=3s", {
      body: "new Promise((resolve) => setTimeout(resolve, 60_000))",
    });
    assert.match((slow.json() as { error: { hint: string } }).error.hint, /set a longer one.* No connection was open/);
    const open = await service.request("POST", "/api/runs/demo?timeout=2s", {
      body: "module.exports = (context, req, res) => { res.write('x') }",
    });
    const { message, hint } = (open.json() as { error: { message: string; hint: string } }).error;
    assert.match(message, /^the task began its answer, and did not end it within 2s$/);
    assert.match(hint, /Perhaps res\.end\(\) was never called/);
    const token = await service.issue({ containers: ["demo"], limits: { token: { hour: 1 }, container: { hour: 1 } } });
    await service.run("demo", "1", { token });
    const limited = await service.run("demo", "1", { token });
    assert.equal(limited.status, 429);
    assert.match((limited.json() as { hint: string }).hint, /issue another one with higher limits/);
    await service.request("PUT", "/api/containers/few", { json: { limits: { hour: 1 } } });
    await service.run("few", "1");
    assert.match(assertProblem(await service.run("few", "1"), 429, "container_limited").hint!, /An administrator can/);
  });

  it("for a loop that never ends, with its line, although the run has a timeout", async () => {
    interface Looping {
      readonly error: { code: string; message: string; hint: string; at: { line: number } | null };
    }
    const body = "let n = 0;\nfor (;;) { n += 1 }";
    let tries = 0;
    const loop = async (timeout: string): Promise<Looping["error"]> => {
      const answer = await service.request("POST", `/api/runs/loop-${tries++}?timeout=${timeout}`, { body });
      const { error } = answer.json() as Looping;
      assert.equal(error.code, "task_timeout");
      return error;
    };
    // A guest that gets no processor cannot print its line.
    const hasLine = async (): Promise<boolean> => {
      const { at, message, hint } = await loop("600ms");
      if (at === null) return false;
      assert.equal(at.line, 2);
      assert.match(message, /within 600ms, the timeout of this run: it computed without a pause, in line 2/);
      assert.match(hint, /^Perhaps a loop never ends\./);
      return true;
    };
    await until(hasLine, "a run that loops has its line");
    // Too short for the line, but on a slow machine: there, only the longer ones show that the run computes.
    const isNamed = async (): Promise<boolean> => {
      const { hint } = await loop(`${250 + 50 * (tries % 8)}ms`);
      return hint.startsWith("Perhaps a loop never ends. ");
    };
    await until(isNamed, "a run that loops for a short time has the hint");
  });

  it("for a container of which nothing is known", async () => {
    const hintOf = async (container: string): Promise<string | undefined> => {
      const answer = await service.request("GET", `/api/runs/${container}`);
      assert.equal(answer.status, 200);
      return answer.headers["caisson-hint"];
    };
    assert.match((await hintOf("nope")) ?? "", /^The container has no task, no policy and no run on record/);
    await service.request("PUT", "/api/containers/limited", { json: { limits: { hour: 1 } } });
    await service.request("PUT", "/api/tasks/tasked/one", { json: { code: "1" } });
    for (const known of ["limited", "tasked", "nope?status=threw"]) assert.equal(await hintOf(known), undefined, known);
  });

  it("for a task whose code no guest has parsed", async () => {
    const put = async (name: string): Promise<string | undefined> => {
      const answer = await service.request("PUT", `/api/tasks/${name}/broken`, { json: { code: "return 1" } });
      assert.equal(answer.status, 201);
      return answer.headers["caisson-hint"];
    };
    assert.equal(await put("open"), undefined);
    await service.request("POST", "/api/containers/stopped/suspend");
    assert.match((await put("stopped")) ?? "", /the container is suspended: the first run shows whether the code/);
  });

  it("for a path or a body that is meant for a named task", async () => {
    const named = /\/api\/run\/\{container\}\/\{name\}\.$/;
    assert.match(assertProblem(await service.request("GET", "/api/run/hello"), 400, "code_missing").hint!, named);
    const data = await service.request("POST", "/api/run/hello", { json: { n: 1 } });
    assert.match(assertProblem(data, 400, "request_invalid").hint!, named);
    const record = await service.request("POST", "/api/runs/hello");
    assert.doesNotMatch(assertProblem(record, 400, "code_missing").hint!, /named task/);
  });

  it("for a form with parts instead of code", async () => {
    const body = '--x\r\nContent-Disposition: form-data; name="code"\r\n\r\n6 * 7\r\n--x--\r\n';
    const headers = { "Content-Type": "multipart/form-data; boundary=x" };
    const problem = assertProblem(await service.run("demo", body, { headers }), 400, "request_invalid");
    assert.match(problem.detail, /form with parts \(multipart\/form-data\)/);
    assert.match(problem.hint!, /--data-binary/);
  });

  it("at the start for a variable that is not a setting", async () => {
    const settings = { CAISSON_WALLLIMIT: "1s", CAISSON_OTHER: "x", CAISSON_TOKEN: "x" };
    const { stderr } = await command(["serve", "--data", "/dev/null/none"], settings);
    assert.match(
      stderr,
      /^caisson: the variable CAISSON_WALLLIMIT is not a setting; did you mean CAISSON_WALL_LIMIT\?$/m,
    );
    assert.match(stderr, /^caisson: the variable CAISSON_OTHER is not a setting$/m);
    assert.ok(!stderr.includes("CAISSON_TOKEN"));
  });
});

describe("an unknown parameter of the management API", () => {
  const paths: readonly (readonly [method: string, path: string])[] = [
    ["GET", "/api/containers"],
    ["GET", "/api/containers/demo"],
    ["PUT", "/api/containers/demo"],
    ["GET", "/api/limits/container/demo"],
    ["DELETE", "/api/limits/container/demo"],
    ["GET", "/api/tokens"],
    ["POST", "/api/tokens"],
    ["GET", "/api/tokens/11111111-1111-4111-8111-111111111111"],
    ["DELETE", "/api/tokens/11111111-1111-4111-8111-111111111111"],
    ["PUT", "/api/tokens/11111111-1111-4111-8111-111111111111/secrets"],
    ["POST", "/api/tokens/introspect"],
    ["GET", "/api/tasks/demo"],
    ["PUT", "/api/tasks/demo/hook"],
    ["GET", "/api/tasks/demo/hook"],
    ["DELETE", "/api/tasks/demo/hook"],
    ["GET", "/api/tasks/demo/hook/versions"],
    ["POST", "/api/tasks/demo/hook/rollback"],
    ["GET", "/api/runs"],
    ["GET", "/api/runs/demo"],
    ["GET", "/api/runs/demo/events"],
    ["GET", "/api/runs/demo/e506c653c0d4-2"],
    ["DELETE", "/api/runs/demo/e506c653c0d4-2"],
    ["GET", "/api/runs/demo/e506c653c0d4-2/console"],
    ["GET", "/api/failures"],
    ["GET", "/api/usage"],
    ["GET", "/api/audit"],
  ];
  for (const [method, path] of paths) {
    it(`is 400, and nothing changes: ${method} ${path}`, async () => {
      const problem = assertProblem(await service.request(method, `${path}?detial=true`), 400, "request_invalid");
      assert.match(JSON.stringify(problem), /detial/);
      const twice = await service.request(method, `${path}?detial=true&key=`);
      assert.equal(twice.status, 400);
    });
  }

  it("is not key, which carries the token", async () => {
    const answer = await service.request("GET", `/api/containers/demo?key=${service.admin}`, { token: null });
    assert.equal(answer.status, 200);
  });
});

describe("CORS", () => {
  it("answers OPTIONS on every path, and names the headers that clients send and read", async () => {
    const sent =
      "Authorization, Content-Type, Prefer, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, traceparent";
    for (const path of ["/api/run/demo", "/api/runs/demo", "/api/tokens", "/api/usage", "/api/limits/container/demo"]) {
      const { status, headers } = await service.request("OPTIONS", path, { token: null });
      assert.deepEqual([status, headers["access-control-allow-headers"]], [204, sent], path);
      for (const name of ["Location", "ETag", "Preference-Applied"]) {
        assert.ok(headers["access-control-expose-headers"]!.split(", ").includes(name), `${path} ${name}`);
      }
    }
  });
});
