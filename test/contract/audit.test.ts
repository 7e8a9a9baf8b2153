import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import path from "node:path";
import { after, before, describe, it } from "node:test";

import type { AuditEntry } from "../../src/records/audit/audit.ts";
import { assertProblem } from "./problem.ts";
import { jtiOf } from "./record.ts";
import { type Home, leave, makeHome, NO_WALL, type Service, startService } from "./service.ts";

interface Page {
  entries: AuditEntry[];
  next: string | null;
}

let home: Home;
let service: Service;

before(async () => {
  home = await makeHome();
  service = await startService(NO_WALL, home);
});
after(() => leave(service, home));

async function entries(query: Record<string, string> = {}): Promise<AuditEntry[]> {
  const answer = await service.request("GET", "/api/audit", { query: { limit: "1000", ...query } });
  assert.equal(answer.status, 200, answer.text);
  return (answer.json() as Page).entries;
}

describe("GET /api/audit", () => {
  it("has who changed tokens, secrets, tasks, policies and limits, what and from where", async () => {
    const token = await service.issue({ containers: ["demo"], can: ["run", "tasks"], secretsReadable: true });
    const target = `/api/tokens/${jtiOf(token)}`;
    const task = "/api/tasks/demo/hook";
    const changes: [string, string, string, object?][] = [
      ["secrets replaced", "PUT", `${target}/secrets`, { KEY: "a secret value" }],
      ["policy set", "PUT", "/api/containers/demo", { limits: { day: 1_000 } }],
      ["policy removed", "DELETE", "/api/containers/demo"],
      ["limits reset", "DELETE", "/api/limits/container/demo"],
      ["limits reset", "DELETE", `/api/limits/token/${jtiOf(token)}`],
      ["task made", "PUT", task, { code: "1" }],
      ["task changed", "PUT", task, { code: "2" }],
      ["task rolled back", "POST", `${task}/rollback`, { version: 1 }],
      ["task deleted", "DELETE", task],
      ["token revoked", "DELETE", target],
    ];
    for (const [, method, path_, json] of changes) {
      const answer = await service.request(method, path_, json === undefined ? {} : { json });
      assert.ok(answer.status < 300, `${method} ${path_}: ${answer.text}`);
    }
    const found = (await entries()).toReversed();
    assert.deepEqual(
      found.map(({ action }) => action),
      ["token issued", ...changes.map(([action]) => action)],
    );
    for (const { by, client, at } of found) {
      assert.deepEqual([by, client], [jtiOf(service.admin), "127.0.0.1"]);
      assert.ok(Math.abs(Date.parse(at) - Date.now()) < 60_000);
    }
    assert.deepEqual(found[0]?.details, { token: jtiOf(token) });
    assert.deepEqual(found[2]?.details, { container: "demo", policy: { limits: { day: 1_000 } } });
    assert.doesNotMatch(JSON.stringify(found), /eyJ|a secret value/);
  });

  it("filters by action, token and time, and pages with a cursor", async () => {
    const issuer = await service.issue({ containers: ["demo"], can: ["issue", "run"], depth: 1 });
    for (let at = 0; at < 5; at++) {
      const answer = await service.request("POST", "/api/tokens", { token: issuer, json: { containers: ["demo"] } });
      assert.equal(answer.status, 201, answer.text);
    }
    const issued = await entries({ action: "token issued", by: jtiOf(issuer) });
    assert.equal(issued.length, 5);
    assert.deepEqual(await entries({ by: jtiOf(issuer), until: "2020-01-01" }), []);
    assert.deepEqual(await entries({ since: new Date(Date.now() + 3_600_000).toISOString() }), []);
    const paged: AuditEntry[] = [];
    for (let cursor: string | null = ""; cursor !== null;) {
      const query = { limit: "2", by: jtiOf(issuer), ...(cursor && { cursor }) };
      const page = (await service.request("GET", "/api/audit", { query })).json() as Page;
      assert.ok(page.entries.length <= 2);
      paged.push(...page.entries);
      cursor = page.next;
    }
    assert.deepEqual(paged, issued);
  });

  it("is for administrators only", async () => {
    const token = await service.issue({
      containers: ["*"],
      can: ["run", "limits", "logs", "tasks", "issue"],
      depth: 1,
    });
    assertProblem(await service.request("GET", "/api/audit", { token }), 403, "token_forbidden");
    assertProblem(await service.request("GET", "/api/audit", { token: null }), 403, "token_missing");
  });

  const invalid = [
    { since: "x" },
    { until: "2026-13-01" },
    { cursor: "x" },
    { by: "me" },
    { action: "" },
    { limit: "0" },
  ];
  for (const query of [...invalid, { actions: "x" }]) {
    it(`refuses ${JSON.stringify(query)}`, async () => {
      const answer = await service.request("GET", "/api/audit", { query: query as unknown as Record<string, string> });
      assertProblem(answer, 400, "request_invalid");
      assert.match(answer.text, new RegExp(Object.keys(query)[0]!));
    });
  }
});

it("a change is made and answered while the audit cannot be written, and /healthz reports it", async () => {
  await using broken = await makeHome();
  await mkdir(path.join(broken.data, "audit.sqlite"), { recursive: true });
  const other = await startService(NO_WALL, broken);
  try {
    await other.issue({ containers: ["demo"] });
    const health = (await other.request("GET", "/healthz", { token: null })).json() as Record<string, unknown>;
    assert.equal(health["status"], "ok");
    const { audit } = health["records"] as { audit: { lost: number; failure: string } };
    assert.equal(audit.lost, 1);
    assert.match(audit.failure, /^the audit cannot be written/);
    assertProblem(await other.request("GET", "/api/audit"), 503, "store_unavailable");
  } finally {
    await other.stop();
  }
});
