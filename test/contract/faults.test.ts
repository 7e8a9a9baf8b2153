import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { drawn } from "../seeded.ts";
import type { Answer } from "./http.ts";
import { assertProblem } from "./problem.ts";
import { containerRecord, limitRecord } from "./record.ts";
import { type Service, startService } from "./service.ts";
import { pause, until } from "./until.ts";

const WALL_MS = 4_000;
const FAR_MS = 60_000;
const BLOCK_MS = 700;
/** The milliseconds that a busy machine may add to the 250 ms of the contract. A benchmark measures those. */
const SLACK_MS = 40_000;
/** The default of `--thread-limit`. */
const THREADS = 64;
const LIMITS = { wall: `${WALL_MS}ms`, stream: `${WALL_MS}ms`, block: `${BLOCK_MS}ms`, memory: "128MiB" };

let service: Service;
/** A service whose deadline is so far away that a busy machine detects every other end of a run first. */
let unhurried: Service;
/** The same, with a block limit so high that no run that only takes long steps counts as blocked. */
let unblocked: Service;

function startWith(limits: object): Promise<Service> {
  return startService(Object.entries(limits).flatMap(([name, value]) => [`--${name}-limit`, String(value)]));
}

before(async () => {
  const far = { ...LIMITS, wall: `${FAR_MS}ms` };
  [service, unhurried, unblocked] = (await Promise.all([LIMITS, far, { ...far, block: "60s" }].map(startWith))) as [
    Service,
    Service,
    Service,
  ];
});
after(() => Promise.all([service, unhurried, unblocked].map((each) => each.stop())));

/** Runs harmful code. Asserts that neighbours get answers meanwhile, and the container gets answers afterwards. */
async function harm(container: string, code: string, on = service, wallMs = WALL_MS): Promise<Answer> {
  const startMs = performance.now();
  let over = false;
  const harmful = on.run(container, code).finally(() => (over = true));
  await until(
    async () => {
      assert.equal((await on.run("beside", "6 * 7")).text, "42");
      // Ten neighbours a second prove as much as fifty, and use less of the machine.
      await Promise.race([harmful.catch(() => null), pause(80)]);
      return over;
    },
    "the harmful run is answered",
    wallMs + SLACK_MS,
  );
  const answer = await harmful;
  const tookMs = performance.now() - startMs;
  assert.ok(tookMs < wallMs + SLACK_MS, `answered after ${tookMs} ms`);
  assert.equal((await on.run(container, "6 * 7")).text, "42");
  return answer;
}

describe("a task that blocks", () => {
  const blocking = {
    "loops for ever": "while (true) {}",
    "sleeps for ever": "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)",
    "takes long in one call": "require('node:crypto').pbkdf2Sync('a', 'b', 2e9, 64, 'sha512')",
    "loops in microtasks":
      "const again = () => queueMicrotask(again); again(); await new Promise((never) => setTimeout(never, 60_000))",
    "loops in process.nextTick":
      "const again = () => process.nextTick(again); again(); await new Promise((never) => setTimeout(never, 60_000))",
    "backtracks in a regular expression": "/^(a+)+$/.test('a'.repeat(64) + 'b')",
    "blocks after an await": "await null; for (;;);",
    "blocks in a getter of its result": "({ get a() { for (;;); } })",
    "blocks in toJSON": "({ toJSON() { for (;;); } })",
  };
  for (const [what, code] of drawn("ways to block", Object.entries(blocking), 3)) {
    it(`is ended, and the error names the reason: ${what}`, async () => {
      const answer = await harm(`block-${what.replaceAll(/[^a-z]/g, "-")}`, code, unhurried, FAR_MS);
      const { hint } = assertProblem(answer, 500, "task_blocked");
      if (what.startsWith("sleeps")) assert.match(hint!, /a call that stops its thread, such as Atomics\.wait/);
      else if (what.startsWith("takes long")) assert.match(hint!, /^Perhaps one call takes long, such as sort/);
      // A guest that gets no processor cannot print its line.
      else assert.match(hint!, /^(?:Its container held [^.]*\. )?Perhaps (?:a loop never ends|one call takes long)/);
    });
  }

  it("has the line that was executed in its error, unless the guest got no processor", async () => {
    const lines: [code: string, line: number][] = [
      ["const a = 1;\nfunction spin() {\n  let x = a;\n  while (true) x = (x + 1) % 7;\n}\nreturn spin();", 4],
      ["export default async (context: object) => {\n  await null;\n  for (;;);\n};", 3],
    ];
    let tries = 0;
    for (const [code, line] of lines) {
      const known = async (): Promise<boolean> => {
        tries += 1;
        // The service delays the next guest of a container that crashes again and again.
        const answer = await unhurried.request("POST", `/api/runs/lines-${tries}`, { body: code });
        const { error } = answer.json() as { error: { code: string; message: string; at: { line: number } | null } };
        assert.equal(error.code, "task_blocked");
        if (error.at === null) return false;
        assert.equal(error.at.line, line);
        assert.match(error.message, new RegExp(`, in line ${line}$`));
        return true;
      };
      await until(known, "a blocked run has its line", FAR_MS);
    }
  });

  it("ends the other runs of its guest, whose errors say that another run was the cause", async () => {
    const victim = unhurried.run(
      "shared",
      "(context) => { globalThis.waiting = true; return new Promise((never) => setTimeout(never, 60_000)) }",
    );
    await until(
      async () => (await unhurried.run("shared", "globalThis.waiting ?? false")).text === "true",
      "the other runs",
    );
    assertProblem(await unhurried.run("shared", "for (;;);"), 500, "task_blocked");
    assertProblem(await victim, 500, "container_restarted");
    assert.equal((await unhurried.run("shared", "6 * 7")).text, "42");
  });
});

