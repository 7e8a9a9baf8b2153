import assert from "node:assert/strict";
import { copyFile } from "node:fs/promises";
import path from "node:path";
import { after, before, describe, it } from "node:test";

import { missing, startRedis } from "../redis/server.ts";
import type { Answer } from "./http.ts";
import { assertProblem } from "./problem.ts";
import { leave, makeHome, NO_WALL, type Service, shareService, startService } from "./service.ts";

interface Issued {
  token: string;
  jti: string;
}

const TOKENS = 5;
const ISSUES = 12;
const TASKS = 3;
const QUOTAS = [
  ...["--family-tokens", `${TOKENS}`, "--family-issues", `${ISSUES}`, "--family-secrets", "8KiB"],
  ...["--family-tasks", `${TASKS}`, "--family-task-bytes", "64KiB"],
];
const ISSUING = { containers: ["acme-*"], can: ["run", "issue", "tasks"], depth: 2 };
const LEAF = { containers: ["acme-1"] };

let service: Service;

before(async () => {
  service = await startService([...NO_WALL, ...QUOTAS]);
});
after(() => service.stop());

function post(json: unknown, token = service.admin, on = service): Promise<Answer> {
  return on.request("POST", "/api/tokens", { json, token });
}

async function issued(json: object, token = service.admin, on = service): Promise<Issued> {
  const answer = await post(json, token, on);
  assert.equal(answer.status, 201, answer.text);
  return answer.json() as Issued;
}

function put(at: string, json: object, token: string, on = service): Promise<Answer> {
  return on.request("PUT", `/api/tasks/${at}`, { json, token });
}

async function statuses(answers: readonly Promise<Answer>[]): Promise<number[]> {
  return (await Promise.all(answers)).map(({ status }) => status).toSorted((a, b) => a - b);
}

function withSecret(bytes: number): object {
  return { ...LEAF, secretsReadable: true, secrets: { KEY: "x".repeat(bytes) } };
}

/** Returns code of some twenty kilobytes. */
function code(version: number): string {
  return `/* ${version} */ "${"x".repeat(20_000)}"`;
}

/** Returns secrets with this number of bytes. */
function secretsOf(bytes: number, name = "K"): object {
  const whole = Math.floor(bytes / 16_000);
  const sizes = [...Array.from({ length: whole }, () => 16_000), bytes % 16_000];
  return Object.fromEntries(sizes.map((size, at) => [`${name}${at}`, "x".repeat(size)]));
}

