import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { type Answer, respond } from "./http.ts";
import { assertProblem } from "./problem.ts";
import { NO_WALL, type Service, startService } from "./service.ts";
import { pause, until } from "./until.ts";

let service: Service;

before(async () => {
  service = await startService(["--log-level", "debug", "--wall-limit", "6s"]);
});
after(() => service.stop());

interface Line {
  run: string;
  container: string;
  time: string;
  msg: string;
  level: string;
  taskLevel?: string;
  error?: { name: string; message: string; stack: string };
}

function lineOf(answer: Answer, msg: string): Promise<Line> {
  return lineOfRun(answer.headers["caisson-run"]!, msg);
}

async function lineOfRun(run: string, msg: string): Promise<Line> {
  const parsed = (text: string): Line => (text.startsWith("{") ? (JSON.parse(text) as Line) : ({} as Line));
  return parsed(
    await service.logLine((text) => {
      const line = parsed(text);
      return line.run === run && line.msg === msg;
    }),
  );
}

/**
 * Runs code in the same guest with a deadline one second later. Otherwise the guest of a late run has only a short
 * grace for its last lines, which a busy machine can use up.
 */
async function runBeside(container: string): Promise<void> {
  await pause(1_000);
  assertProblem(
    await service.run(container, "await new Promise((never) => setTimeout(never, 60_000))"),
    500,
    "task_timeout",
  );
}

async function failures(): Promise<number> {
  const health = (await service.request("GET", "/healthz", { token: null })).json() as { failedUnheard?: number };
  return health.failedUnheard ?? 0;
}

function handler(body: string): string {
  return `export default { async fetch(request, env, ctx) { ${body} } }`;
}

describe("the console of a task", () => {
  it("is logged with level, run and time, also after the answer", async () => {
    const sinceMs = Date.now();
    const answer = await service.run(
      "console",
      "console.warn('now'); setTimeout(() => console.log('later'), 20); return 1",
    );
    assert.equal(answer.text, "1");
    const [now, later] = await Promise.all([lineOf(answer, "now"), lineOf(answer, "later")]);
    assert.deepEqual([now.taskLevel, later.taskLevel], ["warn", "info"]);
    assert.deepEqual([now.container, later.container], ["console", "console"]);
    for (const { time } of [now, later]) assert.ok(Date.parse(time) >= sinceMs && Date.parse(time) <= Date.now(), time);
  });

  it("is logged up to a loop that never ends", async () => {
    const answer = await service.run("loop", "console.log('before'); for (;;);");
    assert.equal(answer.status, 500, "blocked, or on a busy machine past its deadline");
    await lineOf(answer, "before");
  });
});

describe("a failure after the answer", () => {
  const late = {
    "a rejection": "setTimeout(() => Promise.reject(new RangeError('late')), 20); return globalThis.warm = 1",
    "a throw": "setTimeout(() => { throw new RangeError('late') }, 20); return globalThis.warm = 1",
  };
  for (const [what, code] of Object.entries(late)) {
    it(`is logged with its run and counted, and the guest stays: ${what}`, async () => {
      const counted = await failures();
      const answer = await service.run("failing", code);
      assert.equal(answer.text, "1");
      const line = await lineOf(answer, "after its answer: the task threw RangeError: late");
      assert.equal(line.level, "info");
      assert.match(line.error!.stack, /^RangeError: late\n {4}at .*1:\d+/);
      assert.equal(await failures(), counted + 1);
      assert.equal((await service.run("failing", "globalThis.warm")).text, "1");
    });
  }

  const lost = {
    ...late,
    "an async function that nothing awaits": "async function main() { throw new RangeError('late') } main(); return 1",
    "a promise that nothing awaits": "new Promise((_, reject) => reject(new RangeError('late'))); return 1",
  };
  for (const [what, code] of Object.entries(lost)) {
    it(`is a hint in the record of its run: ${what}`, async () => {
      const answer = await service.request("POST", "/api/runs/recorded", { body: code });
      const { run, result } = answer.json() as { run: string; result: number };
      assert.equal(result, 1);
      await lineOfRun(run, "after its answer: the task threw RangeError: late");
      const record = (await service.request("GET", `/api/runs/recorded/${run}`)).json() as Record<string, unknown>;
      assert.equal(record["status"], "ok");
      assert.match(
        record["hint"] as string,
        /^The run failed after its answer: the task threw RangeError: late \(task\.js, line 1\)\. Await this work/,
      );
      const { runs } = (await service.request("GET", "/api/runs/recorded")).json() as { runs: { hint: string }[] };
      assert.equal(runs[0]!.hint, record["hint"]);
    });
  }

  it("is one line for each run at the default log level, however often the run fails", async () => {
    const counted = await failures();
    const code = "for (let n = 0; n < 20; n++) setTimeout(() => Promise.reject(new Error('again')), 20); return 1";
    const answer = await service.run("often", code);
    const levels = (): string[] =>
      service
        .stderr()
        .split("\n")
        .filter((line) => line.includes(`"${answer.headers["caisson-run"]!}"`) && line.includes("again"))
        .map((line) => (JSON.parse(line) as Line).level);
    await until(() => levels().length === 20, "all failures are logged");
    assert.deepEqual(levels(), ["info", ...Array<string>(19).fill("debug")]);
    assert.equal(await failures(), counted + 20);
  });
});