describe("a task that is never done", { concurrency: 4 }, () => {
  it("is ended by its deadline; the other runs of its container end normally", async () => {
    const halfway = `setTimeout(() => { globalThis.halfway = true }, ${WALL_MS / 2})`;
    const late = service.run("waits", `${halfway}; await new Promise((never) => setTimeout(never, 60_000))`);
    await untilFlag("waits", "halfway");
    // This run ends halfway between that deadline and its own deadline.
    const other = service.run("waits", `await new Promise((end) => setTimeout(end, ${(WALL_MS * 3) / 4}, 'mine'))`);
    assertProblem(await late, 500, "task_timeout");
    assert.equal((await other).text, '"mine"');
    assert.equal((await service.run("waits", "6 * 7")).text, "42");
  });

  const never = [
    ["(cb) => { setTimeout(() => {}, 60_000) }", /^cb was never called/],
    [
      "(req, res) => { setTimeout(() => req.method, 60_000) }",
      /^cb was never called.*three parameters, \(context, req, res\)/,
    ],
    ["(context, req, res) => { setTimeout(() => {}, 60_000) }", /^res\.end\(\) was never called/],
    ["(context, req, res) => { res.write('half') }", null],
    [
      "setInterval(() => {}, 5); await new Promise((never) => setTimeout(never, 60_000))",
      // On a busy machine, the guest may answer the service late. Then it could also compute.
      /^(?:Do less in one run.*--wall-limit|Perhaps a loop never ends)/,
    ],
  ] as const;
  for (const [code, hint] of drawn("tasks that are never done", never, 3)) {
    it(`is ended by its deadline, and the hint names what is missing: ${code}`, async () => {
      const answer = await harm(`late-${code.length}`, code);
      if (answer.status === 200) return assert.equal(answer.complete, false);
      const problem = assertProblem(answer, 500, "task_timeout");
      assert.match(problem.hint ?? "(no hint)", hint ?? /./);
    });
  }

  it("receives the abort of its signal at its deadline", async () => {
    const aborting = "c.signal.addEventListener('abort', () => { globalThis.aborted = true })";
    const halfway = `setTimeout(() => { globalThis.halfway = true }, ${WALL_MS / 2})`;
    const late = service.run("signalled", `(c) => new Promise(() => { ${aborting}; ${halfway} })`);
    await untilFlag("signalled", "halfway");
    const look = "const timer = setInterval(() => globalThis.aborted && end(clearInterval(timer)), 10)";
    const seen = service.run("signalled", `await new Promise((end) => { ${look} }); return "aborted"`);
    assertProblem(await late, 500, "task_timeout");
    assert.equal((await seen).text, '"aborted"');
  });

  it("receives the abort of its signal when its caller leaves", async () => {
    const leaving = new AbortController();
    const code = `(c) => new Promise((end) => {
      c.signal.addEventListener("abort", () => { globalThis.left = true; end() });
      globalThis.entered = true;
    })`;
    const held = service.run("left", code, { signal: leaving.signal }).catch(() => null);
    await untilFlag("left", "entered");
    leaving.abort();
    await held;
    await untilFlag("left", "left");
  });
});

