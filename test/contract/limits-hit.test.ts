import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { type Config, SETTINGS } from "../../src/config.ts";
import type { Answer } from "./http.ts";
import { assertProblem } from "./problem.ts";
import { NO_WALL, type Service, startService } from "./service.ts";
import { pause, until } from "./until.ts";

const LIMITS = {
  /** So long that a busy machine reaches every other limit first. */
  wall: "60s",
  stream: "3s",
  block: "3s",
  cpu: "0.5",
  memory: "256MiB",
  thread: "24",
  descriptor: "64",
  tmp: "4MiB",
  result: "64KiB",
  log: "2KiB",
};
const SLOTS = 4;
const LINES_A_SECOND = 20;
const FLAGS = [
  ...Object.entries(LIMITS).flatMap(([name, value]) => [`--${name}-limit`, value]),
  ...["--log-rate", String(LINES_A_SECOND), "--concurrency", String(SLOTS), "--log-level", "debug"],
];
/** On a busy machine an attack takes longer to end. */
const ATTACK_MS = 90_000;

let service: Service;
/** A service with the same limits, but a short deadline. */
let hasty: Service;

before(async () => {
  [service, hasty] = await Promise.all([
    startService(FLAGS),
    startService([...FLAGS, ...NO_WALL, "--wall-limit", "1s"]),
  ]);
});
after(() => Promise.all([service.stop(), hasty.stop()]));

/**
 * Runs an attack. Asserts that a neighbour gets answers meanwhile, and the attacked container gets answers
 * afterwards.
 */
async function beside<T>(container: string, attack: Promise<T>, on = service): Promise<T> {
  let over = false;
  const watched = attack.finally(() => (over = true));
  watched.catch(() => {});
  const neighbour = async (): Promise<boolean> => {
    assert.equal((await on.run(`beside-${container}`, "6 * 7")).text, "42");
    // Ten neighbours a second prove as much as fifty, and use less of the machine.
    await Promise.race([watched.catch(() => null), pause(80)]);
    return over;
  };
  await until(neighbour, "the attack is over", ATTACK_MS);
  const outcome = await watched;
  await until(async () => (await on.run(container, "6 * 7")).text === "42", "the container answers again");
  return outcome;
}

function hit(container: string, code: string, on = service): Promise<Answer> {
  return beside(container, on.run(container, code), on);
}

function jsonOf(answer: Answer): unknown {
  assert.equal(answer.status, 200, answer.text);
  return answer.json();
}

/** Returns the lines that the service has logged for the run of this answer. */
function linesOf(answer: Answer): { msg: string; taskLevel: string }[] {
  const run = String(answer.headers["caisson-run"]);
  const lines = service
    .stderr()
    .split("\n")
    .filter((line) => line.includes(run));
  return lines.map((line) => JSON.parse(line)).filter((line) => "taskLevel" in line);
}

describe("a limit", () => {
  it("is a row in the table of settings, with a unit, a default, and the attack that it stops", () => {
    const keys: (keyof Config)[] = [
      ...(["wallLimit", "streamLimit", "blockLimit", "cpuLimit", "memoryLimit", "threadLimit", "tmpLimit"] as const),
      ...(["descriptorLimit", "resultLimit", "logLimit", "logRate", "concurrency", "idleLimit"] as const),
    ];
    for (const key of keys) {
      const { flag, fallback, help } = SETTINGS[key];
      assert.match(flag, /^--[a-z-]+ <(?:duration|size|cores|number|lines)>$/, key);
      assert.ok(typeof fallback === "number" && fallback > 0, key);
      assert.match(help, /\bstops /, key);
    }
  });
});