describe("a token family", () => {
  it("has a maximum of unexpired tokens, whichever token issues them and whichever is revoked", async () => {
    const head = await issued(ISSUING);
    const child = await issued({ ...ISSUING, depth: 1 }, head.token);
    for (let count = 2; count < TOKENS; count++) await issued(LEAF, count % 2 ? head.token : child.token);
    const last = await issued(LEAF, child.token);
    assert.equal((await service.request("DELETE", `/api/tokens/${last.jti}`, { token: head.token })).status, 200);
    for (const { token } of [head, child]) {
      const problem = assertProblem(await post(LEAF, token), 403, "quota_exceeded");
      assert.match(problem.detail, /has 5 unexpired tokens/);
      assert.match(problem.hint!, /--family-tokens/);
    }
    // A token that an administrator issues starts a new family.
    await issued(LEAF, (await issued(ISSUING)).token);
  });

  it("has a maximum of issues in a minute, including those for named tasks, and the answer has the wait", async () => {
    const head = await issued(ISSUING);
    // A request with a fault issues nothing.
    assertProblem(await post({ ...LEAF, typo: 1 }, head.token), 400, "request_invalid");
    const answers = [];
    for (let count = 0; count < ISSUES; count++) {
      if (count % 2 === 0) answers.push((await put("acme-1/again", { code: "1" }, head.token)).status);
      else answers.push((await service.request("DELETE", "/api/tasks/acme-1/again", { token: head.token })).status);
    }
    assert.deepEqual(new Set(answers), new Set([201, 200]));
    const child = await issued({ ...ISSUING, depth: 1 }, head.token);
    const rest = ISSUES - ISSUES / 2 - 1;
    for (let count = 0; count < rest; count++) assert.ok([201, 403].includes((await post(LEAF, child.token)).status));
    const problem = assertProblem(await post(LEAF, head.token), 429, "token_limited");
    assert.match(
      problem.detail,
      /issue tokens, change tasks and secrets, build packages and restart containers 12 times a minute; the next change fits in \d+ s/,
    );
    assert.ok(problem.retryAfterMs! > 0 && problem.retryAfterMs! <= 60_000);
    assertProblem(await put("acme-1/another", { code: "1" }, child.token), 429, "token_limited");
    // The rate is checked before anything of the request is read.
    assertProblem(await post({ ...LEAF, typo: 1 }, head.token), 429, "token_limited");
    assertProblem(await put("acme-1/another", { code: "no code" }, head.token), 429, "token_limited");
    const warm = { json: { packages: "none" }, token: head.token };
    assertProblem(await service.request("POST", "/api/packages/warm", warm), 429, "token_limited");
    const back = { json: { version: 1 }, token: head.token };
    assertProblem(await service.request("POST", "/api/tasks/acme-1/again/rollback", back), 429, "token_limited");
  });

  it("has a maximum of changed tasks and replaced secrets in a minute", async () => {
    const { token } = await issued(ISSUING);
    for (let count = 0; count < ISSUES - 2; count++) {
      const { status, text } = await put("acme-1/changed", { code: `return ${count}` }, token);
      assert.equal(status, count === 0 ? 201 : 200, text);
    }
    const { jti } = await issued(withSecret(10), token);
    const replace = (): Promise<Answer> => {
      return service.request("PUT", `/api/tokens/${jti}/secrets`, { json: { KEY: "y" }, token });
    };
    assert.equal((await replace()).status, 200);
    assertProblem(await replace(), 429, "token_limited");
    assertProblem(await put("acme-1/changed", { code: "return -1" }, token), 429, "token_limited");
    assert.equal((await service.run("acme-1", `return 1`, { token })).text, "1");
  });

  it("is logged for each change, and not for a request that changes nothing", async () => {
    const head = await issued(ISSUING);
    const [first, last] = [await issued(LEAF, head.token), await issued(LEAF, head.token)];
    const revoke = ({ jti }: Issued): Promise<Answer> => {
      return service.request("DELETE", `/api/tokens/${jti}`, { token: head.token });
    };
    for (let count = 0; count < 3; count++) {
      assert.equal((await revoke(first)).status, 200);
      await put("acme-1/same", { code: "1" }, head.token);
    }
    await revoke(last);
    await service.logLine((line) => line.includes(last.jti) && line.includes("token revoked"));
    const lines = service
      .stderr()
      .split("\n")
      .filter((line) => line.includes(head.jti))
      .map((line) => (JSON.parse(line) as { msg: string }).msg);
    const issues = ["token issued", "token issued"];
    assert.deepEqual(lines, ["token issued", ...issues, "token revoked", "task made", "token revoked"]);
  });

  it("has a maximum of bytes of secrets, and stores nothing of a rejected token", async () => {
    const { token } = await issued(ISSUING);
    const { jti } = await issued(withSecret(4_000), token);
    assertProblem(await post(withSecret(3_000), token), 403, "quota_exceeded");
    await issued(withSecret(1_000), token);
    const set = (bytes: number): Promise<Answer> => {
      return service.request("PUT", `/api/tokens/${jti}/secrets`, { json: { KEY: "x".repeat(bytes) }, token });
    };
    assertProblem(await set(6_000), 403, "quota_exceeded");
    assert.equal((await set(500)).status, 200);
    await issued(withSecret(3_000), token);
    const secrets = { KEY: "x".repeat(3_000) };
    assertProblem(await put("acme-1/secret", { code: "1", secrets }, token), 403, "quota_exceeded");
    assert.equal((await service.request("GET", "/api/tasks/acme-1/secret", { token })).status, 404);
  });

  it("has a maximum of named tasks, in all containers together", async () => {
    const { token } = await issued(ISSUING);
    const child = await issued({ ...ISSUING, depth: 1 }, token);
    for (let count = 0; count < TASKS; count++) {
      assert.equal((await put(`acme-${count}/t`, { code: "1" }, count === 0 ? child.token : token)).status, 201);
    }
    const problem = assertProblem(await put("acme-9/t", { code: "1" }, child.token), 403, "quota_exceeded");
    assert.match(problem.detail, /has 3 named tasks/);
    assert.equal((await put("acme-1/t", { code: "2" }, token)).status, 200);
    assert.equal((await service.request("DELETE", "/api/tasks/acme-1/t", { token })).status, 200);
    assert.equal((await put("acme-9/t", { code: "1" }, token)).status, 201);
    assert.equal((await put("acme-8/t", { code: "1" }, service.admin)).status, 201);
  });

  it("has a maximum of bytes of code, including replaced versions", async () => {
    const { token } = await issued(ISSUING);
    for (const version of [1, 2, 3]) {
      assert.equal((await put("acme-v/t", { code: code(version) }, token)).status, version === 1 ? 201 : 200);
    }
    const problem = assertProblem(await put("acme-v/t", { code: code(4) }, token), 403, "quota_exceeded");
    assert.match(problem.hint!, /--family-task-bytes/);
    assertProblem(await put("acme-w/t", { code: code(4) }, token), 403, "quota_exceeded");
    assert.equal((await service.request("DELETE", "/api/tasks/acme-v/t", { token })).status, 200);
    assert.equal((await put("acme-v/t", { code: code(4) }, token)).status, 201);
  });
});

