import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import type { CodeServer } from "./code-server.ts";
import type { Answer } from "./http.ts";
import { assertProblem } from "./problem.ts";
import { type SharedService, shareService } from "./service.ts";

let server: CodeServer;
let service: SharedService;
before(async () => {
  service = await shareService();
  // Longer than a stall takes to be found, on a busy machine too.
  server = service.serveCode((_, response) => void setTimeout(() => response.end("late"), 3_000));
});
after(async () => {
  await service.stop();
  await server.close();
});

interface Recorded {
  status: string;
  result: unknown;
  error: { code: string; message: string; hint: string } | null;
  ms: { run: number };
}

async function record(container: string, body: string): Promise<Recorded> {
  return (await service.request("POST", `/api/runs/${container}`, { body })).json() as Recorded;
}

describe("a run that nothing can end", () => {
  const forms = [
    "return new Promise(() => {})",
    "await new Promise(() => {})",
    "() => new Promise(() => {})",
    "export default { fetch: () => new Promise(() => {}) }",
    "import os from 'node:os'; await new Promise(() => {}); export default 1",
    "const timer = setTimeout(() => {}, 60_000); clearTimeout(timer); return new Promise(() => {})",
    "await new Promise((next) => setTimeout(next, 50)); return new Promise(() => {})",
    "const { pbkdf2 } = await import('node:crypto'); pbkdf2('a', 'b', 1, 8, 'sha1', () => {}); return new Promise(() => {})",
  ];
  for (const [at, code] of forms.entries()) {
    it(`ends as stalled, long before its deadline: ${code}`, async () => {
      const { status, error } = await record(`stalls-${at}`, code);
      assert.deepEqual([status, error!.code], ["stalled", "task_stalled"]);
      assert.match(error!.hint, /never settles/);
    });
  }

  it("is 500 task_stalled, and the guest serves the next run", async () => {
    await service.run("next", "globalThis.kept = 7");
    assertProblem(await service.run("next", "return new Promise(() => {})"), 500, "task_stalled");
    assert.equal((await service.run("next", "globalThis.kept")).text, "7");
  });

  it("has the hint of its form", async () => {
    const callback = await record("callback", "module.exports = (context, cb) => {}");
    assert.deepEqual([callback.status, /cb was never called/.test(callback.error!.hint)], ["stalled", true]);
    const handler = await record("handler", "module.exports = (context, req, res) => {}");
    assert.equal(handler.status, "stalled");
    assert.match(handler.error!.hint, /^res\.end\(\) was never called/);
    const writes = await record("writes", "module.exports = (a, b, c) => { if (a.query.x) c.end('1') }");
    assert.match(writes.error!.hint, /^res\.end\(\) was never called/);
    const passes = await record("passes", "module.exports = (a, b, c) => { const handle = () => {}; handle(b, c) }");
    assert.match(passes.error!.hint, /^res\.end\(\) was never called/);
    const total = await record("total", "function total(price, qty, tax) { return price * qty * tax }");
    assert.match(total.error!.hint, /^A function of three parameters .* as in return total\(1, 2, 3\)\.$/);
  });

  it("of a named task ends too, after its body was read", async () => {
    const json = { code: "(context) => new Promise(() => {})" };
    await service.request("PUT", "/api/tasks/named/task", { json });
    assertProblem(await service.request("POST", "/api/run/named/task", { body: "data" }), 500, "task_stalled");
  });
});

