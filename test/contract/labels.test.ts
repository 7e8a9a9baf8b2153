import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import type { AuditEntry } from "../../src/records/audit/audit.ts";
import type { Answer, RequestOptions } from "./http.ts";
import { assertProblem } from "./problem.ts";
import { containerRecord, jtiOf, limitRecord } from "./record.ts";
import { type Service, shareService } from "./service.ts";

const LABELS = { team: "billing", "cost-center_1.a": "", note: 'a=b, "ü"\n' };
const TOO_MANY = Object.fromEntries(Array.from({ length: 17 }, (_, at) => [`label-${at}`, "x"]));
/** Labels that are not valid, and the members that the error names. */
const INVALID: readonly (readonly [labels: unknown, members: readonly string[]])[] = [
  [{ Team: "x" }, ["labels.Team"]],
  [{ "": "x", "a b": "x", ä: "x" }, ["labels.", "labels.a b", "labels.ä"]],
  [{ ["x".repeat(33)]: "x" }, [`labels.${"x".repeat(33)}`]],
  [{ team: "x".repeat(129), env: 1 }, ["labels.env", "labels.team"]],
  [TOO_MANY, ["labels"]],
  [["team"], ["labels"]],
  ["team=billing", ["labels"]],
  [JSON.parse('{"__proto__": "x"}'), ["labels.__proto__"]],
];

let service: Service;

before(async () => {
  service = await shareService();
});
after(() => service.stop());

async function ok(method: string, target: string, options: RequestOptions = {}): Promise<Record<string, unknown>> {
  const answer = await service.request(method, target, options);
  assert.ok(answer.status < 300, `${method} ${target}: ${answer.text}`);
  return answer.json() as Record<string, unknown>;
}

function membersOf(answer: Answer): string[] {
  const { violations } = assertProblem(answer, 400, "request_invalid");
  return violations!.map(({ member }) => String(member)).toSorted();
}

/** Returns the names of the entries of a list, over all pages. */
async function listed(target: string, list: string, name: (entry: never) => string, token?: string): Promise<string[]> {
  const names: string[] = [];
  for (let next: string | null = ""; next !== null;) {
    const cursor: string = next ? `&cursor=${encodeURIComponent(next)}` : "";
    const page = await ok("GET", `${target}&limit=2${cursor}`, token === undefined ? {} : { token });
    names.push(...(page[list] as never[]).map(name));
    next = page["next"] as string | null;
  }
  return names.toSorted();
}

/** Returns what describes a token or a task. */
function describing(found: unknown): unknown[] {
  const { labels, description } = found as { labels: unknown; description: unknown };
  return [labels, description];
}

function versioned(found: Record<string, unknown>): unknown[] {
  return [found["version"], ...describing(found)];
}

describe("labels and a description of a token", () => {
  it("are claims that each answer about the token shows", async () => {
    const json = { containers: ["demo"], labels: LABELS, description: "for invoices" };
    const { jti, claims, token } = await ok("POST", "/api/tokens", { json });
    assert.deepEqual(describing(claims), [LABELS, "for invoices"]);
    assert.equal((await service.run("demo", "1", { token: String(token) })).status, 200);
    const form = { body: `token=${String(token)}`, headers: { "Content-Type": "application/x-www-form-urlencoded" } };
    assert.deepEqual(describing(await ok("POST", "/api/tokens/introspect", form)), [LABELS, "for invoices"]);
    assert.deepEqual(describing((await ok("GET", `/api/tokens/${String(jti)}`))["claims"]), [LABELS, "for invoices"]);
    const plain = await ok("POST", "/api/tokens", { json: { containers: ["demo"] } });
    assert.deepEqual(describing(plain["claims"]), [{}, null]);
  });

  it("are not inherited by the tokens below it, which set their own", async () => {
    const head = { containers: ["*"], can: ["run", "issue"], depth: 1, labels: LABELS, description: "head" };
    const { token } = await ok("POST", "/api/tokens", { json: head });
    const below = { containers: ["demo"], labels: { team: "other" } };
    const { claims } = await ok("POST", "/api/tokens", { json: below, token: String(token) });
    const { labels, description } = claims as { labels: object; description: unknown };
    assert.deepEqual([labels, description], [{ team: "other" }, null]);
  });

  it("filter the list of tokens, together with its other filters and for the tokens below", async () => {
    const head = await service.issue({ containers: ["*"], can: ["run", "issue"], depth: 1 });
    const made: Record<string, string> = {};
    for (const [name, containers, labels] of [
      ["a", ["filter-a"], { team: "red", env: "prod" }],
      ["b", ["filter-b"], { team: "red", env: "test" }],
      ["c", ["filter-a"], { team: "blue" }],
      ["d", ["filter-a"], {}],
    ] as const) {
      const { jti } = await ok("POST", "/api/tokens", { json: { containers, labels }, token: head });
      made[String(jti)] = name;
    }
    const labelOf = ({ jti }: { jti: string }): string => made[jti] ?? "another";
    const cases: [string, string[]][] = [
      ["label=team=red", ["a", "b"]],
      ["label=team", ["a", "b", "c"]],
      ["label=team%3Dred&label=env=prod", ["a"]],
      ["label=team=red&label=team=blue", []],
      ["label=team&container=filter-a", ["a", "c"]],
      ["label=team=", []],
      ["label=constructor", []],
    ];
    for (const [query, names] of cases) {
      for (const token of [undefined, head]) {
        const found = await listed(`/api/tokens?${query}`, "tokens", labelOf, token);
        assert.deepEqual(
          found.filter((name) => name !== "another"),
          names,
          query,
        );
      }
    }
  });

  for (const [labels, members] of INVALID) {
    it(`are rejected as ${JSON.stringify(labels).slice(0, 40)}`, async () => {
      const json = { containers: ["demo"], labels };
      assert.deepEqual(membersOf(await service.request("POST", "/api/tokens", { json })), members);
    });
  }

  it("count toward the length of the token, and the error names them", async () => {
    const labels = Object.fromEntries(Array.from({ length: 16 }, (_, at) => [`l${at}`, "\u{20ac}".repeat(128)]));
    const answer = await service.request("POST", "/api/tokens", { json: { containers: ["demo"], labels } });
    assert.deepEqual(membersOf(answer), ["labels"]);
    const description = "x".repeat(513);
    const long = await service.request("POST", "/api/tokens", { json: { containers: ["demo"], description } });
    assert.deepEqual(membersOf(long), ["description"]);
  });
});