describe("a task that takes too much", () => {
  const greedy = {
    heap: "const all = []; for (;;) { all.push(new Array(1_000_000).fill({})); await breath() }",
    buffers: "const all = []; for (;;) { all.push(Buffer.alloc(4 << 20, 1)); await breath() }",
  };
  for (const [what, code] of Object.entries(greedy)) {
    it(`ends with task_memory: ${what}`, async () => {
      // The code yields to its event loop, except while V8 collects for the last time. So only memory can end it.
      const breath = "const breath = () => new Promise(setImmediate);";
      const answer = await harm(`greedy-${what}`, `${breath}\n${code}`, unblocked, FAR_MS);
      assertProblem(answer, 500, "task_memory");
    });
  }

  it("gets ENOSPC from its temporary disk before the host's disk is full", async () => {
    const code =
      "const fs = require('node:fs'); for (let n = 0; n < 200; n++) fs.writeFileSync(`/tmp/${n}`, Buffer.alloc(1 << 20))";
    const answer = await harm("disk", code, unblocked, FAR_MS);
    assert.equal(answer.status, 500);
    assert.match(answer.text, /ENOSPC|task_memory/);
  });

  it("cannot start threads without end", async () => {
    const code = `const { Worker } = require('node:worker_threads');
      let started = 0;
      const ends = [];
      for (let n = 0; n < 300; n++) {
        const worker = new Worker('setInterval(() => {}, 1000)', { eval: true });
        ends.push(new Promise((end) => worker.on('online', () => end(started++)).on('error', end).on('exit', end)));
        await new Promise(setImmediate);
      }
      await Promise.all(ends); return started`;
    const answer = await harm("threads", code, unblocked, FAR_MS);
    if (answer.status === 200) assert.ok(Number(answer.text) < THREADS, answer.text);
    else assert.match(codeOf(answer), /^task_(?:exited|memory|threw)$/, answer.text);
  });

  it("may write any amount to its console", async () => {
    // The code yields to its event loop. On a busy machine so much output in one step would count as a block.
    const code = `for (let n = 0; n < 100_000; n++) {
      console.log('x'.repeat(100));
      if (n % 5_000 === 0) await new Promise(setImmediate);
    }
    return 'done'`;
    const answer = await harm("console", code, unblocked, FAR_MS);
    assert.equal(answer.text, '"done"');
  });
});

describe("a task that ends its process", () => {
  for (const code of [
    "process.exit()",
    "process.exit(0)",
    "process.exit(7)",
    "await null; process.exit(1)",
    "process.reallyExit(3)",
    "process.abort()",
    "process.kill(process.pid, 'SIGKILL')",
  ]) {
    it(`gets task_exited, or the call fails: ${code}`, async () => {
      const answer = await harm(`exit-${code.replaceAll(/[^a-z0-9]/g, "-")}`, code);
      assertProblem(answer, 500, /kill|abort|really/.test(code) ? codeOf(answer) : "task_exited");
      assert.ok(["task_exited", "task_threw"].includes(codeOf(answer)), answer.text);
    });
  }
});

describe("a task that does harm after its answer", () => {
  const later = {
    "throws later": "setTimeout(() => { throw new Error('later') }, 5); return 1",
    "rejects later": "setTimeout(() => Promise.reject(new Error('later')), 5); return 1",
    "exits later": "setTimeout(() => process.exit(1), 5); return 1",
    "answers again": "(cb) => { cb(null, 1); setTimeout(cb, 5, null, 2) }",
    "answers twice": "(context, req, res) => { res.end('1'); setTimeout(() => { res.write('2'); res.end('3') }, 5) }",
    "breaks what other runs use": "Promise.prototype.then = Array.prototype.push = JSON.stringify = null; return 1",
    "closes every descriptor":
      "const fs = require('node:fs'); setTimeout(() => { for (let n = 3; n < 30; n++) try { fs.closeSync(n) } catch {} }, 5); return 1",
    "forges frames":
      "const fs = require('node:fs'); setTimeout(() => { for (let n = 3; n < 30; n++) try { fs.writeSync(n, 'forged'.repeat(9)) } catch {} }, 5); return 1",
  };
  for (const [what, code] of Object.entries(later)) {
    it(`disturbs other runs only for a short time: ${what}`, async () => {
      const container = `later-${what.replaceAll(" ", "-")}`;
      const answer = await service.run(container, code);
      assert.ok(answer.status === 200 || answer.status === 500, answer.text);
      await until(async () => (await service.run(container, "6 * 7")).text === "42", "its container answers", 10_000);
      assert.equal((await service.run(`beside-${container}`, "6 * 7")).text, "42");
    });
  }

  it("may throw next to other runs in its container, which end normally", async () => {
    const other = service.run("thrown", "await new Promise((end) => setTimeout(end, 300, 'mine'))");
    assertProblem(await service.run("thrown", "throw new Error('own')"), 500, "task_threw");
    assertProblem(
      await service.run(
        "thrown",
        "Promise.reject(new Error('own')); await new Promise((never) => setTimeout(never, 60_000))",
      ),
      500,
      "task_threw",
    );
    assert.equal((await other).text, '"mine"');
  });
});

