import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, describe, it } from "node:test";

import { parseEvents } from "../records/event-stream.ts";
import { respond } from "./http.ts";
import { assertProblem } from "./problem.ts";
import { jtiOf } from "./record.ts";
import { NO_WALL, type Service, startService } from "./service.ts";
import { until } from "./until.ts";

let service: Service;

before(async () => {
  service = await startService(NO_WALL);
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