describe("the secrets that a run receives", () => {
  const MAX_BYTES = 65_536;
  const readable = { ...ISSUING, secretsReadable: true };
  let unlimited: Service;
  before(async () => {
    unlimited = await shareService();
  });
  after(() => unlimited.stop());

  it("have at most 64 KiB, for a token, for a task and when they are replaced", async () => {
    const { token, jti } = await issued(
      { ...readable, secrets: secretsOf(MAX_BYTES - 1_500) },
      unlimited.admin,
      unlimited,
    );
    const set = (json: object): Promise<Answer> => {
      return unlimited.request("PUT", `/api/tokens/${jti}/secrets`, { json });
    };
    assert.equal((await set(secretsOf(MAX_BYTES - 1_500))).status, 200);
    const task = (bytes: number): Promise<Answer> => {
      return put("acme-1/t", { code: "1", secrets: secretsOf(bytes) }, unlimited.admin, unlimited);
    };
    const { violations } = assertProblem(await task(MAX_BYTES + 1), 400, "request_invalid");
    assert.deepEqual(
      violations!.map(({ member }) => member),
      ["secrets"],
    );
    assert.equal((await task(MAX_BYTES)).status, 201);
    const accents = Object.fromEntries(["A", "B", "C"].map((name) => [name, "é".repeat(16_000)]));
    assertProblem(
      await put("acme-1/u", { code: "1", secrets: accents }, unlimited.admin, unlimited),
      400,
      "request_invalid",
    );
    assert.equal((await unlimited.run("acme-1", "(context) => context.secrets.K0.length", { token })).text, "16000");
  });

  it("count inherited secrets, also if a token above receives more later", async () => {
    const head = await issued({ ...readable, secrets: secretsOf(40_000) }, unlimited.admin, unlimited);
    const { violations } = assertProblem(
      await post({ ...LEAF, secrets: secretsOf(30_000, "L") }, head.token, unlimited),
      400,
      "request_invalid",
    );
    assert.match(
      String(violations![0]!["detail"]),
      /70000 bytes, 40000 of them inherited; a run receives at most 65536/,
    );
    const child = await issued({ ...LEAF, secrets: secretsOf(20_000, "L") }, head.token, unlimited);
    const set = (jti: string, json: object): Promise<Answer> => {
      return unlimited.request("PUT", `/api/tokens/${jti}/secrets`, { json });
    };
    assertProblem(await set(child.jti, secretsOf(30_000, "L")), 400, "request_invalid");
    assertProblem(
      await put("acme-1/below", { code: "1", secrets: secretsOf(30_000, "L") }, head.token, unlimited),
      400,
      "request_invalid",
    );
    assert.equal((await set(head.jti, secretsOf(50_000))).status, 200);
    assertProblem(await unlimited.run("acme-1", "1", { token: child.token }), 403, "quota_exceeded");
    assert.equal((await set(child.jti, secretsOf(1_000, "L"))).status, 200);
    assert.equal((await unlimited.run("acme-1", "1", { token: child.token })).status, 200);
  });
});

it(
  "quotas apply to all nodes together, also for concurrent requests",
  { skip: await missing("redis-server") },
  async () => {
    await using server = await startRedis();
    const homes = [await makeHome(), await makeHome()] as const;
    const flags = [...NO_WALL, "--redis", server.url, ...QUOTAS];
    const first = await startService(flags, homes[0]);
    // The second node uses copies, because the tests recognise the processes of a home by its path.
    const files = ["keys.json", "secrets.key"].map((name) => path.join(homes[1].data, "..", name));
    for (const file of files) await copyFile(path.join(homes[0].data, path.basename(file)), file);
    const second = await startService([...flags, "--keys", files[0]!, "--secrets-key", files[1]!], homes[1]);
    const nodes = [first, second];
    try {
      const { token } = await issued(ISSUING, first.admin, first);
      const node = (count: number): Service => nodes[count % 2]!;
      const tokens = Array.from({ length: ISSUES }, async (_, count) => post(LEAF, token, node(count)));
      const refused = Array.from({ length: ISSUES - TOKENS }, () => 403);
      assert.deepEqual(await statuses(tokens), [...Array.from({ length: TOKENS }, () => 201), ...refused]);
      assertProblem(await post(LEAF, token, second), 429, "token_limited");

      const other = await issued(ISSUING, first.admin, first);
      const tasks = Array.from({ length: 6 }, async (_, count) => {
        return put(`acme-${count}/t`, { code: "1" }, other.token, node(count));
      });
      assert.deepEqual(await statuses(tasks), [201, 201, 201, 403, 403, 403]);

      const third = await issued(ISSUING, first.admin, first);
      const secrets = { secretsReadable: true, secrets: { KEY: "x".repeat(2_500) } };
      const kept = Array.from({ length: 4 }, async (_, count) =>
        post({ ...LEAF, ...secrets }, third.token, node(count)),
      );
      assert.deepEqual(await statuses(kept), [201, 201, 403, 403]);
    } finally {
      await leave(first, homes[0]);
      await leave(second, homes[1]);
    }
  },
);
