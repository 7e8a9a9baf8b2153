import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import type { Answer } from "./http.ts";
import { assertProblem } from "./problem.ts";
import { containerRecord, jtiOf, limitRecord, recordOf, tokenRecord, WINDOWS } from "./record.ts";
import { type Service, shareService } from "./service.ts";
import { pause } from "./until.ts";

let service: Service;

before(async () => {
  service = await shareService();
});
after(() => service.stop());

/** Sends runs one after another. @returns their statuses */
async function runs(container: string, token: string, times: number): Promise<number[]> {
  const statuses: number[] = [];
  for (let time = 0; time < times; time += 1) statuses.push((await service.run(container, "1", { token })).status);
  return statuses;
}

describe("the record", () => {
  it("is 0 without a limit, the number of runs left with a limit, and -1 if none is left", async () => {
    const token = await service.issue({
      containers: ["*"],
      limits: { container: { hour: 2, month: 100 }, token: { day: 2 } },
    });
    assert.deepEqual(await containerRecord(service, "semantics", token), limitRecord({ hour: 2, month: 100 }));
    assert.deepEqual(await tokenRecord(service, token), limitRecord({ day: 2 }));
    assert.deepEqual(await runs("semantics", token, 1), [200]);
    assert.deepEqual(await containerRecord(service, "semantics", token), limitRecord({ hour: 1, month: 99 }));
    assert.deepEqual(await tokenRecord(service, token), limitRecord({ day: 1 }));
    assert.deepEqual(await runs("semantics", token, 3), [200, 429, 429]);
    assert.deepEqual(await containerRecord(service, "semantics", token), limitRecord({ hour: -1, month: 98 }));
    assert.deepEqual(await tokenRecord(service, token), limitRecord({ day: -1 }));
  });

  it("is exact in all six windows", async () => {
    const limits = { second: 100, minute: 200, hour: 300, day: 400, week: 500, month: 600 };
    const token = await service.issue({ containers: ["*"], limits: { container: limits, token: limits } });
    await runs("all-windows", token, 3);
    const left = { minute: 197, hour: 297, day: 397, week: 497, month: 597 };
    for (const read of [await containerRecord(service, "all-windows", token), await tokenRecord(service, token)]) {
      assert.ok(read.second >= 97 && read.second <= 100);
      assert.deepEqual({ ...read, second: 0 }, limitRecord(left));
    }
  });

  it("is not changed by reading it", async () => {
    const token = await service.issue({
      containers: ["*"],
      limits: { container: { minute: 1 }, token: { minute: 1 } },
    });
    for (let time = 0; time < 5; time += 1) {
      assert.deepEqual(await containerRecord(service, "read-only", token), limitRecord({ minute: 1 }));
      assert.deepEqual(await tokenRecord(service, token), limitRecord({ minute: 1 }));
    }
    assert.deepEqual(await runs("read-only", token, 1), [200]);
  });

  it("of a container shows the limits that apply to the token that asks", async () => {
    const wide = await service.issue({ containers: ["*"], limits: { container: { day: 10 } } });
    const narrow = await service.issue({ containers: ["*"], limits: { container: { day: 3, week: 7 } } });
    await runs("views", wide, 2);
    assert.deepEqual(await containerRecord(service, "views", wide), limitRecord({ day: 8 }));
    assert.deepEqual(await containerRecord(service, "views", narrow), limitRecord({ day: 1, week: 5 }));
    assert.deepEqual(await containerRecord(service, "views"), limitRecord({}));
  });

  it("of a token is available before its first use, to the token itself and to administrators", async () => {
    const token = await service.issue({ containers: ["*"], limits: { token: { hour: 5 }, container: { hour: 2 } } });
    assert.deepEqual(await tokenRecord(service, token), limitRecord({ hour: 5 }));
    const answer = await service.request("GET", `/api/limits/token/${jtiOf(token)}`);
    assert.deepEqual(recordOf(answer), limitRecord({ hour: 5 }));
  });

  it("of an unknown jti has the defaults of the service, for an administrator", async () => {
    for (const jti of [crypto.randomUUID(), "x", "a%20b", "%C3%BC"]) {
      assert.deepEqual(recordOf(await service.request("GET", `/api/limits/token/${jti}`)), limitRecord({}));
    }
  });
});

