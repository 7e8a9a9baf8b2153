import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import type { RunRecord } from "../../src/records/record.ts";
import type { CodeServer } from "./code-server.ts";
import { respond } from "./http.ts";
import { type SharedService, shareService } from "./service.ts";
import { until } from "./until.ts";

let service: SharedService;
let code: CodeServer;

before(async () => {
  // It has no spare guests, so that the first run of each container waits for the start of a process.
  service = await shareService();
  // It never answers.
  code = service.serveCode(() => {});
});
after(async () => {
  await service.stop();
  await code.close();
});

async function endedRun(container: string): Promise<RunRecord> {
  let record: RunRecord | undefined;
  await until(async () => {
    const { runs } = (await service.request("GET", `/api/runs/${container}`)).json() as { runs: RunRecord[] };
    record = runs[0];
    return record !== undefined && record.status !== "running";
  }, "the run has ended");
  const answer = await service.request("GET", `/api/runs/${container}/${record!.run}`);
  return answer.json() as RunRecord;
}

describe("a run whose client leaves before a guest has the run", () => {
  it("never reaches the guest, and its record is cancelled", async () => {
    const headers = { accept: "text/event-stream" };
    const body = "console.log('has begun'); return 1";
    let count = 0;
    // On a busy machine the guest may start before the service detects that the client has left.
    await until(async () => {
      const container = `leaves-${count++}`;
      // The head of the events is sent after the admission and before the guest starts.
      const events = await respond(service.port, "POST", `/api/runs/${container}`, {
        token: service.admin,
        headers,
        body,
      });
      events.on("error", () => {}).destroy();
      const { status, error, ms, start, console } = await endedRun(container);
      if (ms.run !== null) return false;
      assert.deepEqual([status, error?.code, start, console], ["cancelled", "run_cancelled", null, []]);
      return true;
    }, "a run was given up");
  });

  it("counts against the limits, because it was admitted", async () => {
    const token = await service.issue({ containers: ["counted"], can: ["run"], limits: { token: { day: 1 } } });
    const headers = { accept: "text/event-stream" };
    const events = await respond(service.port, "POST", "/api/runs/counted", { token, headers, body: "1" });
    events.on("error", () => {}).destroy();
    await endedRun("counted");
    assert.equal((await service.run("counted", "1", { token })).status, 429);
  });

  it("is cancelled and not a fault of the service if it waits for the code of its task_url", async () => {
    const leaver = new AbortController();
    const query = { task_url: `${code.url}/held` };
    const left = assert.rejects(service.request("GET", "/api/run/left-fetch", { query, signal: leaver.signal }));
    await until(() => code.requests.length === 1, "the code is requested");
    leaver.abort();
    await left;
    const { status, error, ms } = await endedRun("left-fetch");
    assert.deepEqual([status, error?.code, ms.run], ["cancelled", "run_cancelled", null]);
    const lines = service.stderr().split("\n");
    assert.ok(!lines.some((line) => line.includes('"level":"error"') && line.includes("left-fetch")), service.stderr());
  });
});
