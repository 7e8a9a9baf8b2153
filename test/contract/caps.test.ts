import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { isLong } from "../long.ts";
import type { Answer } from "./http.ts";
import { assertProblem } from "./problem.ts";
import { containerRecord, limitRecord, tokenRecord } from "./record.ts";
import { NO_WALL, type Service, startService } from "./service.ts";
import { until } from "./until.ts";

const WAITS_FOR_ITS_CALLER = "(context) => new Promise((end) => context.signal.addEventListener('abort', end))";
/** Through how many names a tenant walks. */
const NAMES = isLong ? 1_000 : 200;
/** Of a pool of one. */
const MOST_BLANKS = 8;
const COUNTS = "globalThis.turn = (globalThis.turn ?? 0) + 1";

function busy(answer: Answer, message: RegExp): number {
  const { detail, retryAfterMs } = assertProblem(answer, 429, "container_busy");
  assert.match(detail, message);
  assert.ok(Number(answer.headers["retry-after"]) >= 1 && retryAfterMs! > 0);
  return retryAfterMs!;
}

describe("a service that has room for few containers", () => {
  it("gives no token all of them", async (t) => {
    const service = await startService([...NO_WALL, "--max-containers", "4"]);
    t.after(() => service.stop());
    const [token, other] = [await service.issue({ containers: ["*"] }), await service.issue({ containers: ["*"] })];
    const leaving = new AbortController();
    const held = ["few-1", "few-2", "few-3"].map(async (container) => {
      const answer = await service
        .run(container, WAITS_FOR_ITS_CALLER, { token, signal: leaving.signal })
        .catch(() => null);
      if (answer) busy(answer, /has 2 containers alive, all at work/);
      return answer;
    });
    // One of the three is refused; the others wait.
    await Promise.race(held);
    assert.equal((await service.run("few-4", "6 * 7", { token: other })).text, "42");
    leaving.abort();
    assert.equal((await Promise.all(held)).filter((answer) => answer !== null).length, 1);
  });
});