describe("labels and a description of a task", () => {
  it("stay until they are set again, and null removes them; each change is a new version", async () => {
    const target = "/api/tasks/tasks/hook";
    const first = await ok("PUT", target, { json: { code: "1", labels: LABELS, description: "a hook" } });
    assert.deepEqual(versioned(first), [1, LABELS, "a hook"]);
    assert.deepEqual(versioned(await ok("PUT", target, { json: { code: "2" } })), [2, LABELS, "a hook"]);
    assert.deepEqual(versioned(await ok("PUT", target, { json: { labels: LABELS } })), [2, LABELS, "a hook"]);
    assert.deepEqual(versioned(await ok("PUT", target, { json: { labels: { env: "test" } } })), [
      3,
      { env: "test" },
      "a hook",
    ]);
    assert.deepEqual(versioned(await ok("PUT", target, { json: { labels: null, description: null } })), [4, {}, null]);
    assert.deepEqual(versioned(await ok("GET", target)), [4, {}, null]);
    const back = await ok("POST", `${target}/rollback`, { json: { version: 1 } });
    assert.deepEqual(versioned(back), [5, LABELS, "a hook"]);
    const { versions } = await ok("GET", `${target}/versions`);
    assert.deepEqual(
      (versions as { labels: object }[]).map(({ labels }) => Object.keys(labels).length),
      [3, 0, 1, 3, 3],
    );
    assert.equal((await service.request("GET", "/api/run/tasks/hook")).json(), 1);
  });

  it("filter the list of a container", async () => {
    for (const [name, labels] of Object.entries({
      a: { team: "red" },
      b: { team: "blue" },
      c: {},
      d: { team: "red" },
    })) {
      await ok("PUT", `/api/tasks/filtered/${name}`, { json: { code: "1", labels } });
    }
    assert.deepEqual(await listed("/api/tasks/filtered?label=team=red", "tasks", nameOf), ["a", "d"]);
    assert.deepEqual(await listed("/api/tasks/filtered?label=team", "tasks", nameOf), ["a", "b", "d"]);
    assert.deepEqual(await listed("/api/tasks/filtered?label=other", "tasks", nameOf), []);
  });

  it("are rejected together with the other faults", async () => {
    const json = { code: "", labels: { Team: "x" }, description: 5 };
    const answer = await service.request("PUT", "/api/tasks/tasks/faulty", { json });
    assert.deepEqual(membersOf(answer), ["code", "description", "labels.Team"]);
  });
});

