import assert from "node:assert/strict";
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { after, before, describe, it } from "node:test";

import { isLong } from "../long.ts";
import { seeded } from "../seeded.ts";
import { assertProblem } from "./problem.ts";
import { containerRecord, jtiOf, limitRecord, tokenRecord } from "./record.ts";
import { caisson, type Home, makeHome, NO_WALL, type Service, startService } from "./service.ts";
import { until } from "./until.ts";

const LIMIT = 1_000_000;
const LOOPS = 8;
const ROUNDS = isLong ? 20 : 1;

let home: Home;
/** The service that runs on the home, and its flags; null if no service runs. */
let running: { readonly service: Service; readonly flags: string } | null = null;

before(async () => {
  home = await makeHome();
});
after(async () => {
  await end("stop");
  await home[Symbol.asyncDispose]();
});

/** Returns the service that runs with these flags, or starts it. */
async function serving(...flags: string[]): Promise<Service> {
  if (running?.flags === flags.join()) return running.service;
  await end("stop");
  const service = await startService([...NO_WALL, ...flags], home);
  running = { service, flags: flags.join() };
  return service;
}

/** Issues a token, a token below it, and a token below that one. */
async function issueFamily(service: Service): Promise<string[]> {
  const tokens = [await service.issue({ containers: ["family"], can: ["run", "issue"], depth: 2 })];
  for (const depth of [1, 0]) {
    const json = { containers: ["family"], can: depth > 0 ? ["run", "issue"] : ["run"], depth };
    const answer = await service.request("POST", "/api/tokens", { token: tokens.at(-1)!, json });
    tokens.push((answer.json() as { token: string }).token);
  }
  return tokens;
}

async function end(how: "stop" | "kill9"): Promise<void> {
  const ended = running;
  running = null;
  await ended?.service[how]();
}

describe("a restart on the same data", () => {
  for (const how of ["stop", "kill9"] as const) {
    describe(`after ${how}`, () => {
      const limits = { container: { day: 2 }, token: { week: 5 } };
      const container = `kept-${how}`;
      const labels = { team: "red", tier: "gold" };
      let [admin, token, revoked, reset, unused, labelled] = ["", "", "", "", "", ""];
      /** A token, a token below it that is revoked, and a token below that one. */
      let family: string[] = [];
      before(async () => {
        const service = await serving();
        admin = service.admin;
        token = await service.issue({ containers: ["*"], limits });
        for (let run = 0; run < 2; run++) await service.run(container, "1", { token });
        revoked = await service.issue({ containers: ["*"] });
        await service.request("DELETE", `/api/tokens/${jtiOf(revoked)}`);
        reset = await service.issue({ containers: ["*"], limits: { container: { day: 1 } } });
        await service.run(`reset-${how}`, "1", { token: reset });
        await service.request("DELETE", `/api/limits/container/reset-${how}`);
        unused = await service.issue({ containers: ["*"], limits: { token: { month: 9 } } });
        labelled = await service.issue({ containers: ["*"], labels, description: "for invoices" });
        const policy = { json: { labels, limits: { week: 7 } } };
        assert.equal((await service.request("PATCH", `/api/containers/labelled-${how}`, policy)).status, 200);
        family = await issueFamily(service);
        assert.equal((await service.run("family", "1", { token: family[2]! })).status, 200);
        assert.equal((await service.request("DELETE", `/api/tokens/${jtiOf(family[1]!)}`)).status, 200);
        await end(how);
      });

      it("keeps counts, tokens and revocations", async () => {
        const service = await serving();
        assert.equal(service.admin, admin);
        assert.deepEqual(await containerRecord(service, container, token), limitRecord({ day: -1 }));
        assert.deepEqual(await tokenRecord(service, token), limitRecord({ week: 3 }));
        assertProblem(await service.run(container, "1", { token }), 429, "container_limited");
        assertProblem(await service.run(container, "1", { token: revoked }), 403, "token_invalid");
      });

      it("keeps a reset", async () => {
        assert.deepEqual(await containerRecord(await serving(), `reset-${how}`, reset), limitRecord({ day: 1 }));
      });

      it("keeps the end of the tokens below a revoked token", async () => {
        const service = await serving();
        const statuses = family.map(async (each) => (await service.run("family", "1", { token: each })).status);
        assert.deepEqual(await Promise.all(statuses), [200, 403, 403]);
      });

      it("keeps labels and a description, of tokens and of containers", async () => {
        const service = await serving();
        const { claims } = (await service.request("GET", `/api/tokens/${jtiOf(labelled)}`)).json() as {
          claims: object;
        };
        assert.partialDeepStrictEqual(claims, { labels, description: "for invoices" });
        const answer = await service.request("GET", `/api/containers/labelled-${how}`);
        assert.partialDeepStrictEqual(answer.json(), { labels, limits: { week: 7 } });
      });

      // The uses of the last moments before a kill may be lost.
      it("keeps the use of a token", { skip: how === "kill9" }, async () => {
        const answer = await (await serving()).request("GET", `/api/tokens/${jtiOf(token)}`);
        assert.equal((answer.json() as { runs: number }).runs, 2);
      });

      it("keeps the limits of a token that was issued before and never used", async () => {
        assert.deepEqual(await tokenRecord(await serving(), unused), limitRecord({ month: 9 }));
      });
    });
  }
});