describe("the caps of one token", () => {
  let service: Service;
  before(async () => {
    service = await startService([
      ...NO_WALL,
      ...["--token-containers", "3", "--token-concurrency", "5", "--token-new-containers", "6"],
      ...["--concurrency", "4", "--max-containers", "20"],
    ]);
  });
  after(() => service.stop());

  const issue = (): Promise<string> => service.issue({ containers: ["*"], limits: { container: { day: 100 } } });

  /** Holds places in containers while something is done. */
  async function whileHeld(token: string, containers: readonly string[], action: () => Promise<void>): Promise<void> {
    const leaving = new AbortController();
    const held = containers.map((container) =>
      service.run(container, WAITS_FOR_ITS_CALLER, { token, signal: leaving.signal }).catch(() => null),
    );
    for (const container of new Set(containers)) {
      const runs = containers.filter((each) => each === container).length;
      await until(async () => {
        return (await containerRecord(service, container, token)).day === 100 - runs;
      }, "the runs are admitted");
    }
    try {
      await action();
    } finally {
      leaving.abort();
      await Promise.all(held);
    }
  }

  it("bound its containers that are at work; others live on, and nothing is counted for what is refused", async () => {
    const [token, other] = [await issue(), await issue()];
    await whileHeld(token, ["live-1", "live-2", "live-3"], async () => {
      busy(await service.run("live-4", "6 * 7", { token }), /has 3 containers alive, all at work/);
      assert.equal((await containerRecord(service, "live-4", token)).day, 100);
      assert.equal((await service.run("live-3", "6 * 7", { token })).text, "42");
      assert.equal((await service.run("live-4", "6 * 7", { token: other })).text, "42");
      // One that a neighbour holds may be used: it is not one more.
      assert.equal((await service.run("live-4", "6 * 7", { token })).text, "42");
    });
  });

  it("bound its containers that are idle, too: the least recently used of its own gives way", async () => {
    const [token, other] = [await issue(), await issue()];
    const turn = async (container: string, who = token): Promise<string> => {
      return (await service.run(container, COUNTS, { token: who })).text;
    };
    assert.equal(await turn("theirs", other), "1");
    for (const container of ["idle-1", "idle-2", "idle-3"]) assert.equal(await turn(container), "1");
    assert.equal(await turn("idle-1"), "2");
    assert.equal(await turn("idle-4"), "1");
    assert.deepEqual([await turn("idle-1"), await turn("idle-3"), await turn("theirs", other)], ["3", "2", "2"]);
    assert.equal(await turn("idle-2"), "1");
  });

  it("bound its runs in flight over all its containers, and those of no other", async () => {
    const [token, other] = [await issue(), await issue()];
    await whileHeld(token, ["flight-1", "flight-1", "flight-1", "flight-2", "flight-2"], async () => {
      for (const container of ["flight-1", "flight-2", "flight-3"]) {
        busy(await service.run(container, "6 * 7", { token }), /has 5 runs in flight/);
      }
      assert.equal((await tokenRecord(service, token)).day, 0);
      assert.deepEqual(await containerRecord(service, "flight-3", token), limitRecord({ day: 100 }));
      for (const container of ["flight-1", "flight-3"]) {
        assert.equal((await service.run(container, "6 * 7", { token: other })).text, "42");
      }
    });
    await until(async () => (await service.run("flight-1", "6 * 7", { token })).text === "42", "there is room again");
  });

  it("bound the containers that it makes come alive in a minute, administrators' too, with the exact wait", async () => {
    const walkers = [await issue(), await service.issue({ admin: true })];
    for (const [walker, token] of walkers.entries()) {
      for (let name = 0; name < 6; name++) {
        assert.equal((await service.run(`walk-${walker}-${name}`, "6 * 7", { token })).text, "42");
      }
      const answer = await service.run(`walk-${walker}-6`, "6 * 7", { token });
      const waitMs = busy(answer, /at most 6 containers come alive a minute; the next fits in \d+ s/);
      assert.ok(waitMs <= 60_000 && Number.isInteger(waitMs));
      assert.equal(answer.headers["retry-after"], String(Math.ceil(waitMs / 1_000)));
      // What lives is still served, and so is everybody else.
      assert.equal((await service.run(`walk-${walker}-5`, "6 * 7", { token })).text, "42");
      assert.equal((await service.run(`walk-${walker}-6`, "6 * 7", { token: await issue() })).text, "42");
    }
  });

  it("count the names of containers that fresh guests are in, each once a minute", async () => {
    const token = await service.issue({ containers: ["*"], fresh: true });
    for (let name = 0; name < 6; name++) assert.equal((await service.run(`walk-${name}`, "1", { token })).status, 200);
    busy(await service.run("walk-6", "1", { token }), /makes at most 6 containers come alive a minute/);
    assert.equal((await service.run("walk-0", "1", { token })).status, 200);
  });

  it("count fresh guests while their runs are in flight, and not as containers that came alive", async () => {
    const token = await service.issue({ containers: ["*"], fresh: true, limits: { container: { day: 100 } } });
    for (let run = 0; run < 8; run++) assert.equal((await service.run("fresh", COUNTS, { token })).text, "1");
    const held = ["fresh-1", "fresh-1", "fresh-1"];
    await whileHeld(token, held, async () => {
      busy(await service.run("fresh", "6 * 7", { token }), /has 3 containers alive, all at work/);
    });
    await until(async () => (await service.run("fresh", COUNTS, { token })).text === "1", "there is room again");
  });

  it("keep half of the places of a container from clients without a token", async () => {
    const owner = await service.issue({ containers: ["open"], can: ["run", "tasks"] });
    const json = { code: WAITS_FOR_ITS_CALLER, public: true };
    assert.equal((await service.request("PUT", "/api/tasks/open/task", { token: owner, json })).status, 201);
    const leaving = new AbortController();
    const runPublic = (): Promise<Answer> =>
      service.request("POST", "/api/run/open/task", { token: null, signal: leaving.signal });
    const answers: Answer[] = [];
    const held = [1, 2, 3, 4].map(async () => {
      const answer = await runPublic().catch(() => null);
      if (answer) answers.push(answer);
    });
    await until(() => answers.length === 2, "two of four runs are refused");
    for (const answer of answers) busy(answer, /2 runs of clients without a token/);
    assert.equal((await service.run("open", "6 * 7", { token: owner })).text, "42");
    leaving.abort();
    await Promise.all(held);
  });
});