describe("PATCH of a container", () => {
  it("changes the members that it names, and null removes them; PUT replaces the limits alone", async () => {
    const none = { suspended: null };
    const first = { limits: { minute: 6, day: 9 }, labels: { team: "red", env: "test" }, description: "one", ...none };
    assert.deepEqual(await patched("one", { ...first, suspended: undefined }), first);
    const second = { ...first, limits: { hour: 7, day: 9 }, labels: { team: "red", tier: "gold" } };
    assert.deepEqual(
      await patched("one", { limits: { minute: null, hour: 7 }, labels: { env: null, tier: "gold" } }),
      second,
    );
    assert.deepEqual(await containerRecord(service, "one"), limitRecord({ hour: 7, day: 9 }));
    assert.deepEqual(await patched("one", {}), second);
    assert.deepEqual(await ok("PUT", "/api/containers/one", { json: { limits: { week: 5 } } }), {
      ...second,
      limits: { week: 5 },
    });
    assert.deepEqual(await patched("one", { description: null, limits: null }), {
      ...{ limits: {}, labels: { team: "red", tier: "gold" }, description: null, ...none },
    });
    assert.deepEqual(((await ok("GET", "/api/containers/one")) as { labels: object }).labels, second.labels);
    assert.deepEqual(await patched("one", { labels: null }), { limits: {}, labels: {}, description: null, ...none });
    assert.deepEqual(await listed("/api/containers?label=team", "containers", containerOf), []);
  });

  it("is a merge patch in JSON", async () => {
    const body = '{"labels": {"team": "red"}}';
    for (const type of [
      "application/merge-patch+json",
      "Application/JSON; charset=utf-8",
      "application/x-www-form-urlencoded",
    ]) {
      const answer = await service.request("PATCH", "/api/containers/types", {
        body,
        headers: { "Content-Type": type },
      });
      assert.equal(answer.status, 200, type);
    }
    for (const type of ["application/json-patch+json", "text/plain"]) {
      const answer = await service.request("PATCH", "/api/containers/types", {
        body,
        headers: { "Content-Type": type },
      });
      assert.match(assertProblem(answer, 400, "request_invalid").detail, /merge patch/);
    }
    for (const each of ["", "[]", "null", "5", '"x"', "{", '{"labels": {}, "labels": {}}']) {
      const answer = await service.request("PATCH", "/api/containers/types", { body: each });
      assertProblem(answer, 400, "request_invalid");
    }
  });

  it("is rejected with all faults at once, and changes nothing", async () => {
    const json = { limits: { day: 0, days: 1 }, labels: { Team: "x" }, description: {}, suspended: true, wall: "1s" };
    assert.deepEqual(membersOf(await patch("faulty", json)), [
      "description",
      "labels.Team",
      "limits.day",
      "limits.days",
      "suspended",
      "wall",
    ]);
    const put = await service.request("PUT", "/api/containers/faulty", { json: { labels: {} } });
    assert.match(assertProblem(put, 400, "request_invalid").detail, /labels is set with PATCH/);
    await patched("faulty", { labels: Object.fromEntries(Object.entries(TOO_MANY).slice(1)) });
    assert.deepEqual(membersOf(await patch("faulty", { labels: { "label-0": "x" } })), ["labels"]);
    const { labels } = (await ok("GET", "/api/containers/faulty")) as { labels: object };
    assert.equal(Object.keys(labels).length, 16);
  });

  it("is audited with the policy after it, unless it changes nothing", async () => {
    for (let time = 0; time < 2; time++) await patched("audited", { labels: { team: "red" } });
    const { entries } = (await ok("GET", "/api/audit", { query: { action: "policy changed" } })) as {
      entries: AuditEntry[];
    };
    const own = entries.filter(({ details }) => details["container"] === "audited");
    assert.deepEqual(
      own.map(({ by, details }) => [by, details]),
      [
        [
          jtiOf(service.admin),
          { container: "audited", policy: { limits: {}, labels: { team: "red" }, description: null } },
        ],
      ],
    );
  });

  it("makes the list of containers filterable, also for a token that may issue", async () => {
    await patched("list-a", { labels: { team: "green", env: "prod" } });
    await patched("list-b", { labels: { team: "green" }, description: "b" });
    await patched("other-c", { labels: { team: "green" } });
    await patched("list-d", { limits: { day: 5 } });
    await service.run("list-e", "1");
    assert.deepEqual(await listedContainers("label=team=green"), ["list-a", "list-b", "other-c"]);
    assert.deepEqual(await listedContainers("label=team=green&label=env"), ["list-a"]);
    const token = await service.issue({ containers: ["list-*"], can: ["issue"], depth: 1 });
    assert.deepEqual(await listedContainers("label=team", token), ["list-a", "list-b"]);
    const { containers: page } = (await ok("GET", "/api/containers?label=team&cursor=list-a&limit=1", { token })) as {
      containers: Record<string, unknown>[];
    };
    const [{ used: _, ...entry }] = page as [Record<string, unknown>];
    const nothing = { limits: {}, policy: { limits: {} }, suspended: null, parties: 0, running: 0 };
    assert.deepEqual(entry, { container: "list-b", labels: { team: "green" }, description: "b", ...nothing });
  });

  for (const query of [
    "label=",
    "label=Team",
    "label==x",
    "label=a%20b",
    "label=__proto__",
    "Label=a",
    "label=a&".repeat(17),
  ]) {
    it(`is no filter as ${query.slice(0, 20)} in any list`, async () => {
      for (const target of ["/api/containers", "/api/tokens", "/api/tasks/demo"]) {
        assertProblem(await service.request("GET", `${target}?${query}`), 400, "request_invalid");
      }
    });
  }
});

function containerOf({ container }: { container: string }): string {
  return container;
}

function nameOf({ name }: { name: string }): string {
  return name;
}

function listedContainers(query: string, token?: string): Promise<string[]> {
  return listed(`/api/containers?${query}`, "containers", containerOf, token);
}

function patch(container: string, json: unknown): Promise<Answer> {
  return service.request("PATCH", `/api/containers/${container}`, { json });
}

async function patched(container: string, json: unknown): Promise<unknown> {
  const answer = await patch(container, json);
  assert.equal(answer.status, 200, answer.text);
  return answer.json();
}
