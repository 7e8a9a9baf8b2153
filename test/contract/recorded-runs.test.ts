import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import type { RunRecord } from "../../src/records/record.ts";
import { isLong } from "../long.ts";
import type { Answer, RequestOptions } from "./http.ts";
import { assertProblem } from "./problem.ts";
import { NO_WALL, type Service, startService } from "./service.ts";
import { until } from "./until.ts";

let service: Service;

before(async () => {
  service = await startService([...NO_WALL, "--container-limit", "hour=1000000"]);
});
after(() => service.stop());

type Shown = RunRecord & { result: unknown; resultTruncated?: boolean };

async function record(container: string, code: string, options: RequestOptions = {}): Promise<Shown> {
  return shown(await service.request("POST", `/api/runs/${container}`, { body: code, ...options }));
}

function shown(answer: Answer): Shown {
  assert.equal(answer.status, 200, answer.text);
  assert.match(answer.headers["content-type"]!, /^application\/json/);
  return answer.json() as Shown;
}

interface EventOfRun {
  readonly event: string;
  readonly data: {
    readonly text?: string;
    readonly result?: unknown;
    readonly status?: string;
    readonly code?: string;
  };
}

function eventsOf({ text }: Answer): EventOfRun[] {
  return text
    .split("\n\n")
    .filter((block) => block !== "")
    .map((block) => {
      const [, event, data] = /^event: (\w+)\ndata: ([^\n]*)$/.exec(block) ?? assert.fail(block);
      return { event: event!, data: JSON.parse(data!) as EventOfRun["data"] };
    });
}