describe("the record in detail", () => {
  const untracked = { limit: null, remaining: null, used: 2, resetSeconds: null, setBy: null };

  it("has the limit, the rest, the use and the wait for more of every window, tracked or not", async () => {
    const limits = { container: { hour: 5, week: 2 }, token: { day: 3 } };
    const token = await service.issue({ containers: ["*"], limits });
    const unused = await detail(`container/detail`, token);
    const origin = { setBy: "token", jti: jtiOf(token) };
    assert.deepEqual(unused["hour"], { limit: 5, remaining: 5, used: 0, resetSeconds: 0, ...origin });
    await runs("detail", token, 2);
    const container = await detail("container/detail", token);
    assert.deepEqual(Object.keys(container), WINDOWS);
    const { resetSeconds: hour } = container["hour"]!;
    const { resetSeconds: week } = container["week"]!;
    assert.ok(hour! > 3_500 && hour! <= 3_600 && week! > 604_700 && week! <= 604_800, `${hour} ${week}`);
    assert.deepEqual(container["hour"], { limit: 5, remaining: 3, used: 2, resetSeconds: hour, ...origin });
    assert.deepEqual(container["week"], { limit: 2, remaining: 0, used: 2, resetSeconds: week, ...origin });
    for (const window of ["minute", "day", "month"]) assert.deepEqual(container[window], untracked);
    const own = await detail(`token/${jtiOf(token)}`, token);
    assert.deepEqual([own["day"]!.limit, own["day"]!.remaining, own["day"]!.used], [3, 1, 2]);
    assert.deepEqual(own["hour"], untracked);
  });

  it("shows more use than the limit, and nothing left, if another token may run more", async () => {
    await runs("detail-over", service.admin, 4);
    const token = await service.issue({ containers: ["*"], limits: { container: { month: 2 } } });
    const { limit, remaining, used } = (await detail("container/detail-over", token))["month"]!;
    assert.deepEqual([limit, remaining, used], [2, 0, 4]);
  });

  it("has the headers of the record, changes nothing, and can be the answer to a reset", async () => {
    const token = await service.issue({ containers: ["*"], limits: { container: { day: 4 } } });
    await runs("detail-reset", token, 1);
    const target = "/api/limits/container/detail-reset";
    const plain = await service.request("GET", target, { token });
    const detailed = await service.request("GET", `${target}?detail=true`, { token });
    assert.equal(detailed.headers["ratelimit-policy"], plain.headers["ratelimit-policy"]);
    assert.deepEqual(await containerRecord(service, "detail-reset", token), limitRecord({ day: 3 }));
    const reset = await service.request("DELETE", `${target}?detail=true`);
    assert.deepEqual((reset.json() as Detail)["day"], { ...untracked, used: 0 });
    const again = await service.request("DELETE", `/api/limits/token/${jtiOf(token)}?detail=true`);
    assert.deepEqual((again.json() as Detail)["month"], { ...untracked, used: 0 });
  });

  it("is returned for detail=true only", async () => {
    for (const target of ["container/detail", `token/${jtiOf(service.admin)}`]) {
      recordOf(await service.request("GET", `/api/limits/${target}?detail=false`));
      for (const query of ["detail", "detail=", "detail=1", "detail=TRUE", "detail=true&detail=true"]) {
        const answer = await service.request("GET", `/api/limits/${target}?${query}`);
        assert.match(
          assertProblem(answer, 400, "request_invalid").detail,
          /: detail (?:must be true or false|occurs more than once)/,
          query,
        );
      }
    }
  });
});

type Detail = Record<
  string,
  { limit: number | null; remaining: number | null; used: number; resetSeconds: number | null; setBy: string | null }
>;

async function detail(target: string, token: string): Promise<Detail> {
  const answer = await service.request("GET", `/api/limits/${target}?detail=true`, { token });
  assert.equal(answer.status, 200, answer.text);
  return answer.json() as Detail;
}

