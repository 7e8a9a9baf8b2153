import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import type { Answer } from "./http.ts";
import { altered } from "./jwt.ts";
import { assertProblem } from "./problem.ts";
import { jtiOf } from "./record.ts";
import { type Service, shareService } from "./service.ts";

interface Inspected {
  jti: string;
  issuedBy: string;
  issuedAt: string;
  revoked: { jti: string; by: string; at: number } | null;
  lastUsed: string | null;
  runs: number;
  claims: Record<string, unknown>;
}

let service: Service;

before(async () => {
  service = await shareService();
});
after(() => service.stop());

function inspect(token: string, by = service.admin): Promise<Answer> {
  return service.request("GET", `/api/tokens/${jtiOf(token)}`, { token: by });
}

async function inspected(token: string, by = service.admin): Promise<Inspected> {
  const answer = await inspect(token, by);
  assert.equal(answer.status, 200, answer.text);
  return answer.json() as Inspected;
}

async function below(token: string, claims: object): Promise<string> {
  const answer = await service.request("POST", "/api/tokens", { token, json: claims });
  assert.equal(answer.status, 201, answer.text);
  return (answer.json() as { token: string }).token;
}

async function family(): Promise<[string, string]> {
  const head = await service.issue({ containers: ["acme"], can: ["run", "limits", "issue"], depth: 1 });
  return [head, await below(head, { containers: ["acme"] })];
}

function introspect(token: string, by: string | null = service.admin): Promise<Answer> {
  const body = new URLSearchParams({ token }).toString();
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  return service.request("POST", "/api/tokens/introspect", { token: by, body, headers });
}

/** Returns the `jti`s of all pages. */
async function listed(query: Record<string, string>, token = service.admin): Promise<string[]> {
  const seen: string[] = [];
  for (let next: string | null = ""; next !== null;) {
    const search = new URLSearchParams({ ...query, ...(next && { cursor: next }) });
    const answer = await service.request("GET", `/api/tokens?${search.toString()}`, { token });
    assert.equal(answer.status, 200, answer.text);
    const page = answer.json() as { tokens: Inspected[]; next: string | null };
    assert.ok(page.tokens.length <= Number(query["limit"] ?? 100));
    seen.push(...page.tokens.map(({ jti }) => jti));
    next = page.next;
  }
  assert.equal(new Set(seen).size, seen.length);
  return seen;
}

/** Asserts that a time has the form of the times of the log and the records, and is not before another one. */
function assertSince(since: string, time: string): void {
  assert.equal(new Date(time).toISOString(), time);
  assert.ok(time >= since && time <= new Date().toISOString(), time);
}

describe("GET /api/tokens/{jti}", () => {
  it("returns the issuer, the time of issue, the claims and the use, and never the token", async () => {
    const since = new Date().toISOString();
    const token = await service.issue({ containers: ["acme"], expiresIn: "1h" });
    const fresh = await inspected(token);
    assert.deepEqual([fresh.jti, fresh.issuedBy, fresh.revoked], [jtiOf(token), jtiOf(service.admin), null]);
    assert.deepEqual([fresh.lastUsed, fresh.runs], [null, 0]);
    assertSince(since, fresh.issuedAt);
    assert.deepEqual([fresh.claims["containers"], fresh.claims["can"]], [["acme"], ["run", "limits"]]);
    assert.equal(Number(fresh.claims["exp"]) - Number(fresh.claims["iat"]), 3_600);

    for (let run = 0; run < 3; run++) await service.run("acme", "1", { token });
    assertProblem(await service.run("other", "1", { token }), 403, "token_forbidden");
    const used = await inspect(token);
    const { runs, lastUsed } = used.json() as Inspected;
    assert.equal(runs, 3);
    assertSince(since, lastUsed!);
    for (const part of token.split(".").slice(1)) assert.ok(!used.text.includes(part));
  });

  it("returns the author of the revocation, and the revoked token above", async () => {
    const [head, child] = await family();
    await service.request("DELETE", `/api/tokens/${jtiOf(head)}`);
    const { revoked } = await inspected(child);
    assert.deepEqual([revoked!.jti, revoked!.by], [jtiOf(head), jtiOf(service.admin)]);
    assert.deepEqual((await inspected(head)).revoked, revoked);
  });

  it("is for administrators, the token itself and the tokens above it, and shows other tokens nothing", async () => {
    const [head, child] = await family();
    assert.equal((await inspected(child, head)).issuedBy, jtiOf(head));
    assert.equal((await inspected(child, child)).jti, jtiOf(child));
    const known = assertProblem(await inspect(head, child), 403, "token_forbidden");
    const target = `/api/tokens/${crypto.randomUUID()}`;
    const unknown = assertProblem(await service.request("GET", target, { token: child }), 403, "token_forbidden");
    assert.deepEqual(known, unknown);
    assertProblem(await service.request("GET", target), 404, "not_found");
  });
});