describe("POST /api/runs/{container} answers with the record of the run", () => {
  it("which has the result, the console, the times and the guest", async () => {
    const run = await record("r-ok", 'console.log("hi", 1); console.error("oh"); return { a: [42] }');
    assert.equal(run.status, "ok");
    assert.deepEqual(run.result, { a: [42] });
    assert.equal(run.resultType, "application/json");
    assert.deepEqual(
      run.console.map(({ level, text }) => [level, text]),
      [
        ["info", "hi 1"],
        ["error", "oh"],
      ],
    );
    assert.ok(run.console.every(({ atMs }) => atMs >= 0));
    assert.match(run.run, /^[0-9a-f]{12}-[0-9a-z]+$/);
    assert.equal(run.container, "r-ok");
    assert.deepEqual([run.task, run.version, run.trigger, run.error, run.hint], [null, null, "call", null, null]);
    assert.ok(Math.abs(Date.parse(run.startedAt) - Date.now()) < 60_000);
    assert.ok(run.ms.queue! >= 0 && run.ms.start! >= 0 && run.ms.run! > 0);
    assert.match(run.start!, /^(?:warm|new|cold)$/);
    assert.ok(run.guest.cpuMs! >= 0 && run.guest.memoryPeakBytes! > 2 ** 20);
    assert.equal(run.guest.concurrentRuns, 0);
    assert.deepEqual(run.egress, { connections: 0, bytesSent: 0, bytesReceived: 0, refused: 0 });
    assert.deepEqual(run.dropped, { lines: 0, bytes: 0 });
    assert.equal(run.limits.container["hour"]!.limit, 1_000_000);
    assert.equal(run.limits.container["hour"]!.setBy, "default");
  });

  it("without a peak of memory if the guest has ended: what it had at the beginning is no peak", async () => {
    const body = "const kept = []; for (;;) kept.push(Buffer.alloc(2 ** 25, 1))";
    const run = shown(await service.request("POST", "/api/runs/r-ends", { body }));
    // On a busy machine it may block for too long first.
    assert.match(run.status, /^(?:memory|blocked)$/);
    assert.equal(run.guest.memoryPeakBytes, null);
  });

  it("which has the id of the header Caisson-Run", async () => {
    const answer = await service.request("POST", "/api/runs/r-id", { body: "1" });
    assert.equal(shown(answer).run, answer.headers["caisson-run"]);
  });

  it("which counts the processor time of the run", async () => {
    // Counted by the guest itself, because a busy machine may give it little of the time that passes.
    const code = "const { user } = process.cpuUsage(); while (process.cpuUsage().user - user < 100_000); return 1";
    const run = await record("r-cpu", code);
    assert.ok(run.guest.cpuMs! >= 90, String(run.guest.cpuMs));
  });

  for (const [status, code, expected] of [
    ["threw", 'throw new TypeError("no")', "task_threw"],
    ["called_back", 'module.exports = (cb) => cb(new Error("no"))', "task_error"],
    ["exited", "process.exit(3)", "task_exited"],
    ["syntax", "return 1 +", "code_syntax"],
    ["unserializable", "return 1n", "result_unserializable"],
    ["refused", "module.exports = class {}", "code_shape"],
    ["refused", "import 'left-pad'; export default 1", "module_missing"],
    ["stalled", "await new Promise(() => {})", "task_stalled"],
    ["too_large", "return 'x'.repeat(7 * 2 ** 20)", "result_too_large"],
    ...(isLong
      ? ([
          ["blocked", "for (;;);", "task_blocked"],
          ["memory", "const kept = []; for (;;) kept.push(new Array(100_000).fill(kept.length))", "task_memory"],
        ] as const)
      : []),
  ] as const) {
    it(`with status 200 for an admitted run that failed: ${status} ${expected}`, async () => {
      const run = await record("r-failed", code);
      assert.equal(run.status, status);
      assert.equal(run.error!.code, expected);
      assert.equal(run.result, null);
    });
  }

  it("which names the position at which an error was thrown", async () => {
    const { error } = await record("r-at", "const a = 1;\nconst b = 2;\nthrow new RangeError('far');\n");
    assert.equal(error!.name, "RangeError");
    assert.equal(error!.message, "far");
    assert.deepEqual([error!.at!.line, error!.at!.column], [3, 7]);
    assert.match(error!.at!.frame!, /throw new RangeError/);
    assert.match(error!.stack!, /RangeError: far\n\s+at .*3:7/);
  });

  it("in which no frame of the service's own program is, neither of a thrown nor of a printed error", async () => {
    const code =
      "const error = new Error('shown');\nconsole.log(error);\nconsole.error(error.stack);\nsetTimeout(() => {});\nthrow error";
    const { console: lines, error } = await record("r-frames", code);
    const texts = [...lines.map(({ text }) => text), error!.stack!];
    assert.equal(texts.length, 3);
    for (const text of texts) {
      assert.match(text, /task\.js:1:15/);
      const frames = text.split("\n").filter((line) => /^\s+at /.test(line));
      assert.ok(
        frames.every((frame) => /task\.js:\d+:\d+\)?$/.test(frame)),
        text,
      );
    }
  });

  it("which names the submitted text as the caller does", async () => {
    const { error } = await record("r-file", "\nthrow new Error('x')", { query: { file: "orders/on create.ts" } });
    assert.equal(error!.at!.file, "orders/on create.ts");
    assert.match(error!.stack!, /orders\/on create\.ts:2:7/);
  });

  it("which has the head of a Response, whatever its status", async () => {
    const run = await record(
      "r-response",
      'new Response("made", { status: 503, headers: { "x-a": "b", "set-cookie": "no" } })',
    );
    assert.equal(run.status, "ok");
    assert.equal(run.response!.status, 503);
    assert.equal(run.response!.headers["x-a"], "b");
    assert.ok(!("set-cookie" in run.response!.headers));
    assert.equal(Buffer.from(run.result as string, "base64").toString(), "made");
    assert.match(run.resultType!, /^text\/plain/);
  });

  it("in which a Response of JSON is the result", async () => {
    const run = await record("r-json", 'Response.json({ a: "\\n" })');
    assert.deepEqual([run.result, run.resultType], [{ a: "\n" }, "application/json"]);
  });

  it("in which bytes that a hostile task calls JSON cannot forge a member", async () => {
    const forged = '1,"status":"forged"';
    const run = await record(
      "r-forged",
      `new Response(${JSON.stringify(forged)}, { headers: { "content-type": "application/json" } })`,
    );
    assert.equal(run.status, "ok");
    assert.equal(Buffer.from(run.result as string, "base64").toString(), forged);
  });

  it("in which a long result is cut, unless maxResult asks for more", async () => {
    const code = "'x'.repeat(300 * 1024)";
    const cut = await record("r-cut", code);
    assert.equal(cut.resultTruncated, true);
    assert.equal((cut.result as string).length, 256 * 1024);
    const whole = await record("r-cut", code, { query: { maxResult: "1MiB" } });
    assert.equal(whole.resultTruncated, undefined);
    assert.equal((whole.result as string).length, 300 * 1024);
    const most = await record("r-cut", code, { query: { maxResult: "max" } });
    assert.equal((most.result as string).length, 300 * 1024);
  });

  it("which keeps at most 64 KiB of lines and counts the others", async () => {
    const run = await record("r-flood", 'for (let i = 0; i < 900; i++) console.log("y".repeat(200))');
    const kept = run.console.reduce((sum, { text }) => sum + text.length, 0);
    assert.ok(kept <= 65_536 && kept > 40_000, String(kept));
    assert.ok(run.dropped.lines > 0 && run.dropped.bytes > 0);
  });
});