describe("the decision", () => {
  it("charges the container and the token, or neither: the token rejects", async () => {
    const token = await service.issue({ containers: ["*"], limits: { container: { day: 10 }, token: { day: 2 } } });
    assert.deepEqual(await runs("atomic-token", token, 5), [200, 200, 429, 429, 429]);
    assert.deepEqual(await containerRecord(service, "atomic-token", token), limitRecord({ day: 8 }));
  });

  it("charges the container and the token, or neither: the container rejects", async () => {
    const token = await service.issue({ containers: ["*"], limits: { container: { day: 2 }, token: { day: 10 } } });
    assert.deepEqual(await runs("atomic-container", token, 5), [200, 200, 429, 429, 429]);
    assert.deepEqual(await tokenRecord(service, token), limitRecord({ day: 8 }));
  });

  it("counts a container over all tokens, and a token over all containers", async () => {
    const claims = { containers: ["*"], limits: { container: { day: 3 }, token: { day: 4 } } };
    const [one, two] = [await service.issue(claims), await service.issue(claims)];
    assert.deepEqual(await runs("shared", one, 2), [200, 200]);
    assert.deepEqual(await runs("shared", two, 2), [200, 429]);
    assert.deepEqual(await runs("shared-2", one, 3), [200, 200, 429]);
    assert.deepEqual(await tokenRecord(service, one), limitRecord({ day: -1 }));
    assert.deepEqual(await tokenRecord(service, two), limitRecord({ day: 3 }));
  });

  it("admits exactly as many runs as the limit, however many arrive at once", async () => {
    const token = await service.issue({ containers: ["*"], limits: { container: { hour: 7 }, token: { hour: 20 } } });
    const answers = await Promise.all(Array.from({ length: 40 }, () => service.run("burst", "1", { token })));
    assert.equal(answers.filter(({ status }) => status === 200).length, 7);
    assert.equal(answers.filter(({ status }) => status === 429).length, 33);
    assert.deepEqual(await tokenRecord(service, token), limitRecord({ hour: 13 }));
  });

  it("counts use in every window, because a limit may be set later, and leaves nothing if the limit is lower", async () => {
    await runs("later", service.admin, 3);
    const narrow = await service.issue({ containers: ["*"], limits: { container: { week: 2, month: 4 } } });
    assert.deepEqual(await containerRecord(service, "later", narrow), limitRecord({ week: -1, month: 1 }));
    assert.deepEqual(await runs("later", narrow, 1), [429]);
  });
});

describe("a throttled run", () => {
  it("receives the reason and the time after which the next run fits", async () => {
    const token = await service.issue({ containers: ["*"], limits: { container: { minute: 1, day: 50 } } });
    await runs("refused", token, 1);
    const answer = await service.run("refused", "1", { token });
    const problem = assertProblem(answer, 429, "container_limited");
    assert.match(problem.detail, /refused/);
    assert.match(problem.detail, /\b1 runs? a minute/);
    const { retryAfterMs } = problem;
    assert.ok(retryAfterMs! > 0 && retryAfterMs! <= 60_000);
    assert.equal(problem.retryAfter, Math.max(1, Math.ceil(retryAfterMs! / 1000)));
    assert.equal(answer.headers["retry-after"], `${problem.retryAfter}`);
    assert.equal(problem.violations!.length, 1);
    const { class: of, window, limit, remaining } = problem.violations![0]!;
    assert.deepEqual({ of, window, limit, remaining }, { of: "container", window: "minute", limit: 1, remaining: 0 });
    assert.ok(answer.headers["caisson-run"]);
  });

  it("succeeds if it is sent again after the reported wait", async () => {
    const token = await service.issue({ containers: ["*"], limits: { token: { second: 1 } } });
    for (let time = 0; time < 3; time += 1) {
      // Both at once, because on a busy machine an answer can take longer than the window.
      const both = await Promise.all([1, 2].map(() => service.run("again", "1", { token })));
      const [admitted, refused] = both.toSorted((one, other) => one.status - other.status);
      assert.equal(admitted!.status, 200, admitted!.text);
      const { retryAfterMs } = assertProblem(refused!, 429, "token_limited");
      assert.equal(refused!.headers["retry-after"], "1");
      // A timer may fire a millisecond early.
      await pause(retryAfterMs! + 2);
    }
  });

  it("receives the longer wait if both reject, and every window that rejects", async () => {
    const limits = { container: { second: 1, hour: 1 }, token: { minute: 1 } };
    const token = await service.issue({ containers: ["*"], limits });
    await runs("both", token, 1);
    const problem = assertProblem(await service.run("both", "1", { token }), 429, "container_limited");
    const windows = problem.violations!.map(
      (violation) => `${String(violation["class"])}-${String(violation["window"])}`,
    );
    assert.ok(windows.includes("container-hour") && windows.includes("token-minute"), windows.join());
    assert.ok(problem.retryAfterMs! > 60_000);
    const other = await service.issue({ containers: ["*"], limits: { container: { minute: 1 }, token: { day: 1 } } });
    await runs("both-2", other, 1);
    assertProblem(await service.run("both-2", "1", { token: other }), 429, "token_limited");
  });

  it("receives where each limit was set, and the token that set it if the caller may know it", async () => {
    const issue = async (by: string, json: object): Promise<string> => {
      const answer = await service.request("POST", "/api/tokens", { token: by, json });
      assert.equal(answer.status, 201, answer.text);
      return (answer.json() as { token: string }).token;
    };
    const parent = await service.issue({
      containers: ["origin"],
      can: ["run", "issue", "limits"],
      depth: 2,
      limits: { token: { hour: 2 }, container: { week: 2 } },
    });
    const token = await issue(parent, { containers: ["origin"], limits: { token: { minute: 2 } } });
    const sibling = await issue(parent, { containers: ["origin"], can: ["run"] });
    await service.request("PUT", "/api/containers/origin", { json: { limits: { day: 2 } } });
    await runs("origin", token, 2);
    const places = async (by: string, code: string): Promise<unknown[]> => {
      const { violations } = assertProblem(await service.run("origin", "1", { token: by }), 429, code);
      return violations!.map(({ class: of, window, setBy, jti }) => [of, window, setBy, jti]);
    };
    assert.deepEqual(await places(token, "container_limited"), [
      ["container", "day", "policy", undefined],
      ["container", "week", "token", jtiOf(parent)],
      ["token", "minute", "token", jtiOf(token)],
      ["token", "hour", "token", jtiOf(parent)],
    ]);
    // The sibling has used nothing itself.
    assert.deepEqual(await places(sibling, "container_limited"), [
      ["container", "day", "policy", undefined],
      ["container", "week", "token", jtiOf(parent)],
      ["token", "hour", "token", jtiOf(parent)],
    ]);
    const shown = (
      await service.request("GET", "/api/limits/container/origin?detail=true", { token: parent })
    ).json() as Detail;
    assert.deepEqual([shown["day"]!.setBy, shown["minute"]!.setBy], ["policy", null]);
  });

  it("receives no jti from a public task", async () => {
    const json = { code: "1", public: true, limits: { token: { day: 1 } } };
    await service.request("PUT", "/api/tasks/origin-task/open", { json });
    const call = (): Promise<Answer> => service.request("POST", "/api/run/origin-task/open", { token: null });
    assert.equal((await call()).status, 200);
    const { violations } = assertProblem(await call(), 429, "token_limited");
    assert.deepEqual(
      violations!.map(({ setBy, jti }) => [setBy, jti]),
      [["token", undefined]],
    );
  });

  it("is not answered with the text of the token", async () => {
    const token = await service.issue({ containers: ["*"], limits: { token: { day: 1 } } });
    await runs("unnamed", token, 1);
    assert.ok(!(await service.run("unnamed", "1", { token })).text.includes(token));
  });
});

