import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { assertProblem } from "./problem.ts";
import { containerRecord, limitRecord } from "./record.ts";
import { type Service, startService } from "./service.ts";
import { until } from "./until.ts";

const WAITS_FOR_ITS_CALLER = "(context) => new Promise((end) => context.signal.addEventListener('abort', end))";

let service: Service;
let token: string;

before(async () => {
  service = await startService(["--max-containers", "1", "--concurrency", "3"]);
  token = await service.issue({ containers: ["*"], limits: { container: { day: 100 } } });
});
after(() => service.stop());

describe("places", () => {
  it("are kept for so many runs in flight, and one more is busy until one of them has ended", async () => {
    const leaving = new AbortController();
    const held = Array.from({ length: 3 }, () => {
      return service.run("full", WAITS_FOR_ITS_CALLER, { token, signal: leaving.signal }).catch(() => null);
    });
    await until(async () => (await containerRecord(service, "full", token)).day === 97, "three runs are admitted");
    const busy = await service.run("full", "6 * 7", { token });
    const problem = assertProblem(busy, 429, "container_busy");
    assert.match(problem.detail, /full/);
    assert.match(problem.detail, /\b3\b/);
    assert.ok(Number(busy.headers["retry-after"]) >= 1);
    assert.deepEqual(await containerRecord(service, "full", token), limitRecord({ day: 97 }));
    leaving.abort();
    await Promise.all(held);
    await until(async () => (await service.run("full", "6 * 7", { token })).text === "42", "a place is free");
  });

  it("are refused to one more container while those that live are in use, and nothing is counted", async () => {
    const leaving = new AbortController();
    const held = service.run("lives", WAITS_FOR_ITS_CALLER, { token, signal: leaving.signal }).catch(() => null);
    await until(async () => (await containerRecord(service, "lives", token)).day === 99, "the run is admitted");
    assertProblem(await service.run("waits", "6 * 7", { token }), 503, "overloaded");
    assert.deepEqual(await containerRecord(service, "waits", token), limitRecord({ day: 100 }));
    leaving.abort();
    await held;
    await until(
      async () => (await service.run("waits", "6 * 7", { token })).text === "42",
      "the idle one has made room",
    );
  });
});
