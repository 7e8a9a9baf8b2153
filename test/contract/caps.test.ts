import assert from "node:assert/strict";
import { connect } from "node:net";
import { after, before, describe, it } from "node:test";

import { isLong } from "../long.ts";
import type { Answer } from "./http.ts";
import { assertProblem } from "./problem.ts";
import { containerRecord, limitRecord, tokenRecord } from "./record.ts";
import { NO_WALL, type Service, startService } from "./service.ts";
import { until } from "./until.ts";

const WAITS_FOR_ITS_CALLER = "(context) => new Promise((end) => context.signal.addEventListener('abort', end))";
/** The number of container names that a tenant uses one after another. */
const NAMES = isLong ? 1_000 : 120;
/** The number of names that all become live containers. */
const LIVE_NAMES = isLong ? 60 : 10;
/** The maximum number of spares of a pool of one. */
const MAX_SPARES = 8;
const COUNTS = "globalThis.turn = (globalThis.turn ?? 0) + 1";

function busy(answer: Answer, message: RegExp): number {
  const { detail, retryAfterMs } = assertProblem(answer, 429, "container_busy");
  assert.match(detail, message);
  assert.ok(Number(answer.headers["retry-after"]) >= 1 && retryAfterMs! > 0);
  return retryAfterMs!;
}