describe("GET /api/tokens", () => {
  it("lists every token once, page by page, or the tokens that reach a container", async () => {
    const mine = [];
    for (const containers of [["listed-1"], ["listed-*"], ["listed-2", "x"]]) {
      mine.push(jtiOf(await service.issue({ containers })));
    }
    const all = await listed({ limit: "2" });
    for (const jti of [...mine, jtiOf(service.admin)]) assert.ok(all.includes(jti));
    assert.deepEqual(await listed({}), all);
    for (const limit of ["1", "1000"]) {
      const some = await listed({ limit, container: "listed-1" });
      assert.deepEqual(
        mine.map((jti) => some.includes(jti)),
        [true, true, false],
      );
    }
  });

  it("lists the tokens below a token that may issue, with those of its tasks, and no others", async () => {
    const above = { containers: ["listed", "listed-*"], can: ["run", "tasks", "issue"], depth: 3 };
    const head = await service.issue(above);
    const middle = await below(head, { ...above, depth: 2 });
    const leaves = [await below(middle, { containers: ["listed-1"] }), await below(middle, { containers: ["listed"] })];
    await family();
    const task = await service.request("PUT", "/api/tasks/listed/task", { token: middle, json: { code: "1" } });
    const taskJti = (task.json() as { jti: string }).jti;
    const belowMiddle = [...leaves.map(jtiOf), taskJti];
    for (const limit of ["1", "2", "100"]) {
      assert.deepEqual(await listed({ limit }, middle), belowMiddle.toSorted());
      assert.deepEqual(await listed({ limit }, head), [jtiOf(middle), ...belowMiddle].toSorted());
    }
    const reaching = await listed({ container: "listed-1" }, head);
    assert.deepEqual(reaching, [jtiOf(middle), jtiOf(leaves[0]!)].toSorted());
    // Revoked tokens are listed until they are deleted, and a token whose parent was revoked lists nothing any more.
    await service.request("DELETE", `/api/tokens/${jtiOf(middle)}`, { token: head });
    assert.equal((await listed({}, head)).length, 4);
    assertProblem(await service.request("GET", "/api/tokens", { token: middle }), 403, "token_invalid");
    assert.deepEqual(await listed({}, await service.issue({ containers: ["*"], can: ["issue"] })), []);
  });

  it("is for administrators and tokens that may issue, and rejects unknown queries", async () => {
    for (const can of [
      ["run", "limits"],
      ["logs", "tasks"],
    ]) {
      const token = await service.issue({ containers: ["*"], can });
      assertProblem(await service.request("GET", "/api/tokens", { token }), 403, "token_forbidden");
    }
    for (const search of ["limit=0", "limit=1001", "limit=1&limit=1", "page=2"]) {
      assertProblem(await service.request("GET", `/api/tokens?${search}`), 400, "request_invalid");
    }
    assertProblem(await service.request("GET", "/api/tokens?container=-"), 400, "container_invalid");
  });
});

describe("POST /api/tokens/introspect (RFC 7662)", () => {
  it("describes a token to an administrator, the token itself and the tokens above it", async () => {
    const [head, child] = await family();
    for (const by of [service.admin, head, child]) {
      const answer = await introspect(child, by);
      assert.equal(answer.status, 200, answer.text);
      const described = answer.json() as Record<string, unknown>;
      assert.deepEqual(
        ["active", "token_type", "scope", "jti", "iss", "aud", "containers", "parents"].map((name) => described[name]),
        [true, "Bearer", "run limits", jtiOf(child), "caisson", "caisson", ["acme"], [jtiOf(head)]],
      );
      assert.ok(Number(described["exp"]) > Number(described["iat"]));
      assert.ok(!answer.text.includes(child.split(".")[1]!));
    }
  });

  it("returns only active: false for a token that is invalid or not the caller's", async () => {
    const [head, child] = await family();
    const [stranger, revoked] = [
      await service.issue({ containers: ["*"] }),
      await service.issue({ containers: ["a"] }),
    ];
    await service.request("DELETE", `/api/tokens/${jtiOf(revoked)}`);
    for (const [token, by] of [
      [head, child],
      [child, stranger],
      [service.admin, head],
      [revoked, service.admin],
      ["nonsense", service.admin],
      ["", service.admin],
      [altered(child, { payload: { containers: ["*"] } }), head],
    ] as const) {
      const answer = await introspect(token, by);
      assert.deepEqual([answer.status, answer.text], [200, `{"active":false}`]);
    }
  });

  it("needs a valid token as credential, and a form with one token", async () => {
    const token = await service.issue({ containers: ["a"] });
    assertProblem(await introspect(token, null), 403, "token_missing");
    assertProblem(await introspect(token, "nonsense"), 403, "token_invalid");
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    for (const body of ["", "x=1", "token=a&token=b"]) {
      const answer = await service.request("POST", "/api/tokens/introspect", { token, body, headers });
      assertProblem(answer, 400, "request_invalid");
    }
    const answer = await service.request("POST", "/api/tokens/introspect", { json: { token } });
    assertProblem(answer, 400, "request_invalid");
    for (const method of ["GET", "DELETE"]) {
      assertProblem(await service.request(method, "/api/tokens/introspect"), 405, "method_not_allowed");
    }
  });
});
