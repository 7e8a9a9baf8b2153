import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, describe, it } from "node:test";

import { GuestProcess } from "./guest-process.ts";

describe("the process of a guest", () => {
  let guest: GuestProcess;
  before(async () => {
    guest = await GuestProcess.start();
  });
  after(() => guest.close());

  it("has no arguments", async () => {
    assert.deepEqual(await guest.value("process.argv.slice(2)"), []);
  });

  it("an uncaught exception fails only its own run", async () => {
    const bystander = guest.start(guest.code("await new Promise((resolve) => { globalThis.free = resolve })"));
    for (const text of [
      "() => new Promise(() => setTimeout(() => { throw new Error('timer') }, 1))",
      "() => new Promise(() => process.nextTick(() => { throw new Error('tick') }))",
      "() => { Promise.reject(new Error('floating')); return new Promise(() => {}) }",
      "(cb) => { require('zlib').gunzip('x', () => { throw new Error('callback') }) }",
    ]) {
      const fault = await guest.fault(text);
      assert.equal(fault.code, "task_threw", text);
      assert.match(fault.error!.stack!, /at .*task\.js:1:/);
    }
    assert.equal(await guest.value("free(), 1"), 1);
    assert.equal((await bystander.outcome).result, "null");
  });

  it("a rejection of WebAssembly that nothing awaits fails its own run, and no other one", async () => {
    const bystander = guest.start(guest.code("await new Promise((resolve) => { globalThis.free = resolve })"));
    for (const call of ["compile", "instantiate"]) {
      const forgotten = `() => { WebAssembly.${call}(new Uint8Array(9)); return new Promise(() => {}) }`;
      assert.match((await guest.fault(forgotten)).detail, /CompileError: WebAssembly\.\w+\(\): /);
      const late = guest.start(guest.code(`() => { WebAssembly.${call}(new Uint8Array(9)); return 1 }`));
      assert.equal((await late.outcome).result, "1");
      while (!guest.lateErrors.some(({ run }) => run === late.id)) await guest.ping();
      assert.equal(
        await guest.value(`try { await WebAssembly.${call}(new Uint8Array(9)) } catch { return "caught" }`),
        "caught",
      );
    }
    const empty = "new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])";
    assert.equal(
      await guest.value(`(await WebAssembly.instantiate(${empty})).module instanceof WebAssembly.Module`),
      true,
    );
    const module = `await WebAssembly.instantiate(await WebAssembly.compile(${empty}), {})`;
    assert.equal(await guest.value(`${module} instanceof WebAssembly.Instance`), true);
    assert.equal(await guest.value("free(), 1"), 1);
    assert.equal((await bystander.outcome).result, "null");
  });

  it("an uncaught exception after the answer is reported as a late error, and the guest continues", async () => {
    const { id, outcome } = guest.start(
      guest.code("() => { setImmediate(() => { throw new Error('late') }); return 1 }"),
    );
    assert.equal((await outcome).result, "1");
    while (!guest.lateErrors.some((each) => each.run === id)) await guest.ping();
    const { fault } = guest.lateErrors.find((each) => each.run === id)!;
    assert.equal(fault.detail, "after its answer: the task threw Error: late");
    assert.equal(await guest.value("2"), 2);
  });

  it("a task that ends the process fails with task_exited, and then the guest ends", async () => {
    for (const [text, detail] of [
      ["() => process.exit(3)", /process\.exit\(3\)/],
      ["() => new Promise(() => setImmediate(() => process.exit()))", /process\.exit\(0\)/],
      ["try { process.exit(1) } catch { return 5 }", /process\.exit\(1\)/],
      ["process.abort()", /process\.abort/],
      ["process.kill(process.pid, 'SIGKILL')", /process\.kill/],
      ["process.reallyExit(1)", /process\.exit/],
    ] as const) {
      await using own = await GuestProcess.start();
      const fault = await own.fault(text);
      assert.equal(fault.code, "task_exited", text);
      assert.equal(fault.retire, true);
      assert.match(fault.detail, detail);
      assert.equal(await own.exited, 0);
    }
  });

  it("ends when the service closes its end of the link", async () => {
    await using own = await GuestProcess.start();
    own.start(own.code("await new Promise((resolve) => setTimeout(resolve, 1e6))"));
    await own.ping();
    assert.equal(await own.close(), 0);
  });

  it("shows in its title which run is entered, even while the run blocks", async () => {
    await using own = await GuestProcess.start();
    const name = async (): Promise<string> =>
      (await readFile(`/proc/${own.pid}/stat`, "utf8")).replace(/^.*\((.*)\).*$/s, "$1");
    assert.equal(await name(), "idle");
    const { id } = own.start(own.code("for (;;);"));
    while ((await name()) === "idle") await new Promise(setImmediate);
    assert.equal(await name(), `r${id.toString(36)}`);
  });

  it("has process.memoryUsage and standard streams without /proc and without a terminal", async () => {
    assert.ok((await guest.value("process.memoryUsage().rss > 0 && process.memoryUsage.rss() > 0")) === true);
    assert.equal(await guest.value("let n = 0; for await (const chunk of process.stdin) n += 1; return n"), 0);
  });

  it("aborts the signal of a run, and ignores frames for an unknown run", async () => {
    const text =
      "async ({ signal }) => { signal.addEventListener('abort', () => console.log(signal.reason.name)); globalThis.waiting = true; await new Promise(() => {}) }";
    for (const [reason, name] of [
      ["deadline", "TimeoutError"],
      ["gone", "AbortError"],
    ] as const) {
      const run = guest.start(guest.code(text));
      await guest.ping();
      guest.abort(run.id, reason);
      while (!guest.logs.some((line) => line.run === run.id && line.text === name)) await guest.ping();
    }
    guest.abort(4_000_000, "gone");
    guest.window(4_000_000, 1);
    assert.equal(await guest.value("1"), 1);
  });

  it("a signal that the task first reads after the abort is aborted", async () => {
    const run = guest.start(
      guest.code(
        "async (context) => { await new Promise((resolve) => { globalThis.go = resolve }); console.log(String(context.signal.aborted)) }",
      ),
    );
    await guest.ping();
    guest.abort(run.id, "gone");
    await guest.value("go(), 1");
    while (!guest.logs.some((line) => line.run === run.id && line.text === "true")) await guest.ping();
  });

  it("a task that replaces built-ins does not break later runs of other code", async () => {
    for (const poison of [
      "JSON.stringify = () => { throw new Error('poison') }; JSON.parse = JSON.stringify",
      "Promise.prototype.then = () => { throw new Error('poison') }",
      "Array.prototype[Symbol.iterator] = () => { throw new Error('poison') }",
      "Buffer.prototype.write = Buffer.prototype.toString = Buffer.prototype.readUInt32LE = () => { throw new Error('poison') }",
      "Map.prototype.get = Map.prototype.set = Map.prototype.delete = () => { throw new Error('poison') }",
    ]) {
      await using own = await GuestProcess.start();
      const poisoner = own.start(own.code(`() => { ${poison} }`));
      await poisoner.outcome;
      assert.equal(await own.value("6 * 7"), 42, poison);
      assert.deepEqual(
        await own.value("module.exports = async (context) => ({ n: await context.data.n })", { body: { n: 1 } }),
        { n: 1 },
        poison,
      );
      assert.equal(await own.value("const x = await 6; return x * 7"), 42, poison);
      // V8's `import()` calls the `then` that the task replaced. Code that needs no loading still works.
      if (!poison.startsWith("Promise")) {
        assert.equal(await own.value("export default () => 42"), 42, poison);
        const imports = 'import path, { join as put } from "node:path"\nexport default () => put("a", path.sep)';
        assert.equal(await own.value(imports), "a/", poison);
      }
      assert.equal(
        await own.value("(context, cb) => cb(null, context.query.a)", { url: "http://h/?a=1" }),
        "1",
        poison,
      );
      assert.equal((await own.fault("throw new Error('x')")).error?.message, "x", poison);
      assert.equal((await own.fault("let x = ;")).code, "code_syntax", poison);
    }
  });
});