describe("POST /api/runs/{container} refuses as /api/run does", () => {
  it("a request that is not admitted", async () => {
    const token = await service.issue({ containers: ["r-limited"], limits: { token: { hour: 1 } } });
    shown(await service.request("POST", "/api/runs/r-limited", { body: "1", token }));
    assertProblem(await service.request("POST", "/api/runs/r-limited", { body: "1", token }), 429, "token_limited");
    assertProblem(
      await service.request("POST", "/api/runs/r-limited", { body: "1", token: null }),
      403,
      "token_missing",
    );
    assertProblem(await service.request("POST", "/api/runs/elsewhere", { body: "1", token }), 403, "token_forbidden");
    assertProblem(await service.request("POST", "/api/runs/r-empty", { body: "" }), 400, "code_missing");
  });

  for (const [query, name] of [
    [{ timeuot: "5s" }, "timeuot"],
    [{ timeout: "5" }, "timeout"],
    [{ timeout: "9ms" }, "timeout"],
    [{ timeout: "" }, "timeout"],
    [{ maxResult: "many" }, "maxResult"],
    [{ maxResult: "1GiB" }, "maxResult"],
    [{ file: "" }, "file"],
    [{ file: "a\nb" }, "file"],
    [{ file: "x".repeat(256) }, "file"],
    [{ task_url: "http://127.0.0.1/" }, "task_url"],
    [{ query: "a=1" }, "query"],
  ] as const) {
    it(`an option that is not valid: ${JSON.stringify(query).slice(0, 40)}`, async () => {
      const answer = await service.request("POST", "/api/runs/r-options", { body: "1", query });
      const { detail, violations } = assertProblem(answer, 400, "request_invalid");
      assert.deepEqual([detail.includes(name), violations?.map(({ member }) => member)], [true, [name]], answer.text);
    });
  }

  it("an option that is given twice", async () => {
    const twice = await service.request("POST", "/api/runs/r-options?timeout=1s&timeout=2s", { body: "1" });
    assert.match(assertProblem(twice, 400, "request_invalid").detail, /timeout occurs more than once/);
    const all = await service.request("POST", "/api/runs/r-options?timeout=1&file=&maxResult=x", { body: "1" });
    assert.deepEqual(
      assertProblem(all, 400, "request_invalid").violations?.map(({ member }) => member),
      ["timeout", "file", "maxResult"],
    );
    const json = { code: "1", timeout: "1s" };
    const both = await service.request("POST", "/api/runs/r-options", { json, query: { timeout: "2s" } });
    assert.match(assertProblem(both, 400, "request_invalid").detail, /timeout/);
  });

  it("an option in the envelope of /api/run, where there are no options", async () => {
    assertProblem(await service.run("r-options", "", { json: { code: "1", timeout: "1s" } }), 400, "request_invalid");
  });
});