describe(
  "a run that exceeds a limit gets the documented answer, and its neighbours are not affected: the limit",
  { concurrency: 2 },
  () => {
    it("of time", async () => {
      assertProblem(
        await hit("time", "await new Promise((never) => setTimeout(never, 60_000))", hasty),
        500,
        "task_timeout",
      );
    });

    it("of a stream's time", async () => {
      const stream = await hit(
        "stream",
        "new ReadableStream({ async pull(c) { await new Promise(setImmediate); c.enqueue(new Uint8Array(9)) } })",
      );
      assert.deepEqual([stream.status, stream.complete], [200, false], stream.text.slice(0, 300));
    });

    it("of blocking", async () => {
      assertProblem(await hit("block", "for (;;);"), 500, "task_blocked");
    });

    it("of CPU, also for several threads", async () => {
      const burn = "while (process.cpuUsage().user < until);";
      const code = `
      const { Worker } = require("node:worker_threads");
      const [from, start] = [process.cpuUsage(), process.hrtime.bigint()];
      const burn = (ms) => "const until = process.cpuUsage().user + " + ms * 1e3 + "; ${burn}";
      const workers = [1, 2].map(() => new Worker(burn(60), { eval: true }));
      await Promise.all(workers.map((worker) => new Promise((end) => worker.once("exit", end))));
      const { user, system } = process.cpuUsage(from);
      return { burnedMs: (user + system) / 1e3, tookMs: Number(process.hrtime.bigint() - start) / 1e6 }`;
      const { burnedMs, tookMs } = jsonOf(await hit("cpu", code)) as { burnedMs: number; tookMs: number };
      // A busy machine adds time, but no CPU time. The first and the last period of the kernel's quota are not
      // complete.
      assert.ok(burnedMs >= 60 && burnedMs <= tookMs * Number(LIMITS.cpu) + 100, `${burnedMs} ms in ${tookMs} ms`);
    });

    it("of memory", async () => {
      // The code pauses, so that on a busy machine it does not count as blocked first.
      const code = `const held = [];
      for (;; await new Promise((next) => setImmediate(next))) held.push(Buffer.alloc(4 << 20, 1));`;
      assertProblem(await hit("memory", code), 500, "task_memory");
    });

    it("of threads", async () => {
      const code = `
      const { Worker } = require("node:worker_threads");
      const workers = [];
      try {
        for (;;) {
          const worker = new Worker("setInterval(() => {}, 1e6)", { eval: true, stdin: false });
          workers.push(worker);
          await new Promise((online, failed) => worker.once("online", online).once("error", failed));
        }
      } catch (error) {
        return [error.code, workers.length];
      } finally {
        await Promise.all(workers.map((worker) => worker.terminate()));
      }`;
      const [refusal, started] = jsonOf(await hit("threads", code)) as [string, number];
      assert.equal(refusal, "ERR_WORKER_INIT_FAILED");
      assert.ok(started > 0 && started < Number(LIMITS.thread), `${started} workers`);
    });

    it("of descriptors", async () => {
      const code = `
      const fs = require("node:fs");
      const held = [];
      try { for (;;) held.push(fs.openSync("/tmp/held-" + held.length, "w")) }
      catch (error) { return [error.code, held.length] }
      finally { held.forEach((descriptor) => fs.closeSync(descriptor)) }`;
      const [refusal, opened] = jsonOf(await hit("descriptors", code)) as [string, number];
      assert.equal(refusal, "EMFILE");
      assert.ok(opened > 0 && opened < Number(LIMITS.descriptor), `${opened} files`);
    });

    it("of temporary disk, for many files and for one file that is declared large", async () => {
      const code = `
      const fs = require("node:fs");
      const attempt = (act) => { try { act(); return "done" } catch (error) { return error.code } };
      const many = attempt(() => { for (let at = 0; ; at++) fs.writeFileSync("/tmp/" + at, Buffer.alloc(1 << 18, 1)) });
      for (const name of fs.readdirSync("/tmp")) fs.unlinkSync("/tmp/" + name);
      const large = attempt(() => fs.ftruncateSync(fs.openSync("/tmp/large", "w"), 1e12));
      return [many, large, attempt(() => fs.writeFileSync("/tmp/small", "x"))]`;
      assert.deepEqual(jsonOf(await hit("disk", code)), ["ENOSPC", "EFBIG", "done"]);
    });

    it("of a result", async () => {
      const problem = assertProblem(await hit("result", "'x'.repeat(1 << 17)"), 500, "result_too_large");
      assert.match(problem.detail, /64 ?Ki?B|65536/i);
    });

    it("of runs in flight", async () => {
      const waits = "(context) => new Promise((end) => context.signal.addEventListener('abort', end))";
      const leaving = new AbortController();
      const held = Array.from({ length: SLOTS }, () => {
        return service.run("places", waits, { signal: leaving.signal }).catch(() => null);
      });
      const attack = async (): Promise<void> => {
        const busy = async (): Promise<boolean> => (await service.run("places", "6 * 7")).status === 429;
        await until(busy, "all slots are occupied");
        assertProblem(await service.run("places", "6 * 7"), 429, "container_busy");
        leaving.abort();
        await Promise.all(held);
      };
      await beside("places", attack());
    });

    it("of log bytes, with a line that reports it", async () => {
      const answer = await hit("log-bytes", "for (let i = 0; i < 10; i++) console.log('x'.repeat(500)); return 1");
      assert.equal(answer.text, "1");
      await until(() => linesOf(answer).length === 5, "the log has the lines");
      const [last, ...kept] = linesOf(answer).toReversed();
      assert.deepEqual(
        kept.map(({ msg }) => msg.length),
        [500, 500, 500, 500],
      );
      assert.deepEqual([last!.msg, last!.taskLevel], ["the run has logged 2048 bytes; the rest is dropped", "warn"]);
    });

    it("of log lines a second, with a line that reports it", async () => {
      const answer = await hit("log-lines", "for (let i = 0; i < 60; i++) console.log(i); return 1");
      const dropLine = `the run has logged ${LINES_A_SECOND} lines in a second; the rest of the second is dropped`;
      await until(() => linesOf(answer).some(({ msg }) => msg === dropLine), "the log reports it");
      const lines = linesOf(answer).map(({ msg }) => msg);
      assert.equal(lines[LINES_A_SECOND], dropLine);
      assert.equal(lines[LINES_A_SECOND - 1], String(LINES_A_SECOND - 1));
    });

    it("of log output that code writes to its guest's descriptor and the guest does not count", async () => {
      const code = `
      const own = Number.parseInt(process.title.slice(1), 36);
      const frame = Buffer.alloc(9 + 1 + 6);
      frame.writeUInt32LE(frame.length - 4, 0);
      frame[4] = 72;
      frame.writeUInt32LE(own, 5);
      frame.write("forged", 10);
      require("node:fs").writeSync(3, Buffer.concat(Array(500).fill(frame)));
      return 1`;
      const answer = await hit("log-forged", code);
      assert.equal(answer.text, "1");
      await until(() => linesOf(answer).some(({ taskLevel }) => taskLevel === "warn"), "the log reports it");
      const forged = linesOf(answer).filter(({ msg }) => msg === "forged");
      // The service tolerates twice as many lines, and a busy machine may read them in more than one second.
      assert.ok(forged.length >= LINES_A_SECOND && forged.length < 250, `${forged.length} lines`);
    });
  },
);