describe("a reset", () => {
  it("clears all six windows of a container at once, and nothing of a token", async () => {
    const limits = { container: { minute: 1, month: 1 }, token: { day: 5 } };
    const token = await service.issue({ containers: ["*"], limits });
    assert.deepEqual(await runs("cleared", token, 2), [200, 429]);
    recordOf(await service.request("DELETE", "/api/limits/container/cleared"));
    assert.deepEqual(await containerRecord(service, "cleared", token), limitRecord({ minute: 1, month: 1 }));
    assert.deepEqual(await tokenRecord(service, token), limitRecord({ day: 4 }));
    assert.deepEqual(await runs("cleared", token, 2), [200, 429]);
  });

  it("clears a token, returns its record, and clears nothing of a container", async () => {
    const token = await service.issue({
      containers: ["*"],
      limits: { container: { day: 5 }, token: { hour: 1, week: 1 } },
    });
    assert.deepEqual(await runs("kept", token, 2), [200, 429]);
    const answer = await service.request("DELETE", `/api/limits/token/${jtiOf(token)}`);
    assert.deepEqual(recordOf(answer), limitRecord({ hour: 1, week: 1 }));
    assert.deepEqual(await containerRecord(service, "kept", token), limitRecord({ day: 4 }));
    assert.deepEqual(await runs("kept", token, 2), [200, 429]);
  });

  it("can be repeated, and can be sent for a container or token without counts", async () => {
    for (const target of ["container/never-used", `token/${crypto.randomUUID()}`]) {
      for (let time = 0; time < 2; time += 1) {
        assert.deepEqual(recordOf(await service.request("DELETE", `/api/limits/${target}`)), limitRecord({}));
      }
    }
  });

  it("is logged for audit, with the administrator's token", async () => {
    await service.request("DELETE", "/api/limits/container/reset-and-logged");
    const line = await service.logLine((text) => text.includes("reset-and-logged"));
    assert.match(line, /reset/);
    assert.ok(line.includes(jtiOf(service.admin)));
  });

  it("is for administrators only; other tokens change nothing", async () => {
    const token = await service.issue({ containers: ["*"], limits: { container: { day: 5 } } });
    await runs("guarded", token, 1);
    assertProblem(await service.request("DELETE", "/api/limits/container/guarded", { token }), 403, "token_forbidden");
    assertProblem(
      await service.request("DELETE", `/api/limits/token/${jtiOf(token)}`, { token }),
      403,
      "token_forbidden",
    );
    assert.deepEqual(await containerRecord(service, "guarded", token), limitRecord({ day: 4 }));
  });
});
