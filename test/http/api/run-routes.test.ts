import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { recordText } from "../../../src/http/api/run-texts.ts";
import type { Answer } from "../../contract/http.ts";
import { assertProblem } from "../../contract/problem.ts";
import { runOf } from "../../records/run-of.ts";
import { serveRecords } from "./served-records.ts";

interface Page {
  runs: { run: string; container: string; status: string }[];
  next: string | null;
  omitted: number;
  history: string;
}

function pageOf(answer: Answer): Page {
  assert.equal(answer.status, 200, answer.text);
  assert.match(answer.headers["content-type"]!, /^application\/json/);
  return answer.json() as Page;
}

/** Returns all paths that name a container or a run. */
function pathsOf(container: string, run: string): string[] {
  return [
    ...[`/api/runs/${container}`, `/api/runs/${container}/${run}`, `/api/runs/${container}/${run}/console`],
    ...[`/api/runs/${container}/events`, `/api/runs?container=${container}`, `/api/failures?container=${container}`],
  ];
}

describe("the record of a run", () => {
  it("is written in short steps, and reads as it was", async () => {
    // A character of two units at the end of a step.
    const input = `${"x".repeat(8_191)}\u{1f600}${"\u0001".repeat(4 * 2 ** 20)}`;
    const { record } = runOf({ input, printed: ["one"] });
    let turns = 0;
    let isOver = false;
    const count = (): void => {
      turns += 1;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    const text = await recordText(record, "family");
    isOver = true;
    assert.deepEqual(JSON.parse(text), record);
    assert.ok(turns > 2, `other work had ${turns} turns`);
  });
});

describe("the lists of runs", () => {
  it("have the runs of the containers that the token permits", async (t) => {
    const { records, issue, get } = await serveRecords(t);
    for (const container of ["acme", "acme-2", "other"]) records.ended(runOf({ container, printed: ["hidden"] }));
    const { token } = await issue({ containers: ["acme", "acme-*"], can: ["logs"] });
    const page = pageOf(await get("/api/runs", token));
    assert.deepEqual(
      page.runs.map(({ container }) => container),
      ["acme-2", "acme"],
    );
    assert.deepEqual([page.next, page.omitted, page.history], [null, 0, "kept"]);
    for (const target of ["/api/runs?container=acme", "/api/runs/acme", "/api/runs/%61cme"]) {
      const { runs } = pageOf(await get(target, token));
      assert.deepEqual(
        runs.map(({ container }) => container),
        ["acme"],
      );
    }
    const answer = await get("/api/runs", token);
    assert.ok(!answer.text.includes("hidden"));
  });

  it("can be filtered, and are read page by page", async (t) => {
    const { records, running, issue, get } = await serveRecords(t);
    const nowMs = Date.now();
    for (let at = 0; at < 30; at++) {
      const status = at % 3 === 0 ? ("threw" as const) : ("ok" as const);
      records.ended(
        runOf({
          status,
          startedMs: nowMs - 30_000 - at * 60_000,
          task: at % 2 ? "job" : null,
          printed: [`line ${at}.`],
        }),
      );
    }
    running.push(runOf({ status: "running", startedMs: nowMs }));
    const { token } = await issue({ containers: ["demo"], can: ["logs"] });
    const counts: Readonly<Record<string, number>> = {
      "": 31,
      "?task=job": 15,
      "?status=threw": 10,
      "?status=running,threw": 11,
      "?since=9m30s": -1,
      "?since=10m": 11,
      [`?since=${new Date(nowMs - 600_000).toISOString()}`]: 11,
      [`?until=${new Date(nowMs - 600_000).toISOString()}`]: 20,
      "?until=2020-01-01T00:00:00%2B01:00": 0,
      "?until=2020-01-01T00:00:00+01:00": 0,
      "?since=2020-01-01": 31,
      "?until=29m": 1,
      "?q=LINE+7.": 1,
      "?q=it+failed&status=threw": 10,
      "?container=demo&q=": 31,
      "?container=none": -2,
    };
    for (const [search, count] of Object.entries(counts)) {
      const answer = await get(`/api/runs${search}`, token);
      if (count === -1) assertProblem(answer, 400, "request_invalid");
      else if (count === -2) assertProblem(answer, 403, "token_forbidden");
      else assert.equal(pageOf(answer).runs.length, count, search);
    }
    const seen: string[] = [];
    for (let cursor = ""; ;) {
      const { runs, next } = pageOf(await get(`/api/runs/demo?limit=4${cursor && `&cursor=${cursor}`}`, token));
      seen.push(...runs.map(({ run }) => run));
      if (next === null) break;
      assert.equal(runs.length, 4);
      cursor = next;
    }
    assert.equal(new Set(seen).size, 31);
    assert.equal(seen.length, 31);
  });

  it("name the parameter that is not valid", async (t) => {
    const { issue, get } = await serveRecords(t);
    const { token } = await issue({ containers: ["demo"], can: ["logs"] });
    const faults: readonly (readonly [search: string, detail: RegExp])[] = [
      ["limt=3", /: limt /],
      ["limit=0", /: limit /],
      ["limit=1001", /: limit /],
      ["limit=1&limit=1", /limit occurs more than once/],
      ["task=a&task=b", /task occurs more than once/],
      ["task=-", /task name/],
      ["status=", /: status /],
      ["status=ok,", /: status /],
      ["status=okay", /: status must be one or more of running, ok, /],
      [`status=${"ok,".repeat(500)}x`, /: status /],
      ["since=yesterday", /: since /],
      ["since=2026-11", /: since /],
      ["since=2026-13-23T00:00:00Z", /: since /],
      ["until=2026-11-31", /: until /],
      ["until=5", /: until /],
      ["since=-1h", /: since /],
      ["since=", /: since /],
      ["cursor=1", /: cursor /],
      ["cursor=1.00000000cafe-1.", /: cursor /],
      [`cursor=${"1".repeat(16)}.00000000cafe-1`, /: cursor /],
      [`q=${"x".repeat(201)}`, /: q /],
    ];
    for (const [search, detail] of faults) {
      for (const target of ["/api/runs", "/api/runs/demo"]) {
        const problem = assertProblem(await get(`${target}?${search}`, token), 400, "request_invalid");
        assert.match(problem.detail, detail, search);
        assert.ok(problem.detail.length < 300);
      }
    }
    assertProblem(await get("/api/runs/demo?container=demo", token), 400, "request_invalid");
    assertProblem(await get("/api/runs?container=-", token), 400, "container_invalid");
    assertProblem(await get("/api/runs/-", token), 400, "container_invalid");
    assertProblem(await get("/api/failures?status=threw", token), 400, "request_invalid");
    assertProblem(await get("/api/failures?limit=3", token), 400, "request_invalid");
    assertProblem(await get("/api/failures?since=x", token), 400, "request_invalid");
    assertProblem(await get("/api/runs/demo/00000000cafe-1?x=1", token), 400, "request_invalid");
    assertProblem(await get("/api/runs/demo/00000000cafe-1/console?x=1", token), 400, "request_invalid");
    assertProblem(await get("/api/runs/demo/events?x=1", token), 400, "request_invalid");
  });

  it("are cut to pages of a few megabytes, and no run is lost between two pages", async (t) => {
    const { records, issue, get } = await serveRecords(t);
    for (let at = 0; at < 40; at++) records.ended(runOf({ status: "threw", error: { message: "m".repeat(200_000) } }));
    const { token } = await issue({ containers: ["demo"], can: ["logs"] });
    const lengths: number[] = [];
    const seen = new Set<string>();
    for (let cursor = ""; ;) {
      const answer = await get(`/api/runs/demo?limit=1000${cursor && `&cursor=${cursor}`}`, token);
      const { runs, next } = pageOf(answer);
      assert.ok(answer.bytes.length < 2.5 * 2 ** 20);
      lengths.push(runs.length);
      for (const { run } of runs) seen.add(run);
      if (next === null) break;
      cursor = next;
    }
    assert.ok(lengths.length >= 4);
    assert.deepEqual([seen.size, lengths.reduce((sum, length) => sum + length)], [40, 40]);
  });
});

describe("reading needs the verb logs and a container that the token permits", () => {
  it("and the answer is otherwise the same whether a container or a run exists", async (t) => {
    const { records, issue, get } = await serveRecords(t);
    const run = runOf({ container: "secret", status: "threw" });
    records.ended(run);
    const blind = await issue({ containers: ["*"], can: ["run", "limits", "tasks"] });
    const foreign = await issue({ containers: ["mine"], can: ["logs"] });
    const unknown = pathsOf("absent", "00000000cafe-zz");
    for (const { token } of [blind, foreign]) {
      for (const [at, target] of pathsOf("secret", run.run).entries()) {
        const problem = assertProblem(await get(target, token), 403, "token_forbidden");
        assert.deepEqual(assertProblem(await get(unknown[at]!, token), 403, "token_forbidden"), problem);
      }
    }
    for (const target of ["/api/runs", "/api/failures"]) {
      assertProblem(await get(target, blind.token), 403, "token_forbidden");
    }
    assert.deepEqual(pageOf(await get("/api/runs", foreign.token)).runs, []);
  });

  it("and an unknown run of a permitted container is not found", async (t) => {
    const { records, issue, get } = await serveRecords(t);
    const run = runOf({ container: "mine" });
    records.ended(run);
    const { token } = await issue({ containers: ["mine", "mine-too"], can: ["logs"] });
    assert.equal((await get(`/api/runs/mine/${run.run}`, token)).status, 200);
    for (const target of [`mine-too/${run.run}`, "mine/00000000cafe-zz", "mine/x", "mine/", `mine/${run.run}/x`]) {
      assertProblem(await get(`/api/runs/${target}`, token), 404, "not_found");
    }
    assertProblem(await get("/api/runs/mine-too/x/console", token), 404, "not_found");
  });
});

describe("the record of a run", () => {
  it("has the code and the input of a named task only for a token with the verb tasks", async (t) => {
    const { records, issue, get } = await serveRecords(t);
    const ofTask = runOf({ status: "threw", task: "job", input: "the input", printed: ["hi"] });
    const submitted = runOf({ status: "threw", printed: ["hi"] });
    records.ended(ofTask);
    records.ended(submitted);
    const reader = await issue({ containers: ["demo"], can: ["logs"] });
    const owner = await issue({ containers: ["demo"], can: ["logs", "tasks"] });
    const recordFor = async (run: string, { token }: { token: string }): Promise<Record<string, unknown>> => {
      const answer = await get(`/api/runs/demo/${run}`, token);
      assert.equal(answer.status, 200);
      return answer.json() as Record<string, unknown>;
    };
    assert.deepEqual(await recordFor(ofTask.run, owner), ofTask.record);
    assert.deepEqual(await recordFor(submitted.run, reader), submitted.record);
    const { input: _input, ...rest } = ofTask.record;
    const { error } = ofTask.record;
    const hidden = { ...rest, error: { ...error, at: { ...error!.at, frame: null } } };
    assert.deepEqual(await recordFor(ofTask.run, reader), hidden);
  });

  it("has a console as text, in which no line can pretend to be another or act on a terminal", async (t) => {
    const { records, issue, get } = await serveRecords(t);
    const forged = "first\n     9 ms error forged\r\nthird\rfourth\u2028fifth";
    const run = runOf({ printed: [forged, "\u001b[2Jred\u0007\ttab \u202eevil\0", "plain ünïcödé 😀"] });
    records.ended(run);
    const { token } = await issue({ containers: ["demo"], can: ["logs"] });
    const answer = await get(`/api/runs/demo/${run.run}/console`, token);
    assert.match(answer.headers["content-type"]!, /^text\/plain/);
    assert.deepEqual(answer.text.split("\n"), [
      "     0 ms info  first",
      "     0 ms info       9 ms error forged",
      "     0 ms info  third",
      "     0 ms info  fourth",
      "     0 ms info  fifth",
      "     1 ms info  \\u001b[2Jred\\u0007\ttab \\u202eevil\\u0000",
      "     2 ms info  plain ünïcödé 😀",
      "",
    ]);
  });

  it("has a console as NDJSON for a client that accepts it", async (t) => {
    const { records, issue, get } = await serveRecords(t);
    const run = runOf({ printed: ["one\ntwo", "three"] });
    records.ended(run);
    const { token } = await issue({ containers: ["demo"], can: ["logs"] });
    const headers = { accept: "application/x-ndjson" };
    const answer = await get(`/api/runs/demo/${run.run}/console`, token, { headers });
    assert.equal(answer.headers["content-type"], "application/x-ndjson");
    const lines = answer.text.trimEnd().split("\n");
    assert.deepEqual(
      lines.map((line) => JSON.parse(line) as unknown),
      run.record.console.map((line) => ({ run: run.run, ...line })),
    );
  });

  it("has a console that is cut if its text becomes much longer as text", async (t) => {
    const { records, store, issue, get } = await serveRecords(t);
    const run = runOf({ printed: ["\n".repeat(60_000)] });
    records.ended(run);
    const { token } = await issue({ containers: ["demo"], can: ["logs"] });
    const answer = await get(`/api/runs/demo/${run.run}/console`, token);
    assert.equal(answer.text.split("\n").length, 60_002);
    const longer = runOf({ printed: ["\n".repeat(500_000)] });
    store.add(longer.kept());
    const cut = await get(`/api/runs/demo/${longer.run}/console`, token);
    assert.ok(cut.bytes.length < 5 * 2 ** 20);
    assert.match(cut.text, /\(the rest is too long for this form\)\n$/);
  });
});

describe("GET /api/failures", () => {
  it("groups the failures of the containers that the token permits", async (t) => {
    const { records, issue, get } = await serveRecords(t);
    for (const container of ["acme", "acme", "other"]) records.ended(runOf({ container, status: "threw" }));
    records.ended(
      runOf({ container: "acme", status: "timeout", task: "job", error: { code: "task_timeout", at: null } }),
    );
    const { token } = await issue({ containers: ["acme"], can: ["logs"] });
    const read = async (search: string): Promise<{ failures: Record<string, unknown>[]; complete: boolean }> => {
      const answer = await get(`/api/failures${search}`, token);
      assert.equal(answer.status, 200);
      return answer.json() as { failures: Record<string, unknown>[]; complete: boolean };
    };
    const { failures, complete } = await read("");
    assert.deepEqual(
      failures.map(({ container, task, code, frame, count }) => [container, task, code, frame, count]),
      [
        ["acme", "job", "task_timeout", null, 1],
        ["acme", null, "task_threw", "task.js:3", 2],
      ],
    );
    assert.equal(complete, true);
    assert.equal((await read("?task=job&container=acme")).failures.length, 1);
    assert.deepEqual((await read("?since=1h")).failures, []);
  });
});
