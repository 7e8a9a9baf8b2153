import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { failureGroups } from "../../../src/nodes/answers/failures.ts";
import { LINES_TYPE } from "../../../src/nodes/ask-node.ts";
import { NodeCredentials, SCHEME } from "../../../src/nodes/node-credential.ts";
import type { Peer } from "../../../src/nodes/node-registry.ts";
import type { Reader } from "../../../src/nodes/reader.ts";
import { parseCursor, type RunQuery } from "../../../src/records/query.ts";
import { Records } from "../../../src/records/records.ts";
import { type Answer, request, respond } from "../../contract/http.ts";
import { assertProblem } from "../../contract/problem.ts";
import { until } from "../../contract/until.ts";
import { BOUNDS } from "../../records/bounds.ts";
import { parseEvents } from "../../records/event-stream.ts";
import { MemoryRecordStore } from "../../records/memory-store.ts";
import { runOf } from "../../records/run-of.ts";
import { listening } from "../listening.ts";
import { CLIENT, SELF, type ServedRecords, serveRecords } from "./served-records.ts";

interface FailurePage {
  readonly failures: readonly { readonly name: string; readonly count: number }[];
  readonly next: string | null;
  readonly complete: boolean;
  readonly nodes: object;
}

const OTHER = "0123456789ab";
const READER: Reader = {
  ...{ jti: "11111111-1111-4111-8111-111111111111", family: "22222222-2222-4222-8222-222222222222", admin: false },
  ...{ containers: ["demo"], can: ["logs"], client: CLIENT },
};

/** Asks the served node as another node does. */
async function ask(
  { tokens, port }: ServedRecords,
  target: string,
  {
    reader = READER,
    method = "GET" as const,
    signed = target,
  }: { reader?: Reader; method?: "GET"; signed?: string } = {},
): Promise<Answer> {
  const credentials = new NodeCredentials(tokens.keys, OTHER, () => tokens.clock.nowMs);
  const credential = await credentials.sign(reader, SELF, { method, target: signed });
  return request(port, method, target, { headers: { Authorization: `${SCHEME} ${credential}` } });
}

