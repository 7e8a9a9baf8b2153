import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { after, before, describe, it } from "node:test";

import { assertProblem } from "./problem.ts";
import { containerRecord, jtiOf, type LimitRecord, limitRecord } from "./record.ts";
import { type Home, leave, makeHome, NO_WALL, type Service, startService } from "./service.ts";
import { until } from "./until.ts";

const FLAGS = [...NO_WALL, "--container-limit", "day=50", "--container-limit", "month=500", "--token-limit", "day=40"];

interface Entry {
  container: string;
  limits: Partial<LimitRecord>;
  policy: { limits: Partial<LimitRecord> };
  used: LimitRecord;
  parties: number;
  running: number;
}

let home: Home;
let service: Service;

before(async () => {
  home = await makeHome();
  service = await startService(FLAGS, home);
});
after(() => leave(service, home));

async function set(container: string, policy: unknown): Promise<unknown> {
  const answer = await service.request("PUT", `/api/containers/${container}`, { json: policy });
  assert.equal(answer.status, 200, answer.text);
  return answer.json();
}

async function get(container: string): Promise<unknown> {
  const answer = await service.request("GET", `/api/containers/${container}`);
  assert.equal(answer.status, 200, answer.text);
  assert.match(answer.headers["content-type"]!, /^application\/json\b/);
  return answer.json();
}

async function list(query: Record<string, string> = {}): Promise<{ containers: Entry[]; next: string | null }> {
  const answer = await service.request("GET", "/api/containers", { query });
  assert.equal(answer.status, 200, answer.text);
  return answer.json() as { containers: Entry[]; next: string | null };
}

async function entry(container: string): Promise<Entry | undefined> {
  return (await list({ limit: "1000" })).containers.find((each) => each.container === container);
}

const NOTHING_ELSE = { labels: {}, description: null, suspended: null };

/** What an answer has for a container with these limits and nothing else. */
function policyOf(limits: object): object {
  return { limits, ...NOTHING_ELSE };
}

/** What the list has for that container. */
function entryOf(limits: object): object {
  return { limits, policy: { limits }, ...NOTHING_ELSE };
}

describe("the policy of a container", () => {
  it("is the policy that was set last, until it is removed", async () => {
    assert.deepEqual(await get("set"), policyOf({}));
    assert.deepEqual(await set("set", { limits: { minute: 60, day: 9 } }), policyOf({ minute: 60, day: 9 }));
    assert.deepEqual(await get("set"), policyOf({ minute: 60, day: 9 }));
    assert.deepEqual(await set("set", { limits: { hour: 3, day: null } }), policyOf({ hour: 3 }));
    assert.deepEqual(await get("set"), policyOf({ hour: 3 }));
    for (let time = 0; time < 2; time++) {
      const answer = await service.request("DELETE", "/api/containers/set");
      assert.equal(answer.status, 200);
      assert.deepEqual(answer.json(), policyOf({}));
    }
    assert.deepEqual(await get("set"), policyOf({}));
  });

  it("applies to the next run of every token, and the lowest limit applies", async () => {
    const token = await service.issue({ containers: ["*"], limits: { container: { hour: 2, day: 60 } } });
    assert.equal((await service.run("force", "1", { token })).status, 200);
    assert.deepEqual(await containerRecord(service, "force", token), limitRecord({ hour: 1, day: 49, month: 499 }));
    await set("force", { limits: { minute: 1, hour: 5, month: 90 } });
    assert.deepEqual(
      await containerRecord(service, "force", token),
      limitRecord({ minute: -1, hour: 1, day: 49, month: 89 }),
    );
    for (const each of [token, service.admin]) {
      const refused = await service.run("force", "1", { token: each });
      const problem = assertProblem(refused, 429, "container_limited");
      assert.match(problem.detail, /1 run a minute/);
      assert.match(refused.headers["ratelimit-policy"]!, /"container-minute";q=1;w=60/);
      assert.match(refused.headers["ratelimit-policy"]!, /"container-month";q=90;/);
    }
    await set("force", { limits: { minute: 4 } });
    const admitted = await service.run("force", "1");
    assert.equal(admitted.status, 200);
    assert.match(admitted.headers["ratelimit-policy"]!, /"container-minute";q=4;w=60/);
    await service.request("DELETE", "/api/containers/force");
    assert.deepEqual(await containerRecord(service, "force", token), limitRecord({ hour: -1, day: 48, month: 498 }));
  });

  it("applies to that container only", async () => {
    await set("alone", { limits: { minute: 1 } });
    assert.deepEqual(await containerRecord(service, "alone-2"), limitRecord({ day: 50, month: 500 }));
    assert.deepEqual(await containerRecord(service, "Alone"), limitRecord({ day: 50, month: 500 }));
    assert.deepEqual(await containerRecord(service, "alone"), limitRecord({ minute: 1, day: 50, month: 500 }));
  });

  it("is not changed by a reset of the counts", async () => {
    await set("reset", { limits: { minute: 1 } });
    assert.equal((await service.run("reset", "1")).status, 200);
    await service.request("DELETE", "/api/limits/container/reset");
    assert.deepEqual(await containerRecord(service, "reset"), limitRecord({ minute: 1, day: 50, month: 500 }));
  });

  for (const end of ["stop", "kill9"] as const) {
    it(`survives ${end}, and its removal survives too`, async () => {
      await set(`kept-${end}`, { limits: { week: 7 } });
      await set(`gone-${end}`, { limits: { week: 7 } });
      await service.request("DELETE", `/api/containers/gone-${end}`);
      await service[end]();
      service = await startService(FLAGS, home);
      assert.deepEqual(await get(`kept-${end}`), policyOf({ week: 7 }));
      assert.deepEqual(await get(`gone-${end}`), policyOf({}));
      assert.deepEqual(await containerRecord(service, `kept-${end}`), limitRecord({ day: 50, week: 7, month: 500 }));
    });
  }

  it("is logged for audit, with the administrator's token and the policy", async () => {
    await set("audited", { limits: { second: 77 } });
    await service.request("DELETE", "/api/containers/audited");
    const line = await service.logLine((text) => text.includes("audited") && text.includes("policy set"));
    assert.ok(line.includes('"second":77') && line.includes(jtiOf(service.admin)), line);
    const removed = await service.logLine((text) => text.includes("audited") && text.includes("policy removed"));
    assert.ok(removed.includes(jtiOf(service.admin)), removed);
  });

  it("is rejected with all faults at once", async () => {
    const json = { limits: { minute: 0, days: 1, hour: "5" }, wall: "10s" };
    const answer = await service.request("PUT", "/api/containers/faulty", { json });
    const problem = assertProblem(answer, 400, "request_invalid");
    const members = problem.violations!.map(({ member }) => String(member));
    assert.deepEqual(members.toSorted(), ["limits.days", "limits.hour", "limits.minute", "wall"]);
    assert.deepEqual(await get("faulty"), policyOf({}));
  });

  for (const body of ["", "{", "minute=60", "null", "[]", `{"limits":${"[".repeat(100)}`, " ".repeat(70_000)]) {
    it(`cannot be ${JSON.stringify(body.slice(0, 20))}, of ${body.length} characters`, async () => {
      assertProblem(await service.request("PUT", "/api/containers/demo", { body }), 400, "request_invalid");
    });
  }
});