describe("the log of a run", () => {
  let guest: GuestProcess;
  before(async () => {
    guest = await GuestProcess.start();
  });
  after(() => guest.close());

  it("has each line that the task writes, with its level", async () => {
    const { id, outcome } = guest.start(
      guest.code(`() => {
        console.log("a %d %o", 1, { b: 2 });
        console.debug("d"); console.info("i"); console.warn("w"); console.error("e");
        process.stdout.write("out\\n"); process.stderr.write("err");
        console.group("g"); console.log("in"); console.groupEnd();
      }`),
    );
    await outcome;
    assert.deepEqual(
      guest.logs.filter(({ run }) => run === id).map(({ level, text }) => [level, text]),
      [
        ["info", "a 1 { b: 2 }"],
        ["debug", "d"],
        ["info", "i"],
        ["warn", "w"],
        ["error", "e"],
        ["info", "out"],
        ["error", "err"],
        ["info", "g"],
        ["info", "  in"],
      ],
    );
  });

  it("has the lines that its code writes asynchronously", async () => {
    const code = guest.code("async (context) => { await new Promise(setImmediate); console.log(context.body) }");
    const runs = [1, 2, 3].map((body) => ({ body, run: guest.start(code, { body }) }));
    for (const { body, run } of runs) {
      await run.outcome;
      assert.deepEqual(
        guest.logs.filter((line) => line.run === run.id).map(({ text }) => text),
        [String(body)],
      );
    }
  });

  it("has the first 64 KiB of a long line, and a note", async () => {
    const { id, outcome } = guest.start(guest.code("() => console.log('x'.repeat(2e5))"));
    await outcome;
    const lines = guest.logs.filter(({ run }) => run === id);
    assert.deepEqual(
      lines.map(({ level, text }) => [level, text.length > 100 ? text.length : text]),
      [
        ["info", 65_536],
        ["warn", "the previous line has 200000 bytes; only the first 65536 were logged"],
      ],
    );
  });

  it("ends at 256 KiB with a note", async () => {
    const { id, outcome } = guest.start(
      guest.code("() => { for (let i = 0; i < 400; i += 1) console.log('x'.repeat(1024)) }"),
    );
    await outcome;
    const lines = guest.logs.filter(({ run }) => run === id);
    // Each line counts one byte more, for its level.
    assert.equal(lines.length, Math.floor(262_144 / 1_025) + 1);
    assert.match(lines.at(-1)!.text, /262144 bytes; the rest is dropped/);
  });

  it("has a thousand lines of a second, and a note that the rest is dropped", async () => {
    const { id, outcome } = guest.start(guest.code("() => { for (let i = 1; i <= 1500; i += 1) console.log(i) }"));
    await outcome;
    const lines = guest.logs.filter(({ run }) => run === id).map(({ text }) => text);
    assert.deepEqual(lines.slice(998, 1_001), [
      "999",
      "1000",
      "the run has logged 1000 lines in a second; the rest of the second is dropped",
    ]);
    assert.ok(!lines.includes("1001"));
  });
});