describe("the options of a recorded run", () => {
  it("may stand in the envelope", async () => {
    const json = {
      code: "(context) => context.query",
      query: { a: ["1", "2"], b: "x y" },
      file: "q.js",
      timeout: "5s",
    };
    const run = shown(await service.request("POST", "/api/runs/r-envelope", { json }));
    assert.deepEqual(run.result, { a: ["1", "2"], b: "x y" });
  });

  it("give the task its own query and no option of the service", async () => {
    const code = "(context) => context.url";
    const run = await record("r-url", code, { query: { timeout: "5s", file: "a.js" } });
    assert.match(run.result as string, /\/api\/run\/r-url$/);
  });

  it("end a run at its timeout, and leave its guest to its neighbours", async () => {
    await record("r-timeout", "globalThis.kept = 1");
    const code = "await new Promise((resolve) => setTimeout(resolve, 20_000))";
    const run = await record("r-timeout", code, { query: { timeout: "100ms" } });
    assert.equal(run.status, "timeout");
    assert.equal(run.error!.code, "task_timeout");
    assert.match(run.error!.message, /100ms/);
    assert.ok(run.ms.run! < 10_000);
    assert.equal((await record("r-timeout", "globalThis.kept")).result, 1);
  });

  it("never raise the limit of the token", async () => {
    const token = await service.issue({ containers: ["*"], timeout: "100ms" });
    const code = "await new Promise((resolve) => setTimeout(resolve, 20_000))";
    const run = await record("r-claim", code, { query: { timeout: "10s" }, token });
    assert.equal(run.status, "timeout");
    assert.match(run.error!.message, /100ms/);
    assertProblem(await service.run("r-claim", code, { token }), 500, "task_timeout");
  });

  it("name a task, whose data is the body", async () => {
    const path = "/api/tasks/r-task/double";
    const code = "(context) => { console.log('doubles'); return context.body.n * 2 }";
    assert.equal((await service.request("PUT", path, { json: { code } })).status, 201);
    const run = shown(
      await service.request("POST", "/api/runs/r-task", { json: { n: 21 }, query: { task: "double" } }),
    );
    assert.deepEqual([run.result, run.task, run.version], [42, "double", 1]);
    assert.deepEqual(
      run.console.map(({ text }) => text),
      ["doubles"],
    );
    const missing = await service.request("POST", "/api/runs/r-task", { json: {}, query: { task: "none" } });
    assertProblem(missing, 404, "not_found");
  });
});

const callTask = async (token: string): Promise<Shown> => {
  return shown(await service.request("POST", "/api/runs/r-view", { json: {}, query: { task: "fails" }, token }));
};

async function runningRun(container: string): Promise<string> {
  let run = "";
  await until(async () => {
    const { runs } = (await service.request("GET", `/api/runs/${container}?status=running`)).json() as {
      runs: { run: string }[];
    };
    run = runs[0]?.run ?? "";
    return run !== "";
  }, "the run is listed");
  return run;
}

describe("a caller that did not send the code", () => {
  let runOnly: string;
  before(async () => {
    const code = "(context) => {\n  console.log('inside');\n  throw new Error('the rule of the house');\n}";
    assert.equal((await service.request("PUT", "/api/tasks/r-view/fails", { json: { code } })).status, 201);
    runOnly = await service.issue({ containers: ["r-view"], can: ["run"] });
  });

  it("sees neither console nor stack nor code without the verb logs", async () => {
    const run = await callTask(runOnly);
    assert.equal(run.status, "threw");
    assert.equal(run.error!.message, "the rule of the house");
    assert.deepEqual([run.console, run.error!.stack, run.error!.at!.frame], [null, null, null]);
  });

  it("sees the console and the stack with logs, and the code with tasks in addition", async () => {
    const logs = await callTask(await service.issue({ containers: ["r-view"], can: ["run", "logs"] }));
    assert.equal(logs.console[0]!.text, "inside");
    assert.match(logs.error!.stack!, /rule of the house/);
    assert.equal(logs.error!.at!.frame, null);
    const all = await callTask(await service.issue({ containers: ["r-view"], can: ["run", "logs", "tasks"] }));
    assert.match(all.error!.at!.frame!, /throw new Error/);
  });
});