describe("the list of containers", () => {
  it("has each container with a policy, with use or with a guest, and its policy, use and guests", async () => {
    await set("listed-set", { limits: { minute: 5 } });
    const token = await service.issue({ containers: ["*"] });
    for (let run = 0; run < 2; run++) assert.equal((await service.run("listed-used", "1", { token })).status, 200);
    assert.deepEqual(await entry("listed-set"), {
      container: "listed-set",
      ...entryOf({ minute: 5 }),
      used: limitRecord({}),
      parties: 0,
      running: 0,
    });
    const { used, ...rest } = (await entry("listed-used"))!;
    assert.deepEqual(rest, { container: "listed-used", ...entryOf({}), parties: 1, running: 0 });
    assert.ok(used.second <= 2);
    assert.deepEqual({ ...used, second: 2 }, { second: 2, minute: 2, hour: 2, day: 2, week: 2, month: 2 });
    // Only its policy and its record were read before.
    await get("listed-read");
    await containerRecord(service, "listed-read");
    assert.equal(await entry("listed-read"), undefined);
  });

  it("reports runs in flight, also of a container whose counts were reset", async () => {
    const leaving = new AbortController();
    const waits = "(context) => new Promise((end) => context.signal.addEventListener('abort', end))";
    const running = service.run("listed-running", waits, { signal: leaving.signal }).catch(() => {});
    await until(async () => (await entry("listed-running"))?.running === 1, "the run is in flight");
    await service.request("DELETE", "/api/limits/container/listed-running");
    const { used, running: inFlight } = (await entry("listed-running"))!;
    assert.deepEqual({ used, inFlight }, { used: limitRecord({}), inFlight: 1 });
    leaving.abort();
    await running;
  });

  it("comes in pages that together have each container once, in order", async () => {
    for (const name of ["page-c", "page-a", "page-B"]) await set(name, { limits: { day: 1 } });
    await service.run("page-a", "1");
    const names: string[] = [];
    let cursor: string | null = "";
    do {
      const page: { containers: Entry[]; next: string | null } = await list({ limit: "2", ...(cursor && { cursor }) });
      assert.ok(page.containers.length <= 2);
      names.push(...page.containers.map(({ container }) => container));
      cursor = page.next;
    } while (cursor !== null);
    assert.deepEqual(names, [...new Set(names)].toSorted());
    assert.deepEqual(
      names,
      (await list({ limit: "1000" })).containers.map(({ container }) => container),
    );
    for (const name of ["page-B", "page-a", "page-c"]) assert.ok(names.includes(name));
  });

  it("shows a token that may issue only the containers that it permits", async () => {
    for (const name of ["own-set", "own-other", "other-set", "own"]) await set(name, { limits: { day: 40 } });
    for (const name of ["own-run", "single", "other-run", "own-other"]) await service.run(name, "1");
    const listedFor = async (containers: string[], query: Record<string, string> = {}): Promise<string[]> => {
      const token = await service.issue({ containers, can: ["issue"], depth: 1 });
      const names: string[] = [];
      for (let next: string | null = ""; next !== null;) {
        const cursor = next && { cursor: next };
        const answer = await service.request("GET", "/api/containers", { query: { ...query, ...cursor }, token });
        assert.equal(answer.status, 200, answer.text);
        const page = answer.json() as { containers: Entry[]; next: string | null };
        for (const each of page.containers) {
          const { used, ...rest } = (await entry(each.container))!;
          // The second may have passed since.
          assert.deepEqual(each, { ...rest, used: { ...used, second: each.used.second } });
        }
        names.push(...page.containers.map(({ container }) => container));
        next = page.next;
      }
      return names;
    };
    const own = ["own-other", "own-run", "own-set"];
    for (const limit of ["1", "2", "100"]) {
      assert.deepEqual(await listedFor(["own-*"], { limit }), own);
      assert.deepEqual(await listedFor(["single", "own-*", "own-set", "unused", "own-o*"], { limit }), [
        ...own,
        "single",
      ]);
      assert.deepEqual(await listedFor(["other-set", "single", "unused"], { limit }), ["other-set", "single"]);
    }
    const all = (await list({ limit: "1000" })).containers.map(({ container }) => container);
    assert.deepEqual(await listedFor(["*"], { limit: "1000" }), all);
    const token = await service.issue({ containers: ["own-*"], can: ["issue"] });
    assertProblem(await service.request("GET", "/api/containers/own-set", { token }), 403, "token_forbidden");
  });

  for (const query of [
    { limit: "0" },
    { limit: "1001" },
    { limit: "-1" },
    { limit: "1e2" },
    { limit: "" },
    { page: "2" },
    { Limit: "2" },
  ]) {
    it(`rejects the query ${JSON.stringify(query)}`, async () => {
      assertProblem(await service.request("GET", "/api/containers", { query }), 400, "request_invalid");
    });
  }

  it("rejects a query with two limits", async () => {
    assertProblem(await service.request("GET", "/api/containers?limit=1&limit=2"), 400, "request_invalid");
  });
});

