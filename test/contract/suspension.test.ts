import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { connect } from "node:net";
import { after, before, describe, it } from "node:test";

import type { AuditEntry } from "../../src/records/audit/audit.ts";
import { type CodeServer, serveCode } from "./code-server.ts";
import type { Answer, RequestOptions } from "./http.ts";
import { assertProblem } from "./problem.ts";
import { containerRecord, jtiOf, limitRecord } from "./record.ts";
import { type Home, leave, makeHome, NO_WALL, type Service, startService } from "./service.ts";
import { until } from "./until.ts";

/** Code that lasts until it is ended, and leaves a mark in its guest. */
const LASTING = `async (context) => {
  globalThis.begun = (globalThis.begun ?? 0) + 1;
  console.log("has begun");
  await new Promise(() => setInterval(() => {}, 1_000));
}`;

/** Code whose answer has begun when it writes to the log, and does not end. */
const STREAMING = `((pulls) => new Response(new ReadableStream({
    pull(stream) {
      if (pulls++ === 0) return stream.enqueue(new TextEncoder().encode("first"));
      console.log("has begun to stream");
      return new Promise(() => {});
    },
  }, { highWaterMark: 0 })))(0)`;

const flags = (): string[] => [...NO_WALL, "--log-level", "debug", "--egress-allow", code.address];

let home: Home;
let service: Service;
let code: CodeServer;
/** The requests for code that wait for their answer. */
const fetches: ServerResponse[] = [];

before(async () => {
  home = await makeHome();
  code = await serveCode((_, response) => fetches.push(response));
  service = await startService(flags(), home);
});
after(async () => {
  await leave(service, home);
  await code.close();
});

/** Begins a run that waits for its code. @returns a function that sends the code and returns the answer */
async function waitingRun(container: string, options: RequestOptions = {}): Promise<() => Promise<Answer>> {
  const run = service.request("POST", `/api/run/${container}`, { query: { task_url: code.url }, ...options });
  await until(() => fetches.length === 1, "the service fetches the code");
  const response = fetches.pop()!;
  return () => {
    response.end("() => globalThis.mark = (globalThis.mark ?? 0) + 1");
    return run;
  };
}

interface View {
  limits: object;
  labels: object;
  description: string | null;
  suspended: { at: string; by: string } | null;
}

async function act(container: string, action: string, options: RequestOptions = {}): Promise<View> {
  const answer = await service.request("POST", `/api/containers/${container}/${action}`, options);
  assert.equal(answer.status, 200, answer.text);
  return answer.json() as View;
}

async function begun(container: string): Promise<void> {
  await service.logLine((line) => line.includes(`"${container}"`) && line.includes("has begun"));
}

async function entry(container: string): Promise<(View & { running: number; parties: number }) | undefined> {
  const answer = await service.request("GET", "/api/containers", { query: { limit: "1000" } });
  const { containers } = answer.json() as {
    containers: (View & { container: string; running: number; parties: number })[];
  };
  return containers.find((each) => each.container === container);
}

async function audited(action: string, container: string): Promise<AuditEntry[]> {
  const answer = await service.request("GET", "/api/audit", { query: { limit: "1000", action } });
  const { entries } = answer.json() as { entries: AuditEntry[] };
  return entries.filter(({ details }) => details["container"] === container);
}

