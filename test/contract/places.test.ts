import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, describe, it } from "node:test";

import { assertProblem } from "./problem.ts";
import { containerRecord, limitRecord, tokenRecord } from "./record.ts";
import { NO_WALL, type Service, startService } from "./service.ts";
import { until } from "./until.ts";

const WAITS_FOR_ITS_CALLER = "(context) => new Promise((end) => context.signal.addEventListener('abort', end))";

let service: Service;
let token: string;

before(async () => {
  // The token may use more than the machine has room for, so the machine is the limit.
  service = await startService([...NO_WALL, "--max-containers", "1", "--concurrency", "3", "--token-containers", "2"]);
  token = await service.issue({ containers: ["*"], limits: { container: { day: 100 } } });
});
after(() => service.stop());

describe("the slots of a service", () => {
  it("limit the runs in flight; another run is busy until one of them has ended", async () => {
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
    await until(async () => (await service.run("full", "6 * 7", { token })).text === "42", "a slot is free");
  });

  it("are refused to another container while all containers are in use, and the run is not counted", async () => {
    const leaving = new AbortController();
    const held = service.run("lives", WAITS_FOR_ITS_CALLER, { token, signal: leaving.signal }).catch(() => null);
    await until(async () => (await containerRecord(service, "lives", token)).day === 99, "the run is admitted");
    assertProblem(await service.run("waits", "6 * 7", { token }), 503, "overloaded");
    assert.deepEqual(await containerRecord(service, "waits", token), limitRecord({ day: 100 }));
    leaving.abort();
    await held;
    await until(
      async () => (await service.run("waits", "6 * 7", { token })).text === "42",
      "the idle container has ended",
    );
  });
});

describe("a container", () => {
  it("serves several isolation groups; an idle group gives way, a group with runs does not", async () => {
    const crowded = await startService([...NO_WALL, "--container-parties", "2"]);
    try {
      const pin = createHash("sha256").update(WAITS_FOR_ITS_CALLER).digest("hex");
      const claims = { containers: ["*"], code: { sha256: pin }, limits: { token: { day: 100 } } };
      const leaving = new AbortController();
      const held: Promise<unknown>[] = [];
      for (let party = 0; party < 2; party++) {
        const pinned = await crowded.issue(claims);
        const run = crowded.run("shared", WAITS_FOR_ITS_CALLER, { token: pinned, signal: leaving.signal });
        held.push(run.catch(() => null));
        await until(async () => (await tokenRecord(crowded, pinned)).day === 99, "the run is admitted");
      }
      const problem = assertProblem(await crowded.run("shared", "6 * 7"), 429, "container_busy");
      assert.match(problem.detail, /serves 2 isolation groups, all at work/);
      assert.equal((await crowded.run("another", "6 * 7")).text, "42");
      leaving.abort();
      await Promise.all(held);
      await until(
        async () => (await crowded.run("shared", "6 * 7")).text === "42",
        "an idle isolation group has ended",
      );
    } finally {
      await crowded.stop();
    }
  });

  it("does not start while the machine is short of memory, and the run is not counted", async () => {
    const short = await startService([...NO_WALL, "--memory-reserve", "1000000GiB"]);
    try {
      const any = await short.issue({ containers: ["*"], limits: { container: { day: 10_000 } } });
      let runs = 0;
      // The container starts until the service checks the memory, and later only after another container has ended.
      await until(async () => {
        const answer = await short.run("newcomer", "6 * 7", { token: any });
        if (answer.status === 200) runs++;
        return answer.status !== 200 && /short of memory/.test(assertProblem(answer, 503, "overloaded").detail);
      }, "the idle container has ended and is not replaced");
      assert.deepEqual(await containerRecord(short, "newcomer", any), limitRecord({ day: 10_000 - runs }));
    } finally {
      await short.stop();
    }
  });
});