describe("a run that something may still end", () => {
  const waits: [string, string][] = [
    ["a timer", "await new Promise((next) => setTimeout(next, 2_500)); return 1"],
    ["a timer that does not keep Node alive", "await new Promise((next) => setTimeout(next, 2_500).unref()); return 1"],
    [
      "an interval",
      "let n = 0; await new Promise((next) => setInterval(() => (n += 1) > 24 && next(), 100)); return 1",
    ],
    ["AbortSignal.timeout", "await new Promise((next) => (AbortSignal.timeout(2_500).onabort = next)); return 1"],
    ["a promise of timers", "await require('node:timers/promises').setTimeout(2_500, 1, { ref: false }); return 1"],
    [
      "Atomics.waitAsync",
      "await Atomics.waitAsync(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_500).value; return 1",
    ],
    [
      "a worker",
      `const { Worker } = require("node:worker_threads");
       const worker = new Worker("setTimeout(() => require('node:worker_threads').parentPort.postMessage(1), 2500)", { eval: true });
       return new Promise((done) => worker.once("message", done))`,
    ],
    [
      "a worker that does not keep Node alive",
      `const { Worker } = require("node:worker_threads");
       const worker = new Worker("setTimeout(() => require('node:worker_threads').parentPort.postMessage(1), 2500)", { eval: true });
       const message = new Promise((done) => worker.once("message", done)); worker.unref(); return message`,
    ],
  ];
  it("is not ended as stalled", async () => {
    const answers = waits.map(async ([what, code], at): Promise<[string, string]> => {
      return [what, (await service.run(`waits-${at}`, code)).text];
    });
    assert.deepEqual(
      await Promise.all(answers),
      waits.map(([what]) => [what, "1"]),
    );
  });

  it("is not ended as stalled while it waits for a server", async () => {
    const code = `const response = await fetch(${JSON.stringify(server.url)}); return await response.text()`;
    assert.equal((await service.run("fetches", code)).text, '"late"');
  });

  it("that reaches its timeout has a hint about the server that it waited for", async () => {
    // Node loads its HTTP client at the first fetch, which may take as long as the timeout.
    await service.run("unanswered", "globalThis.kept = await fetch('data:,1'); return 1");
    const answer = await service.request("POST", "/api/runs/unanswered", {
      body: `return await (await fetch(${JSON.stringify(server.url)})).text()`,
      query: { timeout: "1500ms" },
    });
    const { status, error } = answer.json() as Recorded;
    assert.equal(status, "timeout");
    assert.match(error!.hint, /A connection was open: perhaps its server did not answer\. fetch\(url, \{ signal/);
  });

  it("is not ended as stalled while it opens one connection after another", async () => {
    // A run may ask for 1,000 connections.
    const code = `const until = Date.now() + 3_000;
      for (let at = 0; at < 900 && Date.now() < until; at += 1)
        await new Promise((next) => require("node:net").connect(1, "127.0.0.1").on("error", () => {}).on("close", next));
      return 1`;
    const answers = await Promise.all([1, 2, 3].map((at) => service.run(`connects-${at}`, code)));
    assert.deepEqual(
      answers.map(({ text }) => text),
      ["1", "1", "1"],
    );
  });

  it("is not ended as stalled while it waits for its abort", async () => {
    const code = `(context) => new Promise((done) => {
      context.signal.addEventListener("abort", () => { console.log("aborted"); done(1); }) })`;
    const { status } = (
      await service.request("POST", "/api/runs/aborts", { body: code, query: { timeout: "2500ms" } })
    ).json() as Recorded;
    assert.equal(status, "timeout");
  });

  it("is not ended as stalled while another run of its guest can end it", async () => {
    const first = service.run("pair", "return new Promise((done) => (globalThis.done = done))");
    const second = service.run(
      "pair",
      "await new Promise((next) => setTimeout(next, 2500)); globalThis.done(7); return 1",
    );
    assert.deepEqual(
      (await Promise.all([first, second])).map(({ text }) => text),
      ["7", "1"],
    );
  });
});

describe("a task that attacks", () => {
  const frames = `const { writeSync } = require("node:fs");
    const stalled = (id, count) => { const frame = Buffer.alloc(13); frame.writeUInt32LE(9); frame[4] = 79;
      frame.writeUInt32LE(id, 5); frame.writeUInt32LE(count, 9); writeSync(3, frame); };
    // The title of the process has the id of the run.
    const id = () => parseInt(process.title.slice(1), 36);`;

  it("cannot make another run of its guest end as stalled while its own run is in flight", async () => {
    const victim = service.run(
      "forged",
      `${frames} globalThis.victim = id(); await new Promise((next) => setTimeout(next, 1_500)); return 7`,
    );
    const attack = `${frames} while (globalThis.victim === undefined) await new Promise((next) => setTimeout(next, 5));
      for (let count = 0; count < 20; count += 1) stalled(globalThis.victim, count);
      await new Promise((next) => setTimeout(next, 3_000)); return 1`;
    const attacker: Promise<Answer> = service.run("forged", attack);
    assert.equal((await victim).text, "7");
    assert.equal((await attacker).text, "1");
  });

  it("that removes the listener of the guest ends as any other, and its guest lives", async () => {
    const code = "process.removeAllListeners('beforeExit'); globalThis.kept = 42; return new Promise(() => {})";
    const { status } = (
      await service.request("POST", "/api/runs/removes", { body: code, query: { timeout: "3s" } })
    ).json() as Recorded;
    assert.equal(status, "stalled");
    assert.equal((await service.run("removes", "globalThis.kept")).text, "42");
  });
});