describe("with Accept: text/event-stream", () => {
  const accept = { accept: "text/event-stream" };

  it("the answer is a stream of the console, the result and the record", async () => {
    const code = 'console.log("one\\n\\nevent: record\\ndata: {}"); console.warn("two"); return [1]';
    const answer = await service.request("POST", "/api/runs/r-events", { body: code, headers: accept });
    assert.match(answer.headers["content-type"]!, /^text\/event-stream/);
    const events = eventsOf(answer);
    assert.deepEqual(
      events.map(({ event }) => event),
      ["console", "console", "result", "record"],
    );
    assert.equal(events[0]!.data.text, "one\n\nevent: record\ndata: {}");
    assert.deepEqual(events[2]!.data.result, [1]);
    assert.equal(events[3]!.data.status, "ok");
  });

  it("a result with line breaks stays one event", async () => {
    const code = 'new Response("[1,\\r\\n\\r\\n2]", { headers: { "content-type": "application/json" } })';
    const answer = await service.request("POST", "/api/runs/r-events", { body: code, headers: accept });
    const events = eventsOf(answer);
    assert.deepEqual(events[0]!.data.result, [1, 2]);
  });

  it("a failure is an error and then the record", async () => {
    const answer = await service.request("POST", "/api/runs/r-events", {
      body: "throw new Error('x')",
      headers: accept,
    });
    const events = eventsOf(answer);
    assert.deepEqual(
      events.map(({ event }) => event),
      ["error", "record"],
    );
    assert.equal(events[0]!.data.code, "task_threw");
  });

  it("a request that is not admitted gets a problem document", async () => {
    const answer = await service.request("POST", "/api/runs/r-events", { body: "", headers: accept });
    assertProblem(answer, 400, "code_missing");
  });
});

describe("DELETE /api/runs/{container}/{run}", () => {
  const LASTING = 'console.log("has begun"); await new Promise(() => setInterval(() => {}, 1_000));';

  it("cancels a run of the token or of a token below it", async () => {
    const parent = await service.issue({ containers: ["r-cancel"], can: ["run", "issue", "logs"], depth: 1 });
    const issued = await service.request("POST", "/api/tokens", {
      token: parent,
      json: { containers: ["r-cancel"], can: ["run"] },
    });
    const { token: child } = issued.json() as { token: string };
    const answer = service.request("POST", "/api/runs/r-cancel", { body: LASTING, token: child });
    const run = await runningRun("r-cancel");
    const cancelled = await service.request("DELETE", `/api/runs/r-cancel/${run}`, { token: parent });
    assert.deepEqual([cancelled.status, cancelled.json()], [200, { run, status: "cancelled" }]);
    const { status, error } = shown(await answer);
    assert.deepEqual([status, error!.code], ["cancelled", "run_cancelled"]);
  });

  it("answers the caller of /api/run with 409", async () => {
    const answer = service.run("r-cancel-plain", LASTING);
    const run = await runningRun("r-cancel-plain");
    assert.equal((await service.request("DELETE", `/api/runs/r-cancel-plain/${run}`)).status, 200);
    assertProblem(await answer, 409, "run_cancelled");
  });

  it("does not tell another token whether a run exists", async () => {
    const stranger = await service.issue({ containers: ["r-other"], can: ["run", "logs"] });
    const answer = service.run("r-other", LASTING);
    const run = await runningRun("r-other");
    const own = await service.request("DELETE", `/api/runs/r-other/${run}`, { token: stranger });
    const none = await service.request("DELETE", "/api/runs/r-other/000000000000-zz", { token: stranger });
    assertProblem(own, 404, "not_found");
    assert.equal(own.text, none.text);
    const outside = await service.issue({ containers: ["r-elsewhere"], can: ["run", "logs"] });
    assertProblem(
      await service.request("DELETE", `/api/runs/r-other/${run}`, { token: outside }),
      403,
      "token_forbidden",
    );
    assert.equal((await service.request("DELETE", `/api/runs/r-other/${run}`)).status, 200);
    await answer;
  });
});