describe("a suspended container", () => {
  it("answers every run 403, of every token, by every path, until it is resumed; other containers run", async () => {
    const token = await service.issue({ containers: ["stop*"], can: ["run", "tasks"] });
    const put = (name: string, json: object): Promise<Answer> => {
      return service.request("PUT", `/api/tasks/stopped/${name}`, { json: { code: "42", ...json } });
    };
    assert.equal((await put("hook", { public: true })).status, 201);
    assert.equal((await put("own", {})).status, 201);
    const { suspended } = await act("stopped", "suspend");
    assert.equal(suspended?.by, jtiOf(service.admin));
    assert.ok(Math.abs(Date.parse(suspended.at) - Date.now()) < 60_000);
    const runs: [string, () => Promise<Answer>][] = [
      ["a token", () => service.run("stopped", "1", { token })],
      ["an administrator", () => service.run("stopped", "1")],
      ["a record", () => service.request("POST", "/api/runs/stopped", { body: "1", token })],
      ["a URL", () => service.request("GET", "/api/run/stopped?task_url=http://a.example/", { token })],
      ["a public task", () => service.request("GET", "/api/run/stopped/hook", { token: null })],
      ["a task", () => service.request("GET", "/api/run/stopped/own", { token })],
      ["a missing task", () => service.request("GET", "/api/run/stopped/none", { token })],
      ["a dry run", () => service.request("PUT", "/api/tasks/stopped/new?dryRun=true", { json: { code: "1" }, token })],
    ];
    for (const [, run] of runs) {
      const answer = await run();
      const { detail, hint } = assertProblem(answer, 403, "container_suspended");
      assert.match(detail, /container "stopped" is suspended/);
      assert.match(hint!, /\/resume/);
      assert.equal(answer.headers["www-authenticate"], 'Bearer realm="caisson"');
    }
    assert.equal((await service.run("stopped-2", "1", { token })).status, 200);
    // Code is stored and checked without a guest.
    const json = { code: "(" };
    assert.equal((await service.request("PUT", "/api/tasks/stopped/wrong", { json, token })).status, 201);
    const checked = await service.request("POST", "/api/check/stopped", { body: "(", token });
    assert.deepEqual(checked.json(), { checked: false, error: null });
    // Nothing was counted.
    assert.deepEqual(await containerRecord(service, "stopped"), limitRecord({}));
    assert.equal((await act("stopped", "resume")).suspended, null);
    for (const [name, run] of runs.filter(([each]) => each !== "a missing task" && each !== "a URL")) {
      assert.equal((await run()).status, 200, name);
    }
  });

  it("is checked after the permission, and before the limits and the body", async () => {
    await service.request("PUT", "/api/containers/ordered", { json: { limits: { month: 1 } } });
    assert.equal((await service.run("ordered", "1")).status, 200);
    assertProblem(await service.run("ordered", "1"), 429, "container_limited");
    await act("ordered", "suspend");
    assertProblem(await service.run("ordered", "1"), 403, "container_suspended");
    assertProblem(await service.run("ordered", ""), 403, "container_suspended");
    assertProblem(await service.run("ordered", "const = 1"), 403, "container_suspended");
    const other = await service.issue({ containers: ["other"] });
    assertProblem(await service.run("ordered", "1", { token: other }), 403, "token_forbidden");
    assertProblem(await service.run("ordered", "1", { token: null }), 403, "token_missing");
    const typo = await service.request("POST", "/api/run/ordered?task_ulr=x", { body: "1" });
    assertProblem(typo, 400, "request_invalid");
    await act("ordered", "resume");
    assertProblem(await service.run("ordered", "1"), 429, "container_limited");
  });

  it("refuses a run whose body arrives after the suspension", async () => {
    const socket = connect(service.port, "127.0.0.1");
    let answer = "";
    socket.setEncoding("utf8").on("data", (text: string) => (answer += text));
    const head = `POST /api/run/late HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.admin}\r\nContent-Length: 5\r\n`;
    socket.write(`${head}Expect: 100-continue\r\nConnection: close\r\n\r\n`);
    await until(() => answer.includes("100 Continue"), "the service waits for the body");
    await act("late", "suspend");
    socket.write("6 * 7");
    await until(() => socket.closed || socket.readableEnded, "the answer is complete");
    assert.match(answer, / 403 [\s\S]*container_suspended/);
  });

  it("is shown in the list and by its path, and keeps its policy", async () => {
    await service.request("PATCH", "/api/containers/shown", {
      json: { limits: { day: 7 }, labels: { team: "billing" }, description: "invoices" },
    });
    const { suspended, ...rest } = await act("shown", "suspend");
    assert.deepEqual(rest, { limits: { day: 7 }, labels: { team: "billing" }, description: "invoices" });
    const shown = (await service.request("GET", "/api/containers/shown")).json() as View;
    assert.deepEqual(shown.suspended, suspended);
    assert.deepEqual((await entry("shown"))?.suspended, suspended);
    // Neither a new policy nor its removal lets code run that was stopped.
    const put = await service.request("PUT", "/api/containers/shown", { json: { limits: { day: 8 } } });
    assert.deepEqual((put.json() as View).suspended, suspended);
    const removed = await service.request("DELETE", "/api/containers/shown");
    assert.deepEqual(removed.json(), { limits: {}, labels: {}, description: null, suspended });
    assertProblem(await service.run("shown", "1"), 403, "container_suspended");
    assert.equal((await act("shown", "resume")).suspended, null);
    assert.equal(await entry("shown"), undefined);
  });

  for (const end of ["stop", "kill9"] as const) {
    it(`stays suspended after ${end}, and a resumed one stays resumed`, async () => {
      await act(`kept-${end}`, "suspend");
      await act(`back-${end}`, "suspend");
      await act(`back-${end}`, "resume");
      await service[end]();
      service = await startService(flags(), home);
      assertProblem(await service.run(`kept-${end}`, "1"), 403, "container_suspended");
      assert.equal((await service.run(`back-${end}`, "1")).status, 200);
    });
  }

  it("lets runs in flight finish, and ends the guest after them", async () => {
    const run = service.run("finishing", LASTING);
    const short = service.run("finishing", "await new Promise((go) => setTimeout(go, 500)); return 42");
    await begun("finishing");
    await until(async () => (await entry("finishing"))?.running === 2, "both runs are in flight");
    const idle = await service.issue({ containers: ["finishing"], net: false });
    assert.equal((await service.run("finishing", "globalThis.mark = 1", { token: idle })).status, 200);
    await act("finishing", "suspend");
    assert.equal((await short).json(), 42);
    assertProblem(await service.run("finishing", "1"), 403, "container_suspended");
    assert.equal((await entry("finishing"))?.running, 1);
    await act("finishing", "suspend", { query: { now: "true" } });
    assertProblem(await run, 403, "container_suspended");
    await act("finishing", "resume");
    // The guest of the other group had no run, and has ended too.
    assert.equal((await service.run("finishing", "globalThis.mark ?? null", { token: idle })).json(), null);
    assert.equal((await service.run("finishing", "globalThis.begun ?? null")).json(), null);
  });

  it("ends runs in flight with now=true: it answers them, cuts streams, and ends fresh guests", async () => {
    const fresh = await service.issue({ containers: ["ended"], fresh: true });
    const runs = [service.run("ended", LASTING), service.run("ended", LASTING, { token: fresh })];
    const stream = service.run("ended", STREAMING);
    const recorded = service.request("POST", "/api/runs/ended", { body: LASTING });
    await until(async () => (await entry("ended"))?.running === 4, "all runs are in flight");
    await service.logLine((line) => line.includes("has begun to stream"));
    await act("ended", "suspend", { query: { now: "true" } });
    for (const run of runs) {
      assert.match(assertProblem(await run, 403, "container_suspended").detail, /suspended, which ended the run/);
    }
    assert.deepEqual([(await stream).status, (await stream).complete], [200, false]);
    const { status, error } = (await recorded).json() as { status: string; error: { code: string } };
    assert.deepEqual([status, error.code], ["cancelled", "container_suspended"]);
    await until(async () => ((await entry("ended"))?.running ?? 0) === 0, "no run is left");
  });

  it("of a name that no task, policy or guest has is answered with a hint, because it may be misspelt", async () => {
    await service.request("PUT", "/api/tasks/spelt/total", { json: { code: "1" } });
    for (const action of ["suspend", "resume", "restart"]) {
      const hintOf = async (name: string): Promise<string | undefined> => {
        const answer = await service.request("POST", `/api/containers/${name}/${action}`);
        assert.equal(answer.status, 200, answer.text);
        return answer.headers["caisson-hint"];
      };
      assert.match((await hintOf(`misspelt-${action}`))!, /has no task.* Check its name: GET \/api\/containers lists/);
      assert.equal(await hintOf("spelt"), undefined);
    }
  });

  it("is audited once for each change, with its author", async () => {
    for (const [action, query] of [
      ["suspend", {}],
      ["suspend", {}],
      ["suspend", { now: "true" }],
      ["resume", {}],
      ["resume", {}],
    ] as const) {
      await act("audited", action, { query });
    }
    const entries = [
      ...(await audited("container suspended", "audited")),
      ...(await audited("container resumed", "audited")),
    ];
    assert.deepEqual(
      entries.map(({ by, details }) => [by, details]),
      [{ container: "audited", now: true }, { container: "audited", now: false }, { container: "audited" }].map(
        (details) => [jtiOf(service.admin), details],
      ),
    );
    await service.logLine((line) => line.includes("container resumed") && line.includes("audited"));
  });

  for (const [method, target] of [
    ["POST", "/api/containers/a/suspend?now=yes"],
    ["POST", "/api/containers/a/suspend?now=true&now=true"],
    ["POST", "/api/containers/a/suspend?later=true"],
    ["POST", "/api/containers/a/resume?now=true"],
    ["POST", "/api/containers/a/restart?now=1"],
  ] as const) {
    it(`rejects ${method} ${target}`, async () => {
      assertProblem(await service.request(method, target), 400, "request_invalid");
    });
  }

  it("is changed by POST alone, at a valid name", async () => {
    assertProblem(await service.request("GET", "/api/containers/a/suspend"), 405, "method_not_allowed");
    assertProblem(await service.request("POST", "/api/containers/-/suspend"), 400, "container_invalid");
    assertProblem(await service.request("POST", "/api/containers/a/pause"), 404, "not_found");
  });
});