describe("the context of a run", () => {
  let guest: GuestProcess;
  before(async () => {
    guest = await GuestProcess.start();
  });
  after(() => guest.close());

  it("has every member of the request", async () => {
    const request = {
      runId: "r1",
      method: "PUT",
      url: "http://h/api/run/demo?a=1&a=2&b=3",
      headers: { "x-a": "b" },
      body: { b: 4, c: 5 },
      params: { c: 6 },
    };
    assert.deepEqual(
      await guest.value("(context) => ({ ...context, signal: context.signal instanceof AbortSignal })", request),
      {
        ...request,
        container: "demo",
        traceparent: null,
        query: { a: ["1", "2"], b: "3" },
        secrets: {},
        data: { a: ["1", "2"], b: 4, c: 6 },
        signal: true,
      },
    );
  });

  it("treats __proto__ as an ordinary name", async () => {
    const text = "(c) => [c.query.admin, c.data.admin, c.params.admin, Object.keys(c.data), ({}).admin]";
    const body = JSON.parse('{"__proto__":{"admin":true}}') as object;
    assert.deepEqual(await guest.value(text, { url: "http://h/?__proto__=1", body }), [
      null,
      null,
      null,
      ["__proto__"],
      null,
    ]);
  });

  it("merges a body into data only if the body is an object", async () => {
    for (const body of [[1], "text", null, 5]) {
      assert.deepEqual(await guest.value("(c) => [c.data, c.body]", { url: "http://h/?a=1", body }), [
        { a: "1" },
        body,
      ]);
    }
  });
});
