import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import type { Answer } from "./http.ts";
import { assertProblem } from "./problem.ts";
import { limitRecord, tokenRecord } from "./record.ts";
import { type Service, shareService } from "./service.ts";

interface Issued {
  token: string;
  jti: string;
  claims: Record<string, unknown>;
}

let service: Service;

before(async () => {
  service = await shareService();
});
after(() => service.stop());

const ISSUING = { containers: ["acme", "acme-*"], can: ["run", "limits", "issue"], depth: 2 };

function post(claims: unknown, token: string): Promise<Answer> {
  return service.request("POST", "/api/tokens", { json: claims, token });
}

async function issued(claims: unknown, token = service.admin): Promise<Issued> {
  const answer = await post(claims, token);
  assert.equal(answer.status, 201, answer.text);
  return answer.json() as Issued;
}

function revoke(jti: string, token = service.admin): Promise<Answer> {
  return service.request("DELETE", `/api/tokens/${jti}`, { token });
}

/** Issues a token, a token below it, and a token below that one. */
async function family(head: object = {}): Promise<[Issued, Issued, Issued]> {
  const first = await issued({ ...ISSUING, ...head });
  const second = await issued({ ...ISSUING, depth: 1 }, first.token);
  return [first, second, await issued({ containers: ["acme"] }, second.token)];
}

async function runs(token: string): Promise<boolean> {
  const answer = await service.run("acme", "6 * 7", { token });
  if (answer.status !== 200) assertProblem(answer, 403, "token_invalid");
  return answer.status === 200;
}

describe("a token that may issue", () => {
  it("issues tokens with fewer permissions, and records itself as their parent", async () => {
    const [head, child, grandchild] = await family();
    assert.deepEqual(child.claims["parents"], [head.jti]);
    assert.deepEqual(grandchild.claims["parents"], [child.jti, head.jti]);
    assert.deepEqual(grandchild.claims["can"], ["run", "limits"]);
    for (const { token } of [head, child, grandchild]) assert.ok(await runs(token));
    assertProblem(await service.run("acme-1", "1", { token: grandchild.token }), 403, "token_forbidden");
  });

  it("issues no token with more permissions, and the error lists every excess", async () => {
    const { token } = await issued({ ...ISSUING, net: false, expiresIn: "1h" });
    const wide = { containers: ["b"], can: ["run", "limits", "issue"], expiresIn: "2h", depth: 2, net: ["a"] };
    const { violations } = assertProblem(await post(wide, token), 403, "token_forbidden");
    const members = violations!.map(({ member }) => String(member)).toSorted();
    assert.deepEqual(members, ["containers.0", "depth", "exp", "net"]);
    assertProblem(await post({ admin: true }, token), 403, "token_forbidden");
    assertProblem(await post({ containers: ["acme"], typo: 1 }, token), 400, "request_invalid");
  });

  it("needs both the verb and a depth", async () => {
    const verbOnly = await issued({ ...ISSUING, depth: 0 });
    assertProblem(await post({ containers: ["acme"] }, verbOnly.token), 403, "token_forbidden");
    const depthOnly = await issued({ ...ISSUING, can: ["run"] });
    assertProblem(await post({ containers: ["acme"] }, depthOnly.token), 403, "token_forbidden");
  });

  it("counts the runs of all tokens below it, and these inherit its container limits", async () => {
    const [head, child, grandchild] = await family({ limits: { token: { day: 3 }, container: { month: 50 } } });
    assert.deepEqual(grandchild.claims["limits"], { container: { month: 50 } });
    for (const { token } of [grandchild, child, head]) assert.ok(await runs(token));
    for (const { token } of [grandchild, child, head]) {
      assertProblem(await service.run("acme", "1", { token }), 429, "token_limited");
    }
    assert.deepEqual(await tokenRecord(service, head.token), limitRecord({ day: -1 }));
  });
});

describe("a revocation", () => {
  it("ends all tokens below, and no token above or next to it", async () => {
    const [head, child, grandchild] = await family();
    const sibling = await issued({ containers: ["acme"] }, head.token);
    for (const { token } of [head, child, grandchild, sibling]) assert.ok(await runs(token));
    assert.equal((await revoke(child.jti)).status, 200);
    const alive = [];
    for (const { token } of [head, sibling, child, grandchild]) alive.push(await runs(token));
    assert.deepEqual(alive, [true, true, false, false]);
    assertProblem(await post({ containers: ["acme"] }, child.token), 403, "token_invalid");
  });

  it("is allowed for all tokens above", async () => {
    const [head, child, grandchild] = await family();
    assert.equal((await revoke(grandchild.jti, head.token)).status, 200);
    assert.equal(await runs(grandchild.token), false);
    assert.equal((await revoke(child.jti, head.token)).status, 200);
    assert.equal(await runs(child.token), false);
  });

  it("is not allowed for tokens below or next to it, and the answer does not show whether the token exists", async () => {
    const [head, child, grandchild] = await family();
    const stranger = await issued({ ...ISSUING, containers: ["*"] });
    const answers = [];
    for (const [jti, token] of [
      [head.jti, grandchild.token],
      [head.jti, stranger.token],
      [child.jti, grandchild.token],
      [crypto.randomUUID(), head.token],
    ] as const) {
      const answer = await revoke(jti, token);
      assertProblem(answer, 403, "token_forbidden");
      answers.push(answer.text);
    }
    assert.equal(new Set(answers).size, 1);
    assert.ok(await runs(grandchild.token));
  });

  it("of a token by itself is allowed, unless the token or a token above it has selfRevoke: false", async () => {
    const [head, child] = await family();
    assert.equal((await revoke(child.jti, child.token)).status, 200);
    assert.equal(await runs(child.token), false);
    assert.equal((await revoke(head.jti, head.token)).status, 200);

    const [kept, below] = await family({ selfRevoke: false });
    assertProblem(await revoke(kept.jti, kept.token), 403, "token_forbidden");
    assertProblem(await revoke(below.jti, below.token), 403, "token_forbidden");
    assert.ok(await runs(below.token));
    assert.equal((await revoke(below.jti, kept.token)).status, 200);
    assert.equal((await revoke(kept.jti)).status, 200);
    const admin = await issued({ admin: true, selfRevoke: false });
    assertProblem(await revoke(admin.jti, admin.token), 403, "token_forbidden");
  });

  it("of an administrator's token ends no token that it has issued", async () => {
    const old = await issued({ admin: true, exp: null });
    const head = await issued(ISSUING, old.token);
    const other = await issued({ admin: true, exp: null }, old.token);
    assert.equal((await revoke(old.jti, old.token)).status, 200);
    assert.ok(await runs(head.token));
    assert.ok(await runs(other.token));
    assert.deepEqual(head.claims["parents"], []);
  });
});