describe("a request of another node", () => {
  it("is answered with what this node has, for the rights of the reader", async (t) => {
    const served = await serveRecords(t, []);
    for (const container of ["demo", "other"]) served.records.ended(runOf({ container, status: "threw" }));
    for (const target of ["/api/runs", "/api/runs/demo", "/api/failures"]) {
      const answer = await ask(served, target);
      assert.deepEqual([answer.status, answer.headers["content-type"]], [200, LINES_TYPE]);
      const lines = answer.text.split("\n").slice(0, -1);
      assert.equal(lines.length, 2, answer.text);
      assert.match(lines[0]!, /"container":"demo"/);
    }
    assertProblem(await ask(served, "/api/runs/other"), 403, "token_forbidden");
    assertProblem(await ask(served, "/api/runs", { reader: { ...READER, can: [] } }), 403, "token_forbidden");
    assertProblem(await ask(served, "/api/audit"), 403, "token_forbidden");
    assertProblem(await ask(served, "/api/runs?limit=0"), 400, "request_invalid");
  });

  it("for live events is answered with those of this node, for the rights of the reader, and follows no other node", async (t) => {
    let asked = 0;
    const port = await listening(t, { request: (_, response) => response.writeHead(500).end(String(asked++)) });
    const served = await serveRecords(t, [{ process: OTHER, url: `http://127.0.0.1:${port}`, isAlive: true }]);
    const credentials = new NodeCredentials(served.tokens.keys, OTHER, () => served.tokens.clock.nowMs);
    const credential = await credentials.sign(READER, SELF, { method: "GET", target: "/api/events" });
    const headers = { Authorization: `${SCHEME} ${credential}` };
    const response = await respond(served.port, "GET", "/api/events", { headers });
    assert.equal(response.statusCode, 200);
    let text = "";
    response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
    await until(() => text.includes("id: "), "the stream has begun");
    for (const container of ["foreign", "demo"]) served.records.ended(runOf({ container }));
    await until(() => text.includes("event: record"), "the run has arrived");
    assert.deepEqual([parseEvents(text).length, text.includes("foreign"), asked], [1, false, 0]);
    response.destroy();
    assertProblem(await ask(served, "/api/events", { reader: { ...READER, can: [] } }), 403, "token_forbidden");
    assertProblem(await ask(served, "/api/runs/demo/events"), 403, "token_missing");
  });

  it("is refused if its credential is for another request, was used before, or is not of a node", async (t) => {
    const served = await serveRecords(t, []);
    const { tokens, port, issue } = served;
    assertProblem(await ask(served, "/api/runs?limit=5", { signed: "/api/runs" }), 403, "token_invalid");
    const credentials = new NodeCredentials(tokens.keys, OTHER, () => tokens.clock.nowMs);
    const send = (target: string, authorization: string): Promise<Answer> =>
      request(port, "GET", target, { headers: { Authorization: authorization } });
    const credential = await credentials.sign(READER, SELF, { method: "GET", target: "/api/runs" });
    assertProblem(await send("/api/runs", `Bearer ${credential}`), 403, "token_invalid");
    assert.equal((await send("/api/runs", `${SCHEME} ${credential}`)).status, 200);
    assertProblem(await send("/api/runs", `${SCHEME} ${credential}`), 403, "token_invalid");
    const { token } = await issue({ admin: true });
    assertProblem(await send("/api/runs", `${SCHEME} ${token}`), 403, "token_invalid");
  });

  it("permits nothing but the reads that nodes exchange", async (t) => {
    const served = await serveRecords(t, []);
    const reader = { ...READER, admin: true };
    for (const target of ["/api/tokens", "/api/containers", "/api/tasks/demo", "/api/runs/demo/events"]) {
      assertProblem(await ask(served, target, { reader }), 403, "token_missing");
    }
  });

  it("is refused by a service without other nodes", async (t) => {
    assertProblem(await ask(await serveRecords(t), "/api/runs"), 403, "token_missing");
  });
});