describe("the policy and the list", () => {
  it("are for administrators, except for the list of a token that may issue", async () => {
    const token = await service.issue({ containers: ["*"], can: ["run", "limits"] });
    for (const [method, target] of [
      ["GET", "/api/containers"],
      ["GET", "/api/containers/mine"],
      ["PUT", "/api/containers/mine"],
      ["PATCH", "/api/containers/mine"],
      ["DELETE", "/api/containers/mine"],
      ["POST", "/api/containers/mine/suspend"],
      ["POST", "/api/containers/mine/resume"],
      ["POST", "/api/containers/mine/restart"],
    ] as const) {
      const json = { limits: { minute: 1 } };
      const body = method.startsWith("P") ? { json } : {};
      assertProblem(await service.request(method, target, { token, ...body }), 403, "token_forbidden");
      assertProblem(await service.request(method, target, { token: null, ...body }), 403, "token_missing");
    }
    assert.deepEqual(await get("mine"), policyOf({}));
  });

  it("check the name after the token, and before the permission of the token", async () => {
    const token = await service.issue({ containers: ["*"] });
    for (const method of ["GET", "PUT", "PATCH", "DELETE"]) {
      for (const name of ["-a", "..", "a%2Fb", "%ff", "x".repeat(129)]) {
        const target = `/api/containers/${name}`;
        assertProblem(await service.request(method, target, { token, json: {} }), 400, "container_invalid");
        assertProblem(await service.request(method, target, { token: "x", json: {} }), 403, "token_invalid");
      }
    }
    assert.deepEqual(await get("%6dine"), policyOf({}));
  });

  it("answer preflight requests of browsers", async () => {
    const answer = await service.request("OPTIONS", "/api/containers/demo", { token: null });
    assert.equal(answer.status, 204);
    assert.equal(answer.headers["access-control-allow-methods"], "GET, PUT, PATCH, DELETE");
    assert.equal(answer.headers["access-control-allow-origin"], "*");
  });
});

describe("a damaged file of policies", () => {
  it("stops the start with the name of the file and the fix", async () => {
    await using place = await makeHome();
    await (await startService(NO_WALL, place)).stop();
    const file = path.join(place.data, "policies.sqlite");
    await writeFile(file, "no database ".repeat(1_000));
    await assert.rejects(
      startService(NO_WALL, place),
      /policies\.sqlite cannot be used: .* restore it from a backup, or remove it/s,
    );
  });
});