describe("a task that tries to escape", () => {
  const attempts = [
    "require('node:child_process').execSync('id')",
    "require('node:child_process').spawnSync('/bin/node', ['-v']).error ? (() => { throw 1 })() : 1",
    "require('node:fs').readFileSync('/etc/passwd')",
    "require('node:fs').readdirSync('/proc')",
    "require('node:fs').writeFileSync('/guest/x', '')",
    "await fetch('http://127.0.0.1:1/')",
    `await new Promise((end, fail) => require('node:net').connect(22, '127.0.0.1').on('error', fail).on('connect', end))`,
    `await new Promise((end, fail) => require('node:net').createServer().on('error', fail).listen(0, end))`,
    "await require('node:dns/promises').lookup('example.com')",
  ];
  for (const code of attempts) {
    it(`fails: ${code}`, async () => {
      assertProblem(await harm("escape", code), 500, "task_threw");
    });
  }

  it("sees no variable of the host's environment", async () => {
    const code =
      "({ ...process.env, HOME: process.env.HOME === require('node:os').tmpdir() ? undefined : 'of the host' })";
    const seen = Object.keys((await service.run("escape", code)).json() as object);
    assert.ok(!seen.some((name) => /^(PATH|HOME|USER|CAISSON)/.test(name)), seen.join());
  });

  it("sees no data of another container", async () => {
    await service.run("one", "globalThis.left = 1; require('node:fs').writeFileSync('/tmp/left', '1')");
    const seen = await service.run("two", "[globalThis.left ?? null, require('node:fs').existsSync('/tmp/left')]");
    assert.deepEqual(seen.json(), [null, false]);
  });
});

describe("a run that fails", () => {
  it("is counted once, whatever the failure is", async () => {
    const token = await service.issue({ containers: ["*"], limits: { container: { day: 50 } } });
    const codes = [
      "for (;;);",
      "process.exit(1)",
      "throw 1",
      "await new Promise((never) => setTimeout(never, 60_000))",
    ];
    for (const [index, code] of codes.entries()) {
      assert.equal((await service.run("counted", code, { token })).status, 500);
      assert.deepEqual(await containerRecord(service, "counted", token), limitRecord({ day: 49 - index }));
    }
  });
});

/** Waits until a run of the container has set the global variable of this name. */
function untilFlag(container: string, name: string): Promise<void> {
  return until(async () => (await service.run(container, `globalThis.${name} ?? false`)).text === "true", name);
}

function codeOf(answer: Answer): string {
  return (answer.json() as { code: string }).code;
}

/** @param file the name of the database, as an expression */
const databaseIn = (file: string): string => `
  const { DatabaseSync } = require("node:sqlite");
  const { tmpdir } = require("node:os");
  const database = new DatabaseSync(${file});
  database.exec("create table counts (count); insert into counts values (1)");
  return database.prepare("select count from counts").all();
`;

describe("a database in a file", () => {
  it("has a hint, because no task can lock a file", async () => {
    const answer = await unblocked.run("database", databaseIn('tmpdir() + "/locked.db"'));
    const problem = assertProblem(answer, 500, "task_threw");
    assert.match(problem.hint!, /^No task can lock a file\. .*nolock=1/);
  });

  it("works without locks, as in the hint", async () => {
    const answer = await unblocked.run("database", databaseIn('"file:" + tmpdir() + "/unlocked.db?nolock=1"'));
    assert.equal(answer.text, '[{"count":1}]');
  });
});