const random = seeded();

describe(`kill -9 under load (SEED=${random.seed})`, () => {
  for (let round = 0; round < ROUNDS; round++) {
    const answersBefore = 40 + random.below(360);
    it(`loses no run that was answered, after ${answersBefore} answers`, async () => {
      const service = await serving();
      const claims = { containers: ["*"], limits: { container: { month: LIMIT }, token: { month: LIMIT } } };
      const token = await service.issue(claims);
      const container = `load-${round}`;
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
      await Promise.all([end("kill9"), ...loops]);
      const again = await serving();
      for (const left of [
        (await tokenRecord(again, token)).month,
        (await containerRecord(again, container, token)).month,
      ]) {
        const counted = LIMIT - left;
        assert.ok(counted >= answered && counted <= sent, `${counted} counted, ${answered} answered, ${sent} sent`);
      }
    });
  }

  it("admits no more than the limit before and after the restart", async () => {
    const token = await (await serving()).issue({ containers: ["*"], limits: { container: { day: 60 } } });
    let answered = 0;
    const loop = async (service: Service): Promise<void> => {
      for (;;) {
        const answer = await service.run("capped", "1", { token }).catch(() => null);
        if (answer?.status !== 200) return;
        answered += 1;
      }
    };
    const killed = await serving();
    const loops = Array.from({ length: LOOPS }, () => loop(killed));
    await until(() => answered >= 30, "the load runs");
    await Promise.all([end("kill9"), ...loops]);
    const again = await serving();
    await Promise.all(Array.from({ length: LOOPS }, () => loop(again)));
    assert.ok(answered <= 60 && answered >= 60 - LOOPS, `${answered} runs were answered`);
    assertProblem(await again.run("capped", "1", { token }), 429, "container_limited");
  });
});

describe("one data folder", () => {
  it("serves one service: a second service is rejected with the reason, and the first continues", async () => {
    const service = await serving();
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

  it("leaves no temporary folder and no guest after kill -9 and the next start and stop", async () => {
    await serving();
    await end("kill9");
    await serving();
    // `stop` fails if a process, a control group or a file stays behind.
    await end("stop");
    assert.deepEqual(await readdir(home.tmp), []);
  });

  it("accepts other limits than those that were stored: a flag may be added and removed", async () => {
    const limited = await serving("--container-limit", "hour=5");
    await limited.run("flagged", "1");
    assert.deepEqual(await containerRecord(limited, "flagged"), limitRecord({ hour: 4 }));
    assert.deepEqual(await containerRecord(await serving(), "flagged"), limitRecord({}));
  });
});

describe("SIGTERM", () => {
  it("lets the runs in flight end, and accepts no new run", async () => {
    const service = await serving();
    const token = await service.issue({ containers: ["*"], limits: { container: { day: 9 } } });
    const inFlight = service.run("drained", "await new Promise((go) => setTimeout(go, 700, 'ended'))", { token });
    await until(async () => (await containerRecord(service, "drained", token)).day === 8, "the run is admitted");
    const stopped = end("stop");
    assert.equal((await inFlight).text, '"ended"');
    await stopped;
    await assert.rejects(service.run("drained", "1"), { code: "ECONNREFUSED" });
  });
});