describe("a service with room for few containers", () => {
  it("does not give all of them to one token", async (t) => {
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
    // The service rejects one of the three; the others wait.
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

  /** Keeps slots in containers occupied during an action. */
  async function whileOccupied(
    token: string,
    containers: readonly string[],
    action: () => Promise<void>,
  ): Promise<void> {
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

  it("limit its containers that are in use; the others keep running, and a rejected run is not counted", async () => {
    const [token, other] = [await issue(), await issue()];
    await whileOccupied(token, ["live-1", "live-2", "live-3"], async () => {
      busy(await service.run("live-4", "6 * 7", { token }), /has 3 containers alive, all at work/);
      assert.equal((await containerRecord(service, "live-4", token)).day, 100);
      assert.equal((await service.run("live-3", "6 * 7", { token })).text, "42");
      assert.equal((await service.run("live-4", "6 * 7", { token: other })).text, "42");
      // A container that another token keeps alive is not an additional one.
      assert.equal((await service.run("live-4", "6 * 7", { token })).text, "42");
    });
  });

  it("limit its idle containers: the least recently used container of the token ends", async () => {
    const [token, other] = [await issue(), await issue()];
    const turn = async (container: string, by = token): Promise<string> => {
      return (await service.run(container, COUNTS, { token: by })).text;
    };
    assert.equal(await turn("theirs", other), "1");
    for (const container of ["idle-1", "idle-2", "idle-3"]) assert.equal(await turn(container), "1");
    assert.equal(await turn("idle-1"), "2");
    assert.equal(await turn("idle-4"), "1");
    assert.deepEqual([await turn("idle-1"), await turn("idle-3"), await turn("theirs", other)], ["3", "2", "2"]);
    assert.equal(await turn("idle-2"), "1");
  });

  it("limit its runs in flight over all its containers, and no runs of other tokens", async () => {
    const [token, other] = [await issue(), await issue()];
    await whileOccupied(token, ["flight-1", "flight-1", "flight-1", "flight-2", "flight-2"], async () => {
      for (const container of ["flight-1", "flight-2", "flight-3"]) {
        busy(await service.run(container, "6 * 7", { token }), /has 5 runs in flight/);
      }
      assert.equal((await tokenRecord(service, token)).day, 0);
      assert.deepEqual(await containerRecord(service, "flight-3", token), limitRecord({ day: 100 }));
      for (const container of ["flight-1", "flight-3"]) {
        assert.equal((await service.run(container, "6 * 7", { token: other })).text, "42");
      }
    });
    await until(async () => (await service.run("flight-1", "6 * 7", { token })).text === "42", "a slot is free again");
  });

  it("limit the containers that it starts in a minute, also for administrators, with the exact wait", async () => {
    const walkers = [await issue(), await service.issue({ admin: true })];
    for (const [walker, token] of walkers.entries()) {
      for (let name = 0; name < 6; name++) {
        assert.equal((await service.run(`walk-${walker}-${name}`, "6 * 7", { token })).text, "42");
      }
      const answer = await service.run(`walk-${walker}-6`, "6 * 7", { token });
      const waitMs = busy(answer, /may start 6 containers a minute; the next fits in \d+ s/);
      assert.ok(waitMs <= 60_000 && Number.isInteger(waitMs));
      assert.equal(answer.headers["retry-after"], String(Math.ceil(waitMs / 1_000)));
      // Containers that are alive, and other tokens, are still served.
      assert.equal((await service.run(`walk-${walker}-5`, "6 * 7", { token })).text, "42");
      assert.equal((await service.run(`walk-${walker}-6`, "6 * 7", { token: await issue() })).text, "42");
    }
  });

  it("count the containers of its fresh guests, each once a minute", async () => {
    const token = await service.issue({ containers: ["*"], fresh: true });
    for (let name = 0; name < 6; name++) assert.equal((await service.run(`walk-${name}`, "1", { token })).status, 200);
    busy(await service.run("walk-6", "1", { token }), /may start 6 containers a minute/);
    assert.equal((await service.run("walk-0", "1", { token })).status, 200);
  });

  it("count its fresh guests while their runs are in flight, and not as started containers", async () => {
    const token = await service.issue({ containers: ["*"], fresh: true, limits: { container: { day: 100 } } });
    for (let run = 0; run < 8; run++) assert.equal((await service.run("fresh", COUNTS, { token })).text, "1");
    const held = ["fresh-1", "fresh-1", "fresh-1"];
    await whileOccupied(token, held, async () => {
      busy(await service.run("fresh", "6 * 7", { token }), /has 3 containers alive, all at work/);
    });
    await until(async () => (await service.run("fresh", COUNTS, { token })).text === "1", "a slot is free again");
  });

  it("keep half of the slots of a container from clients without a token", async () => {
    const owner = await service.issue({ containers: ["open"], can: ["run", "tasks"] });
    const json = { code: WAITS_FOR_ITS_CALLER, public: true };
    assert.equal((await service.request("PUT", "/api/tasks/open/task", { token: owner, json })).status, 201);
    const leaving = new AbortController();
    const runPublic = (from: string): Promise<Answer> =>
      service.request("POST", "/api/run/open/task", { token: null, from, signal: leaving.signal });
    const answers: Answer[] = [];
    const held = ["127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4"].map(async (from) => {
      const answer = await runPublic(from).catch(() => null);
      if (answer) answers.push(answer);
    });
    await until(() => answers.length === 2, "two of four runs are rejected");
    for (const answer of answers) busy(answer, /2 runs of clients without a token/);
    assert.equal((await service.run("open", "6 * 7", { token: owner })).text, "42");
    leaving.abort();
    await Promise.all(held);
  });

  it("leave a slot for each other network, if one network sends runs without a token that do not end", async () => {
    const owner = await service.issue({ containers: ["hook"], can: ["run", "tasks"] });
    // The body of an attacker never ends, and the run waits for it.
    const code = "export default { fetch: async (request) => new Response(await request.text()) }";
    const json = { code, public: true };
    assert.equal((await service.request("PUT", "/api/tasks/hook/task", { token: owner, json })).status, 201);
    const head = "POST /api/run/hook/task HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n";
    const answers: string[] = [];
    const sockets = Array.from({ length: 8 }, () => {
      const socket = connect({ port: service.port, host: "127.0.0.1" });
      socket.on("error", () => {}).on("data", (text) => answers.push(String(text)));
      socket.write(head);
      return socket;
    });
    await until(() => answers.length === 7, "all but one are rejected");
    for (const answer of answers) assert.match(answer, /429 [^]*"code":"container_busy"/);
    for (const from of ["127.0.0.2", "127.0.0.3"]) {
      const answer = await service.request("POST", "/api/run/hook/task", { token: null, from, body: "served" });
      assert.deepEqual([answer.status, answer.text], [200, "served"]);
    }
    const own = await service.request("POST", "/api/run/hook/task", { token: null, body: "mine" });
    busy(own, /1 runs of clients without a token in your network/);
    for (const socket of sockets) socket.destroy();
    await until(async () => {
      return (await service.request("POST", "/api/run/hook/task", { token: null, body: "" })).status === 200;
    }, "the network has its slot back");
  });
});

describe("a tenant that takes as much as it can", () => {
  let service: Service;
  before(async () => {
    service = await startService([
      ...NO_WALL,
      ...["--max-containers", "6", "--concurrency", "4", "--token-containers", "100", "--token-concurrency", "8"],
    ]);
  });
  after(() => service.stop());

  it("uses many container names: the guests of its neighbours stay warm, and it is served", async () => {
    const [walker, neighbour] = [
      await service.issue({ containers: ["*"] }),
      await service.issue({ containers: ["mine-*"] }),
    ];
    const turn = async (container: string): Promise<string> => {
      return (await service.run(container, COUNTS, { token: neighbour })).text;
    };
    assert.deepEqual([await turn("mine-1"), await turn("mine-2")], ["1", "1"]);
    for (let name = 0; name < LIVE_NAMES; name++) {
      assert.equal((await service.run(`name-${name}`, COUNTS, { token: walker })).text, "1");
    }
    assert.deepEqual([await turn("mine-1"), await turn("mine-2")], ["2", "2"]);
  });

  it("uses hundreds of names, and starts no more containers than it may start in a minute", async () => {
    const bounded = await startService([
      ...NO_WALL,
      ...["--pool", "1", "--max-containers", "6", "--token-new-containers", "10"],
    ]);
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
      const earned = Math.ceil(((performance.now() - startMs) / 60_000) * 10);
      assert.ok(served >= 10 && served <= 10 + earned, `${served} of ${NAMES} were served`);
      assert.equal(await turn(), "2", "the guest of the neighbour is warm");
      const guests = async (): Promise<number> => {
        return (await bounded.trail.processes()).filter(({ kind }) => kind === "guest").length;
      };
      await until(async () => (await guests()) <= 6 + MAX_SPARES, "the number of guests is within its maximum");
    } finally {
      await bounded.stop();
    }
  });

  it("occupies all slots of its containers: its neighbours in other containers are served", async () => {
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
    await until(async () => (await used()) === 8, "the token has reached its cap");
    for (let run = 0; run < 10; run++) {
      assert.equal((await service.run(`beside-${run % 2}`, "6 * 7", { token: neighbour })).text, "42");
    }
    assertProblem(await service.run("greedy-0", "6 * 7", { token: greedy }), 429, "container_busy");
    assert.equal(await used(), 8);
    leaving.abort();
    await Promise.all(held);
  });
});