describe("a read that concerns several nodes", () => {
  it("counts each failure once over all pages, although the nodes count to different times", async (t) => {
    const store = new MemoryRecordStore();
    const records = new Records({ store, bounds: BOUNDS, running: () => [] });
    const peer = await listening(t, {
      request: (incoming, response) => {
        const search = new URL(incoming.url!, "http://node").searchParams;
        const time = (name: string): number | null => (search.has(name) ? Date.parse(search.get(name)!) : null);
        const query: RunQuery = {
          ...{ permitted: ["demo"], container: null, task: null, statuses: null, text: null, count: 0 },
          ...{ sinceMs: time("since"), untilMs: time("until"), after: parseCursor(search.get("cursor") ?? "") },
        };
        const answer = async (): Promise<void> => {
          const lines = await failureGroups(query).write(await records.failures(query, "f"), "f");
          response.setHeader("Content-Type", LINES_TYPE).end(lines);
        };
        void answer();
      },
    });
    const served = await serveRecords(t, [{ process: OTHER, url: `http://127.0.0.1:${peer}`, isAlive: true }]);
    const { token } = await served.issue({ containers: ["demo"], can: ["logs"] });
    for (let at = 0; at < 60; at++) {
      const name = `E${at % 3}`;
      // Some begin in the same millisecond, on one node or on both.
      const run = runOf({ status: "threw", startedMs: 1_000 + Math.floor(at / 2), error: { name } });
      (at % 5 < 3 ? store : served.store).add(run.kept());
    }
    [store.mostLooked, served.store.mostLooked] = [7, 5];
    const counts: Record<string, number> = {};
    let pages = 0;
    for (let cursor = ""; ; pages++) {
      const answer = await served.get(`/api/failures${cursor && `?cursor=${cursor}`}`, token);
      const { failures, next, complete, nodes } = answer.json() as FailurePage;
      assert.deepEqual([nodes, complete], [{ asked: 2, answered: 2 }, next === null], answer.text);
      for (const { name, count } of failures) counts[name] = (counts[name] ?? 0) + count;
      if (next === null) break;
      cursor = next;
    }
    assert.deepEqual(counts, { E0: 20, E1: 20, E2: 20 });
    assert.ok(pages > 4, `${pages} pages`);
  });

  it("sends no token to the other nodes, however the client has sent it", async (t) => {
    const seen: string[] = [];
    const peers: Peer[] = [];
    const peer = await listening(t, {
      request: (incoming, response) => {
        seen.push(incoming.url!, incoming.headers.authorization!);
        const lines = `${JSON.stringify({ next: null, omitted: 2, history: "kept" })}\n`;
        response.setHeader("Content-Type", LINES_TYPE).end(lines);
      },
    });
    peers.push({ process: OTHER, url: `http://127.0.0.1:${peer}`, isAlive: true });
    const { port, records, issue, get } = await serveRecords(t, peers);
    const { token } = await issue({ containers: ["demo"], can: ["logs"] });
    records.ended(runOf());
    const answers = [
      await get("/api/runs?limit=5&status=ok", token),
      await request(port, "GET", `/api/runs?limit=5&key=${token}&status=ok`, {}),
    ];
    for (const answer of answers) {
      const { runs, nodes, omitted } = answer.json() as { runs: object[]; nodes: object; omitted: number };
      assert.deepEqual([runs.length, nodes, omitted], [1, { asked: 2, answered: 2 }, 2], answer.text);
    }
    const [first, firstCredential, second, secondCredential] = seen;
    assert.deepEqual([first, second], ["/api/runs?limit=5&status=ok", "/api/runs?limit=5&status=ok"]);
    assert.notEqual(firstCredential, secondCredential);
    assert.ok(!seen.join().includes(token));
  });

  it("counts the node itself if it is the only one", async (t) => {
    const { issue, get } = await serveRecords(t);
    const { token } = await issue({ containers: ["demo"], can: ["logs"] });
    for (const target of ["/api/runs", "/api/runs/demo", "/api/failures"]) {
      assert.deepEqual(((await get(target, token)).json() as { nodes: object }).nodes, { asked: 1, answered: 1 });
    }
  });

  it("reports a node without a URL as one that did not answer", async (t) => {
    const { issue, get } = await serveRecords(t, [{ process: OTHER, url: null, isAlive: true }]);
    const { token } = await issue({ containers: ["demo"], can: ["logs"] });
    const answer = await get("/api/failures", token);
    const { nodes, complete } = answer.json() as { nodes: object; complete: boolean };
    assert.deepEqual([nodes, complete], [{ asked: 2, answered: 1 }, false]);
    assertProblem(await get("/api/runs/demo/0123456789ab-1", token), 503, "node_unavailable");
    assertProblem(await get("/api/runs/demo/not-a-run", token), 404, "not_found");
    assertProblem(await get(`/api/runs/demo/${SELF}-1`, token), 404, "not_found");
  });

  it("counts against its family, however many tokens the family has", async (t) => {
    const held: (() => void)[] = [];
    const peer = await listening(t, {
      request: (_, response) => {
        held.push(() => response.writeHead(404).end());
      },
    });
    const url = `http://127.0.0.1:${peer}`;
    const { tokens, issue, get } = await serveRecords(t, [{ process: OTHER, url, isAlive: true }]);
    const head = await issue({ containers: ["demo"], can: ["logs", "issue"], depth: 1 });
    const above = await tokens.verifier.verify(head.token);
    const children = await Promise.all(
      Array.from({ length: 50 }, () => tokens.issue({ containers: ["demo"], can: ["logs"] }, above)),
    );
    let refused = 0;
    const answers = children.map(async ({ token }) => {
      const answer = await get("/api/runs", token);
      if (answer.status !== 200) refused += 1;
      return answer;
    });
    await until(() => held.length === 4 && refused === 50 - BOUNDS.familyReads, "four reads run, and four wait");
    const timer = setInterval(() => held.splice(0).forEach((go) => go()), 5);
    t.after(() => clearInterval(timer));
    for (const answer of await Promise.all(answers)) {
      if (answer.status !== 200) assertProblem(answer, 429, "token_limited");
    }
  });
});
