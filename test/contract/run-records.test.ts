import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, describe, it } from "node:test";

import { parseEvents } from "../records/event-stream.ts";
import { respond } from "./http.ts";
import { assertProblem } from "./problem.ts";
import { jtiOf } from "./record.ts";
import { NO_WALL, type Service, shareService, startService } from "./service.ts";
import { until } from "./until.ts";

interface Listed {
  run: string;
  status: string;
}

let service: Service;

before(async () => {
  service = await shareService();
});
after(() => service.stop());

/** Opens a stream of events. @returns its text so far, and its end */
async function follow(
  from: Service,
  container: string,
  token: string,
): Promise<{ text: () => string; ended: Promise<unknown> }> {
  const response = await respond(from.port, "GET", `/api/runs/${container}/events`, { token });
  assert.equal(response.statusCode, 200);
  let text = "";
  response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  const ended = once(response, "close");
  await until(() => text.includes("id: "), "the stream has begun");
  return { text: () => text, ended };
}

describe("the records of runs", () => {
  it("are empty lists for a container without runs, whether it exists or not", async () => {
    const token = await service.issue({ containers: ["empty-*"], can: ["logs"] });
    for (const target of ["/api/runs", "/api/runs/empty-1", "/api/runs?container=empty-2&status=threw&since=24h&q=x"]) {
      const answer = await service.request("GET", target, { token });
      assert.equal(answer.status, 200, answer.text);
      assert.partialDeepStrictEqual(answer.json(), { runs: [], next: null, omitted: 0 });
    }
    const answer = await service.request("GET", "/api/failures?container=empty-1", { token });
    assert.partialDeepStrictEqual(answer.json(), { failures: [] });
    for (const target of ["/api/runs/empty-1/000000000000-1", "/api/runs/empty-1/000000000000-1/console"]) {
      assertProblem(await service.request("GET", target, { token }), 404, "not_found");
    }
  });

  it("need a token with the verb logs, and are read with GET", async () => {
    const token = await service.issue({ containers: ["*"], can: ["run", "tasks", "limits"] });
    for (const target of ["/api/runs", "/api/runs/a", "/api/runs/a/b", "/api/runs/a/b/console", "/api/runs/a/events"]) {
      assertProblem(await service.request("GET", target, { token: null }), 403, "token_missing");
      assertProblem(await service.request("GET", target, { token }), 403, "token_forbidden");
      assertProblem(await service.request("PUT", target), 405, "method_not_allowed");
      const preflight = await service.request("OPTIONS", target, { token: null });
      assert.equal(preflight.status, 204);
      assert.match(preflight.headers["access-control-allow-headers"]!, /Last-Event-ID/);
    }
    assertProblem(await service.request("GET", "/api/failures", { token }), 403, "token_forbidden");
    assertProblem(await service.request("POST", "/api/failures"), 405, "method_not_allowed");
    assertProblem(await service.request("GET", "/api/runs?limt=1"), 400, "request_invalid");
    assertProblem(await service.request("GET", "/api/runs/a/b/c"), 404, "not_found");
  });

  it("are in lists, failures and the stream of events, from the start of the run on", async () => {
    const token = await service.issue({ containers: ["story"], can: ["run", "logs"] });
    const read = async <T>(target: string): Promise<T> => {
      const answer = await service.request("GET", target, { token });
      assert.equal(answer.status, 200, answer.text);
      return answer.json() as T;
    };
    const runsOf = async (search = ""): Promise<Listed[]> => {
      return (await read<{ runs: Listed[] }>(`/api/runs/story${search}`)).runs;
    };
    const stream = await follow(service, "story", token);
    const waiting = service.run("story", `console.log("begun"); return new Promise((go) => { globalThis.go = go; })`, {
      token,
    });
    await until(() => stream.text().includes("begun"), "the run has begun");
    const [running] = await runsOf("?status=running");
    assert.equal(running!.status, "running");
    const console = await service.request("GET", `/api/runs/story/${running!.run}/console`, { token });
    assert.match(console.text, /^ *\d+ ms info {2}begun\n$/);
    const forged = "data: forged\\n\\nevent: record\\rdata: {}\\r\\r\\u2028\\0";
    await service.run("story", `console.error("${forged}"); throw new RangeError("needle ${forged}")`, { token });
    await service.run("story", "globalThis.go(7)", { token });
    assert.equal((await waiting).text, "7");
    await until(async () => (await runsOf("?status=running")).length === 0, "no run is in flight");
    const runs = await runsOf();
    assert.deepEqual(
      runs.map(({ status }) => status),
      ["ok", "threw", "ok"],
    );
    assert.deepEqual(
      (await runsOf("?q=NEEDLE")).map(({ run }) => run),
      [runs[1]!.run],
    );
    const { failures } = await read<{ failures: { name: string; count: number; run: string }[] }>("/api/failures");
    assert.partialDeepStrictEqual(failures, [{ name: "RangeError", count: 1, run: runs[1]!.run }]);
    await until(() => parseEvents(stream.text()).length === 5, "all events have arrived");
    assert.deepEqual(
      parseEvents(stream.text()).map(({ name }) => name),
      ["console", "console", "record", "record", "record"],
    );
    await service.request("DELETE", `/api/tokens/${jtiOf(token)}`);
    await stream.ended;
  });

  it("are in memory if none are kept on disk", async () => {
    const forgetful = await startService([...NO_WALL, "--keep-runs", "0s"]);
    try {
      await forgetful.run("demo", `console.log("hi")`);
      await forgetful.run("demo", "throw new Error('no')");
      const page = (await forgetful.request("GET", "/api/runs")).json() as { runs: Listed[]; history: string };
      assert.deepEqual([page.runs.map(({ status }) => status), page.history], [["threw", "ok"], "off"]);
      const record = await forgetful.request("GET", `/api/runs/demo/${page.runs[1]!.run}`);
      assert.equal((record.json() as { console: { text: string }[] }).console[0]!.text, "hi");
      const failures = await forgetful.request("GET", "/api/failures");
      assert.partialDeepStrictEqual(failures.json(), { complete: false, history: "off", failures: [{ count: 1 }] });
    } finally {
      await forgetful.stop();
    }
  });

  it("have a stream of events that ends with its token", async () => {
    const token = await service.issue({ containers: ["live"], can: ["logs"] });
    const stream = await follow(service, "live", token);
    await service.request("DELETE", `/api/tokens/${jtiOf(token)}`);
    await stream.ended;
    assert.match(parseEvents(stream.text()).at(-1)!.data, /"code":"token_invalid"/);
    assertProblem(await service.request("GET", "/api/runs/live/events", { token }), 403, "token_invalid");
  });

  it("have streams of events that do not delay the stop of the service", async () => {
    const stopped = await startService(NO_WALL);
    const stream = await follow(stopped, "live", stopped.admin);
    await stopped.stop();
    await stream.ended;
    assert.match(parseEvents(stream.text()).at(-1)!.data, /"code":"draining"/);
  });
});
