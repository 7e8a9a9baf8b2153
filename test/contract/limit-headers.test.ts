import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import type { Answer } from "./http.ts";
import { containerRecord, jtiOf, limitRecord, recordOf, tokenRecord } from "./record.ts";
import { NO_WALL, type Service, startService } from "./service.ts";
import { parseMembers } from "./structured.ts";

const WINDOW_S: Record<string, number> = {
  second: 1,
  minute: 60,
  hour: 3_600,
  day: 86_400,
  week: 604_800,
  month: 2_678_400,
};
const LIMITS = { container: { minute: 10, day: 100 }, token: { hour: 30, week: 31 } };

let service: Service;

before(async () => {
  service = await startService([
    ...NO_WALL,
    "--container-limit",
    "minute=5",
    "--token-limit",
    "hour=400",
    "--token-limit",
    "day=900",
  ]);
});
after(() => service.stop());

function policyOf(answer: Answer): Record<string, [number | undefined, number | undefined]> {
  const members = parseMembers(answer.headers["ratelimit-policy"]!);
  return Object.fromEntries(members.map(({ name, parameters }) => [name, [parameters["q"], parameters["w"]]]));
}

describe("the defaults of the service", () => {
  it("apply to every container and every token, known or unknown", async () => {
    const token = await service.issue({ containers: ["*"] });
    assert.deepEqual(await containerRecord(service, "fresh", token), limitRecord({ minute: 5 }));
    assert.deepEqual(await containerRecord(service, "fresh"), limitRecord({ minute: 5 }));
    assert.deepEqual(await tokenRecord(service, token), limitRecord({ hour: 400, day: 900 }));
    const unknown = await service.request("GET", `/api/limits/token/${crypto.randomUUID()}`);
    assert.deepEqual(recordOf(unknown), limitRecord({ hour: 400, day: 900 }));
  });

  it("can be lowered by the claims of a token and never raised: the lowest limit applies", async () => {
    const wide = { container: { minute: 6, day: 7 }, token: { hour: 1_000, second: 3 } };
    const token = await service.issue({ containers: ["*"], limits: wide });
    assert.deepEqual(await containerRecord(service, "smallest", token), limitRecord({ minute: 5, day: 7 }));
    assert.deepEqual(await tokenRecord(service, token), limitRecord({ second: 3, hour: 400, day: 900 }));
    const narrow = { container: { minute: 2 }, token: { hour: 4 } };
    const other = await service.issue({ containers: ["*"], limits: narrow });
    assert.deepEqual(await containerRecord(service, "smallest", other), limitRecord({ minute: 2 }));
    assert.deepEqual(await tokenRecord(service, other), limitRecord({ hour: 4, day: 900 }));
  });

  it("apply to administrators too", async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => service.run("for-all", "1")));
    assert.equal(answers.filter(({ status }) => status === 200).length, 5);
  });
});

describe("RateLimit-Policy and RateLimit", () => {
  it("are structured fields with every tracked window, and with the window of each class that has the least left", async () => {
    const token = await service.issue({ containers: ["*"], limits: LIMITS });
    const answer = await service.run("fields", "1", { token });
    assert.deepEqual(policyOf(answer), {
      "container-minute": [5, WINDOW_S["minute"]],
      "container-day": [100, WINDOW_S["day"]],
      "token-hour": [30, WINDOW_S["hour"]],
      "token-day": [900, WINDOW_S["day"]],
      "token-week": [31, WINDOW_S["week"]],
    });
    const members = parseMembers(answer.headers["ratelimit"]!);
    assert.deepEqual(
      members.map(({ name, parameters }) => [name, parameters["r"]]),
      [
        ["container-minute", 4],
        ["token-hour", 29],
      ],
    );
    for (const { parameters } of members) assert.ok(parameters["t"] === undefined || parameters["t"] >= 0);
  });

  it("are on every answer to an authorized run or reading of limits, successful or not", async () => {
    const token = await service.issue({ containers: ["*"], limits: LIMITS });
    const container = { token, query: { task_url: "http://10.0.0.1/" } };
    const answers: [number, Answer][] = [
      [200, await service.run("everywhere", "1", { token })],
      [400, await service.run("everywhere", "const =", { token })],
      [400, await service.run("everywhere", "", { token })],
      [400, await service.request("GET", "/api/run/everywhere", container)],
      [500, await service.run("everywhere", "throw 1", { token })],
      [404, await service.run("everywhere", "new Response('', { status: 404 })", { token })],
      [429, await service.run("everywhere", "1", { token })],
      [200, await service.request("GET", "/api/limits/container/everywhere", { token })],
      [200, await service.request("DELETE", "/api/limits/container/everywhere")],
    ];
    for (const [status, answer] of answers) {
      assert.equal(answer.status, status, answer.text);
      assert.deepEqual(policyOf(answer)["container-minute"], [5, 60]);
      const least = parseMembers(answer.headers["ratelimit"]!)[0]!;
      assert.equal(least.name, "container-minute");
      if (status === 429) assert.equal(least.parameters["r"], 0);
    }
    const read = await service.request("GET", `/api/limits/token/${jtiOf(token)}`, { token });
    assert.deepEqual(policyOf(read)["token-hour"], [30, 3600]);
  });

  it("report how long until more runs fit, if nothing is left", async () => {
    const token = await service.issue({ containers: ["*"], limits: { container: { minute: 1 } } });
    await service.run("spent", "1", { token });
    const answer = await service.run("spent", "1", { token });
    const least = parseMembers(answer.headers["ratelimit"]!)[0]!;
    assert.equal(least.parameters["r"], 0);
    assert.equal(least.parameters["t"], Number(answer.headers["retry-after"]));
  });
});