describe("a tenant that takes what it can", () => {
  let service: Service;
  before(async () => {
    service = await startService([
      ...NO_WALL,
      ...["--max-containers", "6", "--concurrency", "4", "--token-containers", "100", "--token-concurrency", "8"],
    ]);
  });
  after(() => service.stop());

  it("walks through the names of all containers: the guests of its neighbours stay warm, and it is served", async () => {
    const [walker, neighbour] = [
      await service.issue({ containers: ["*"] }),
      await service.issue({ containers: ["mine-*"] }),
    ];
    const turn = async (container: string): Promise<string> => {
      return (await service.run(container, COUNTS, { token: neighbour })).text;
    };
    assert.deepEqual([await turn("mine-1"), await turn("mine-2")], ["1", "1"]);
    for (let name = 0; name < 60; name++) {
      assert.equal((await service.run(`name-${name}`, COUNTS, { token: walker })).text, "1");
    }
    assert.deepEqual([await turn("mine-1"), await turn("mine-2")], ["2", "2"]);
  });

  it("walks through hundreds of names, and comes to no more than may come alive in a minute", async () => {
    const bounded = await startService(["--pool", "1", "--max-containers", "6", "--token-new-containers", "20"]);
    try {
      const [walker, neighbour] = [
        await bounded.issue({ containers: ["*"] }),
        await bounded.issue({ containers: ["mine"] }),
      ];
      const turn = async (): Promise<string> => (await bounded.run("mine", COUNTS, { token: neighbour })).text;
      assert.equal(await turn(), "1");
      const startMs = performance.now();
      let served = 0;
      for (let name = 0; name < NAMES; name++) {
        const answer = await bounded.run(`name-${name}`, COUNTS, { token: walker });
        if (answer.status === 200) served++;
        else assertProblem(answer, 429, "container_busy");
      }
      const earned = Math.ceil(((performance.now() - startMs) / 60_000) * 20);
      assert.ok(served >= 20 && served <= 20 + earned, `${served} of ${NAMES} were served`);
      assert.equal(await turn(), "2", "its neighbour's guest is warm");
      const guests = async (): Promise<number> => {
        return (await bounded.trail.processes()).filter(({ kind }) => kind === "guest").length;
      };
      await until(async () => (await guests()) <= 6 + MOST_BLANKS, "there are no more guests than there may be");
    } finally {
      await bounded.stop();
    }
  });

  it("holds all places of its containers: its neighbours in others are served meanwhile", async () => {
    const [greedy, neighbour] = [
      await service.issue({ containers: ["greedy-*"], limits: { container: { day: 100 } } }),
      await service.issue({ containers: ["*"] }),
    ];
    const leaving = new AbortController();
    const held = Array.from({ length: 20 }, (_, index) => {
      const options = { token: greedy, signal: leaving.signal };
      return service.run(`greedy-${index % 3}`, WAITS_FOR_ITS_CALLER, options).catch(() => null);
    });
    const used = async (): Promise<number> => {
      const records = [0, 1, 2].map(async (index) => (await containerRecord(service, `greedy-${index}`, greedy)).day);
      return 300 - (await Promise.all(records)).reduce((sum, day) => sum + day);
    };
    await until(async () => (await used()) === 8, "it holds all that it may");
    for (let run = 0; run < 10; run++) {
      assert.equal((await service.run(`beside-${run % 2}`, "6 * 7", { token: neighbour })).text, "42");
    }
    assertProblem(await service.run("greedy-0", "6 * 7", { token: greedy }), 429, "container_busy");
    assert.equal(await used(), 8);
    leaving.abort();
    await Promise.all(held);
  });
});
