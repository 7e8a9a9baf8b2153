import assert from "node:assert/strict";
import { Agent, request } from "node:http";
import { after, before, describe, it } from "node:test";

import type { UsageRow } from "../../src/records/usage/usage.ts";
import { isLong } from "../long.ts";
import { openUsage } from "../records/usage/folder.ts";
import { assertProblem } from "./problem.ts";
import { jtiOf } from "./record.ts";
import { type Home, leave, makeHome, NO_WALL, type Service, startService } from "./service.ts";
import { pause } from "./until.ts";

const HOUR_MS = 3_600_000;
/** When a family used more containers than an answer has entries. */
const FLOOD_MS = Date.now() - 50 * HOUR_MS;

let home: Home;
let service: Service;

before(async () => {
  home = await makeHome();
  const counts = openUsage(home.data);
  const count = (container: string, task: string | null, runs: number): void => {
    for (let run = 0; run < runs; run++) {
      const subject = { container, task, token: "9b2f7c1e-0000-4000-8000-000000000001", family: "f" };
      const cell = counts.admitted(subject, Date.now());
      if (run > 0) counts.ended(cell, "ok", 2, 100);
    }
  };
  for (let at = 0; at < 10_500; at++) {
    counts.admitted({ container: `flood-${at}`, task: null, token: null, family: "flood" }, FLOOD_MS);
    if (at % 2_000 === 0) await counts.flush();
  }
  counts.admitted({ container: "quiet", task: null, token: null, family: "quiet" }, FLOOD_MS);
  await counts.flush();
  count("acme", null, 10);
  count("acme", "hook", 5);
  count("acme-2", null, 3);
  counts.refused({ container: "acme", task: null, token: null, family: "f" }, "container_limited", Date.now());
  await counts[Symbol.asyncDispose]();
  service = await startService(NO_WALL, home);
});
after(() => leave(service, home));

async function usage(query: Record<string, string>, token: string = service.admin): Promise<UsageRow[]> {
  const answer = await service.request("GET", "/api/usage", { token, query });
  assert.equal(answer.status, 200, answer.text);
  return (answer.json() as { usage: UsageRow[] }).usage;
}

function ask(accept: string): ReturnType<Service["request"]> {
  return service.request("GET", "/api/usage", { headers: { accept }, query: { step: "day" } });
}

describe("GET /api/usage", () => {
  it("returns the counts of the last 24 hours by container, and runs that a restart ended as interrupted", async () => {
    const rows = await usage({ step: "day" });
    const ours = rows.filter(({ container }) => container === "acme");
    assert.deepEqual(
      ours.map(({ runs, refused }) => [runs, refused]),
      [[{ ok: 13, interrupted: 2 }, { container_limited: 1 }]],
    );
    assert.equal(ours[0]!.egressBytes, 1_300);
  });

  it("separates tasks and tokens", async () => {
    const tasks = await usage({ by: "task", step: "day" });
    assert.deepEqual(
      tasks.map(({ container, task, runs }) => [container, task, runs["ok"]]),
      [
        ["acme", null, 9],
        ["acme", "hook", 4],
        ["acme-2", null, 2],
      ],
    );
    const tokens = await usage({ by: "token", step: "day" });
    assert.ok(tokens.some(({ token }) => token?.startsWith("9b2f7c1e")));
    assert.ok(tokens.some(({ token }) => token === null));
  });

  it("shows a token with logs its containers, and refuses every other token", async () => {
    const reader = await service.issue({ containers: ["acme-*"], can: ["logs"] });
    const rows = await usage({ step: "day" }, reader);
    assert.deepEqual(
      rows.map(({ container }) => container),
      ["acme-2"],
    );
    const runner = await service.issue({ containers: ["acme"], can: ["run", "limits"] });
    assertProblem(await service.request("GET", "/api/usage", { token: runner }), 403, "token_forbidden");
    assertProblem(await service.request("GET", "/api/usage", { token: null }), 403, "token_missing");
  });

  it("selects by from and to", async () => {
    const from = new Date(Date.now() + HOUR_MS).toISOString();
    const to = new Date(Date.now() + 2 * HOUR_MS).toISOString();
    assert.deepEqual(await usage({ from, to }), []);
    const yesterday = new Date(Date.now() - 24 * HOUR_MS).toISOString().slice(0, 10);
    assert.equal((await usage({ from: yesterday, step: "day", to })).length, 2);
  });

  it("returns CSV to clients that accept it", async () => {
    const csv = await ask("text/csv");
    assert.equal(csv.headers["content-type"], "text/csv; charset=utf-8; header=present");
    const [head, ...lines] = csv.text.trimEnd().split("\r\n");
    assert.match(head!, /^from,container,runs,runs_running,runs_ok,/);
    assert.match(head!, /,refused_container_limited,cpu_ms,run_ms,egress_bytes$/);
    assert.match(lines[0]!, /^\d{4}-\d\d-\d\dT00:00:00\.000Z,acme,15,0,13,/);
    assert.equal(lines.length, 2);
    for (const accept of ["*/*", "application/json", "text/csv;q=0", "text/csv;q=0.5, application/json"]) {
      assert.equal((await ask(accept)).headers["content-type"], "application/json", accept);
    }
  });

  const faults: [Record<string, string>, string][] = [
    [{ by: "family" }, "by"],
    [{ step: "minute" }, "step"],
    [{ from: "yesterday" }, "from"],
    [{ to: "2026-02-30" }, "to"],
    [{ from: "2026-11-23", to: "2026-11-23" }, "from"],
    [{ container: "acme" }, "container"],
  ];
  for (const [query, member] of faults) {
    it(`refuses ${JSON.stringify(query)} and names ${member}`, async () => {
      const answer = await service.request("GET", "/api/usage", { query });
      assertProblem(answer, 400, "request_invalid");
      const { violations } = answer.json() as { violations: { member: string }[] };
      assert.deepEqual(
        violations.map((violation) => violation.member),
        [member],
      );
    });
  }

  it("adds up the containers of a family with too many, and names those of the others", async () => {
    const query = { from: new Date(FLOOD_MS).toISOString(), to: new Date(FLOOD_MS + HOUR_MS).toISOString() };
    const answer = await service.request("GET", "/api/usage", { query });
    assert.equal(answer.status, 200, answer.text);
    const { usage: rows, truncated } = answer.json() as { usage: UsageRow[]; truncated: boolean };
    assert.deepEqual([truncated, rows.length <= 10_000, rows[0]?.container], [true, true, "(other)"]);
    assert.ok(rows.some(({ container }) => container === "quiet"));
    assert.equal(
      rows.reduce((sum, { runs }) => sum + runs["interrupted"]!, 0),
      10_501,
    );
    const csv = await service.request("GET", "/api/usage", { query, headers: { accept: "text/csv" } });
    assert.equal(csv.headers["caisson-truncated"], "?1");
    const token = await service.issue({ containers: ["quiet"], can: ["logs"] });
    const own = await service.request("GET", "/api/usage", { query, token });
    const seen = own.json() as { usage: UsageRow[]; truncated: boolean };
    assert.deepEqual([own.status, seen.truncated, seen.usage.length], [200, false, 1]);
  });

  it("refuses a parameter that occurs twice", async () => {
    assertProblem(await service.request("GET", "/api/usage?by=task&by=token"), 400, "request_invalid");
  });
});

