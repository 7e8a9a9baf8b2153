import assert from "node:assert/strict";
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { after, before, describe, it } from "node:test";

import { assertProblem } from "./problem.ts";
import { containerRecord, jtiOf, limitRecord, tokenRecord } from "./record.ts";
import { caisson, type Home, leave, makeHome, NO_WALL, type Service, startService } from "./service.ts";
import { until } from "./until.ts";

const LIMIT = 1_000_000;
const LOOPS = 8;

let home: Home;
let service: Service;

before(async () => {
  home = await makeHome();
  service = await startService(NO_WALL, home);
});
after(() => leave(service, home));

async function restart(end: "stop" | "kill9", flags: readonly string[] = []): Promise<void> {
  await service[end]();
  service = await startService([...NO_WALL, ...flags], home);
}

describe("a restart on the same data", () => {
  for (const end of ["stop", "kill9"] as const) {
    it(`after ${end} keeps counts, tokens and revocations`, async () => {
      const limits = { container: { day: 2 }, token: { week: 5 } };
      const [token, revoked] = [
        await service.issue({ containers: ["*"], limits }),
        await service.issue({ containers: ["*"] }),
      ];
      const container = `kept-${end}`;
      await service.run(container, "1", { token });
      await service.run(container, "1", { token });
      await service.request("DELETE", `/api/tokens/${jtiOf(revoked)}`);
      const admin = service.admin;
      await restart(end);
      assert.equal(service.admin, admin);
      assert.deepEqual(await containerRecord(service, container, token), limitRecord({ day: -1 }));
      assert.deepEqual(await tokenRecord(service, token), limitRecord({ week: 3 }));
      assertProblem(await service.run(container, "1", { token }), 429, "container_limited");
      assertProblem(await service.run(container, "1", { token: revoked }), 403, "token_invalid");
    });

    it(`after ${end} keeps a reset`, async () => {
      const token = await service.issue({ containers: ["*"], limits: { container: { day: 1 } } });
      await service.run(`reset-${end}`, "1", { token });
      await service.request("DELETE", `/api/limits/container/reset-${end}`);
      await restart(end);
      assert.deepEqual(await containerRecord(service, `reset-${end}`, token), limitRecord({ day: 1 }));
    });
  }

  it("knows the limits of a jti that was issued before and never used", async () => {
    const token = await service.issue({ containers: ["*"], limits: { token: { month: 9 } } });
    await restart("kill9");
    assert.deepEqual(await tokenRecord(service, token), limitRecord({ month: 9 }));
  });
});

describe("kill -9 under load", () => {
  for (const answersBefore of [40, 400, 90]) {
    it(`after ${answersBefore} answers loses no run that was answered`, async () => {
      const claims = { containers: ["*"], limits: { container: { month: LIMIT }, token: { month: LIMIT } } };
      const token = await service.issue(claims);
      const container = `load-${answersBefore}`;
      let [answered, sent] = [0, 0];
      const loop = async (): Promise<void> => {
        for (;;) {
          sent += 1;
          const answer = await service.run(container, "1", { token }).catch(() => null);
          if (answer?.status !== 200) return;
          answered += 1;
        }
      };
      const loops = Array.from({ length: LOOPS }, loop);
      await until(() => answered >= answersBefore, "the load runs");
      await Promise.all([service.kill9(), ...loops]);
      service = await startService(NO_WALL, home);
      for (const left of [
        (await tokenRecord(service, token)).month,
        (await containerRecord(service, container, token)).month,
      ]) {
        const counted = LIMIT - left;
        assert.ok(counted >= answered && counted <= sent, `${counted} counted, ${answered} answered, ${sent} sent`);
      }
    });
  }

  it("admits no more than the limit over the restart", async () => {
    const token = await service.issue({ containers: ["*"], limits: { container: { day: 60 } } });
    let answered = 0;
    const loop = async (): Promise<void> => {
      for (;;) {
        const answer = await service.run("capped", "1", { token }).catch(() => null);
        if (answer?.status !== 200) return;
        answered += 1;
      }
    };
    const loops = Array.from({ length: LOOPS }, loop);
    await until(() => answered >= 30, "the load runs");
    await Promise.all([service.kill9(), ...loops]);
    service = await startService(NO_WALL, home);
    await Promise.all(Array.from({ length: LOOPS }, loop));
    assert.ok(answered <= 60 && answered >= 60 - LOOPS, `${answered} runs were answered`);
    assertProblem(await service.run("capped", "1", { token }), 429, "container_limited");
  });
});

describe("what kill -9 leaves", () => {
  it("is gone after the next start and stop: temporary folders and guests", async () => {
    await service.kill9();
    service = await startService(NO_WALL, home);
    await service.stop();
    const left = await readdir(home.tmp);
    service = await startService(NO_WALL, home);
    assert.deepEqual(left, []);
  });
});

describe("one data folder", () => {
  it("serves one service: a second one is refused and says why, and the first goes on", async () => {
    const second = caisson(home, "serve", "--port", "0");
    let [output, errors] = ["", ""];
    second.stdout!.on("data", (text: Buffer) => (output += text.toString()));
    second.stderr!.on("data", (text: Buffer) => (errors += text.toString()));
    const [code] = (await once(second, "close")) as [number | null];
    assert.ok(code !== 0 && code !== null, `ended with ${code}`);
    assert.match(errors, /another|in use|already|locked/i);
    assert.match(errors, /data/);
    assert.doesNotMatch(errors, /\n\s+at /);
    assert.doesNotMatch(output, /^curl /m);
    assert.equal((await service.run("first", "6 * 7")).text, "42");
  });

  it("does not hold a wrong limit against what was stored: a flag may come and go", async () => {
    await restart("stop", ["--container-limit", "hour=5"]);
    await service.run("flagged", "1");
    assert.deepEqual(await containerRecord(service, "flagged"), limitRecord({ hour: 4 }));
    await restart("stop");
    assert.deepEqual(await containerRecord(service, "flagged"), limitRecord({}));
  });
});

describe("SIGTERM", () => {
  it("lets the runs in flight end, and takes no new one", async () => {
    const token = await service.issue({ containers: ["*"], limits: { container: { day: 9 } } });
    const running = service.run("drained", "await new Promise((end) => setTimeout(end, 700, 'ended'))", { token });
    await until(async () => (await containerRecord(service, "drained", token)).day === 8, "the run is admitted");
    const stopped = service.stop();
    assert.equal((await running).text, '"ended"');
    await stopped;
    await assert.rejects(service.run("drained", "1"), { code: "ECONNREFUSED" });
    service = await startService(NO_WALL, home);
  });
});