describe("a run that waits for its code", () => {
  for (const action of ["suspend", "restart"]) {
    it(`begins after a ${action} that lets runs finish, in a guest that takes no further run`, async () => {
      const container = `waits-${action}`;
      const send = await waitingRun(container);
      await act(container, action);
      assert.equal((await send()).json(), 1);
      if (action === "suspend") await act(container, "resume");
      assert.equal((await service.run(container, "globalThis.mark ?? null")).json(), null);
    });

    it(`does not begin after a ${action} with now=true, in a fresh guest either`, async () => {
      const container = `ends-${action}`;
      const fresh = await service.issue({ containers: [container], fresh: true });
      const [status, name] = action === "suspend" ? ([403, "suspended"] as const) : ([500, "restarted"] as const);
      for (const options of [{}, { token: fresh }]) {
        const send = await waitingRun(container, options);
        await act(container, action, { query: { now: "true" } });
        assertProblem(await send(), status, `container_${name}`);
        if (action === "suspend") await act(container, "resume");
      }
    });
  }
});

describe("a restart of a container", () => {
  it("gives the next run a new guest, and lets runs in flight finish in the old one", async () => {
    const run = service.run("again", LASTING);
    await begun("again");
    assert.deepEqual(await act("again", "restart"), { container: "again", restarted: true });
    const fresh = await service.run("again", "globalThis.begun ?? null");
    assert.equal(fresh.json(), null);
    assert.equal((await entry("again"))?.running, 1);
    await act("again", "restart", { query: { now: "true" } });
    const problem = assertProblem(await run, 500, "container_restarted");
    assert.match(problem.detail, /restarted by a request/);
    assert.equal((await service.run("again", "1")).status, 200);
  });

  it("lets a run in flight give its result", async () => {
    const run = service.run("result", "await new Promise((go) => setTimeout(go, 500)); return 42");
    await until(async () => (await entry("result"))?.running === 1, "the run is in flight");
    await act("result", "restart");
    assert.equal((await run).json(), 42);
  });

  it("is for administrators, and for tokens with tasks on the container, and counts like their changes", async () => {
    const token = await service.issue({ containers: ["mine"], can: ["run", "tasks"] });
    await service.run("mine", "globalThis.mark = 1", { token });
    await act("mine", "restart", { token });
    assert.equal((await service.run("mine", "globalThis.mark ?? null", { token })).json(), null);
    for (const [container, can] of [
      ["other", ["run", "tasks"]],
      ["mine", ["run", "limits", "logs", "issue"]],
    ] as const) {
      const weak = container === "other" ? token : await service.issue({ containers: ["mine"], can });
      const answer = await service.request("POST", `/api/containers/${container}/restart`, { token: weak });
      assertProblem(answer, 403, "token_forbidden");
    }
    const [last] = await audited("container restarted", "mine");
    assert.deepEqual([last?.by, last?.details], [jtiOf(token), { container: "mine", now: false }]);
    let answer: Answer;
    let restarts = 1;
    do answer = await service.request("POST", "/api/containers/mine/restart", { token });
    while (answer.status === 200 && restarts++ < 100);
    assertProblem(answer, 429, "token_limited");
    assert.equal(restarts, 60);
  });

  it("of a container without guests changes nothing", async () => {
    assert.deepEqual(await act("empty", "restart"), { container: "empty", restarted: true });
    assert.equal(await entry("empty"), undefined);
  });
});