/** Returns what a service has counted by token. */
async function countedBy(from: Service): Promise<unknown> {
  const answer = await from.request("GET", "/api/usage", { query: { by: "token", step: "day" } });
  const { usage: rows } = answer.json() as { usage: UsageRow[] };
  return rows.map(({ container, token, runs, refused }) => [container, token, runs, refused]);
}

it("runs over HTTP are counted by outcome at once, and refused requests by code, also after a restart", async () => {
  await using place = await makeHome();
  const first = await startService(NO_WALL, place);
  let expected: unknown;
  try {
    const token = await first.issue({ containers: ["counted"], limits: { container: { day: 3 } } });
    for (const code of ["1", "throw new Error('x')", ")", "1"]) await first.run("counted", code, { token });
    expected = [["counted", jtiOf(token), { ok: 1, threw: 1, syntax: 1 }, { container_limited: 1 }]];
    assert.deepEqual(await countedBy(first), expected);
  } finally {
    await first.stop();
  }
  const second = await startService(NO_WALL, place);
  try {
    assert.deepEqual(await countedBy(second), expected);
  } finally {
    await second.stop();
  }
});

it("equals the admitted runs over HTTP after restarts and kill -9, over all tokens and outcomes", async (t) => {
  await using place = await makeHome();
  // `npm run test:long` has 100,000 runs. `test/records/usage/restarts.test.ts` has them without HTTP.
  const [starts, runs] = isLong ? [10, 10_000] : [2, 400];
  const answered = { ok: 0, threw: 0 };
  for (let round = 0; round < starts; round++) {
    const at = await startService(NO_WALL, place);
    const tokens: string[] = [];
    for (let each = 0; each < 4; each++) tokens.push(await at.issue({ containers: [`sum-${each}`], can: ["run"] }));
    const { ok, threw } = await runAll(at, tokens, runs);
    answered.ok += ok;
    answered.threw += threw;
    if (round % 2 === 1) await at.stop();
    else {
      // The last second before the kill may be lost.
      await pause(2_000);
      await at.kill9();
    }
  }
  t.diagnostic(`${answered.ok + answered.threw} runs`);
  assert.equal(answered.ok + answered.threw, starts * runs);
  const last = await startService(NO_WALL, place);
  try {
    for (const by of ["container", "task", "token"]) {
      const answer = await last.request("GET", "/api/usage", { query: { by, step: "day" } });
      const { usage: rows } = answer.json() as { usage: UsageRow[] };
      const sum = (status: string): number => rows.reduce((all, row) => all + (row.runs[status] ?? 0), 0);
      assert.deepEqual({ ok: sum("ok"), threw: sum("threw") }, answered, by);
    }
  } finally {
    await last.stop();
  }
});

/** Runs code over 16 connections: one of ten runs throws. @returns the answers by their outcome */
async function runAll(
  { port }: Service,
  tokens: readonly string[],
  count: number,
): Promise<{ ok: number; threw: number }> {
  const agent = new Agent({ keepAlive: true, maxSockets: 16 });
  const statuses = new Map<number, number>();
  let left = count;
  const send = (at: number): Promise<number> => {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const headers = { Authorization: `Bearer ${tokens[at % tokens.length]}` };
    const path = `/api/run/sum-${at % tokens.length}`;
    const sent = request({ host: "127.0.0.1", port, method: "POST", path, headers, agent }, (response) => {
      response.resume().once("end", () => resolve(response.statusCode!));
    });
    sent.once("error", reject).end(at % 10 === 0 ? "throw 1" : "1");
    return promise;
  };
  const sender = async (): Promise<void> => {
    while (left > 0) {
      const status = await send(--left);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: 16 }, sender));
  agent.destroy();
  return { ok: statuses.get(200) ?? 0, threw: statuses.get(500) ?? 0 };
}