describe("a failure outside of any run", () => {
  for (const bytes of [10, 4_000_000]) {
    it(`does not damage an answer of ${bytes} bytes that was sent before`, async () => {
      const code = `
        globalThis.kept = new FinalizationRegistry(() => { throw new Error("thrown by the collector"); });
        for (let n = 0; n < 1_000; n++) kept.register({ n }, n);
        globalThis.session = new (require("node:inspector").Session)();
        session.connect();
        session.post("HeapProfiler.collectGarbage");
        return "x".repeat(${bytes});`;
      const answer = await service.run(`collected-${bytes}`, code);
      assert.deepEqual([answer.status, answer.text.length], [200, bytes + 2], answer.text.slice(0, 300));
      await until(
        async () => (await service.run(`collected-${bytes}`, "typeof kept")).text === '"undefined"',
        "the guest is replaced",
      );
    });
  }
});

describe("ctx.waitUntil", () => {
  it("keeps a blank guest after the answer until the work is done", async () => {
    const token = await service.issue({ containers: ["*"], fresh: true });
    const code = handler(`
      ctx.waitUntil((async () => { await new Promise((done) => setTimeout(done, 300)); console.log("done"); })());
      return new Response("answered");
    `);
    const answer = await service.run("kept", code, { token });
    assert.equal(answer.text, "answered");
    await lineOf(answer, "done");
  });

  it("keeps the network access of the run", async () => {
    const code = handler(`
      ctx.waitUntil((async () => {
        await new Promise((done) => setTimeout(done, 100));
        const refusal = await fetch("http://127.0.0.1:8080/").catch((error) => error.cause?.code);
        console.log("asked " + refusal);
      })());
      return new Response("answered");
    `);
    await lineOf(await service.run("asks", code), "asked EGRESS_DENIED");
  });

  it("logs and counts work that rejects, and the answer stays as it is", async () => {
    const counted = await failures();
    const answer = await service.run(
      "rejects",
      handler("ctx.waitUntil(Promise.reject(new TypeError('no'))); return new Response('fine')"),
    );
    assert.deepEqual([answer.status, answer.text], [200, "fine"]);
    await lineOf(answer, "waitUntil: the task threw TypeError: no");
    assert.equal(await failures(), counted + 1);
  });

  it("ends with the deadline: the signal aborts, the log reports it, and the container still answers", async () => {
    const code = handler(`
      request.signal.onabort = () => console.log("aborted " + request.signal.reason.name);
      ctx.waitUntil(new Promise((never) => setTimeout(never, 60_000)));
      return new Response("answered");
    `);
    const answer = await service.run("endless", code);
    assert.equal(answer.text, "answered");
    // V8 collects what nothing refers to any more.
    const garbage = `for (let round = 0; round < 8; round++) {
        globalThis.held = Array.from({ length: 20_000 }, (_, n) => ({ n, list: [n] }));
        await new Promise(setImmediate);
      }
      return 1`;
    assert.equal((await service.run("endless", garbage)).text, "1");
    await runBeside("endless");
    await lineOf(answer, "aborted TimeoutError");
    await lineOf(answer, "the work that the task passed to waitUntil did not end by the deadline of its run");
    assert.equal((await service.run("endless", "6 * 7")).text, "42");
  });

  it("keeps a slot of its container, so that no work outside of the limits runs without end", async () => {
    const oneSlot = await startService([...NO_WALL, "--concurrency", "1", "--wall-limit", "2s"]);
    try {
      const code = handler("ctx.waitUntil(new Promise((go) => { globalThis.go = go })); return new Response('1')");
      assert.equal((await oneSlot.run("one", code)).text, "1");
      assertProblem(await oneSlot.run("one", "6 * 7"), 429, "container_busy");
    } finally {
      await oneSlot.stop();
    }
  });
});

describe("the signal of a run", () => {
  const code = `(context) => new Promise((_, reject) => {
    console.log("waits");
    context.signal.addEventListener("abort", () => {
      console.log("aborted " + context.signal.reason.name);
      reject(context.signal.reason);
    });
  })`;

  it("aborts at the deadline", async () => {
    const [answer] = await Promise.all([service.run("deadline", code), runBeside("deadline")]);
    assertProblem(answer, 500, "task_timeout");
    await lineOf(answer, "aborted TimeoutError");
  });

  it("aborts when the client leaves, before the answer and in the middle of a stream", async () => {
    const leaving = new AbortController();
    const left = service.run("leaves", code, { signal: leaving.signal });
    const run = (await service.logLine((line) => line.includes('"container":"leaves"'))).match(/"run":"([^"]+)"/)![1]!;
    leaving.abort();
    await assert.rejects(left);
    await lineOfRun(run, "aborted AbortError");

    const streams = `(context) => {
      context.signal.onabort = () => console.log("aborted " + context.signal.reason.name);
      return new Response(new ReadableStream({ pull(c) { c.enqueue(new Uint8Array(1)); return new Promise((go) => setTimeout(go, 20)) } }));
    }`;
    const response = await respond(service.port, "POST", "/api/run/leaves", { token: service.admin, body: streams });
    response.destroy();
    await lineOfRun(response.headers["caisson-run"] as string, "aborted AbortError");
  });
});
