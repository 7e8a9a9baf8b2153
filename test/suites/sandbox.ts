import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, describe, it } from "node:test";

import type { Plugin } from "esbuild";

import { Guest } from "../../src/containers/guest/guest.ts";
import { Problem } from "../../src/errors.ts";
import type { SandboxOptions } from "../../src/sandbox/local-sandbox.ts";
import type { GuestProcess, Sandbox } from "../../src/sandbox/sandbox.ts";
import { LIMITS } from "../containers/puppet.ts";
import { start } from "../containers/recorder.ts";
import { until } from "../contract/until.ts";
import { esbuildOver } from "../sandbox/esbuild-over.ts";

const MIB = 2 ** 20;
export const SANDBOX_OPTIONS: SandboxOptions = {
  isolation: "namespaces",
  memoryBytes: 128 * MIB,
  threads: 48,
  cpuCores: 1,
  tmpBytes: 16 * MIB,
  descriptors: 128,
  resultBytes: LIMITS.resultBytes,
  logs: LIMITS.logs,
};

/** The time for a guest that prints its stack within the tenth of a second that the sandbox waits for it. */
const STACK_MS = 120_000;

/** The number of promises tested at once. A test mostly starts guests, which is work for one processor. */
const AT_ONCE = 2;

/** The promises of every isolation level about its guests, whatever mechanisms it uses. */
export function sandboxSuite(subject: string, open: (options: SandboxOptions) => Promise<Sandbox>): void {
  describe(`${subject} as a sandbox`, () => {
    let under: Under;
    before(async () => {
      under = new Under(await open(SANDBOX_OPTIONS));
    });
    after(() => under?.sandbox.close());
    describe("the guests of the sandbox", { concurrency: AT_ONCE }, () => holdPromises(() => under));

    it("ends all remaining guests when it is closed", async () => {
      const guest = await under.ready();
      start(guest, "for (;;);");
      await under.sandbox.close();
      await guest.process.exited;
      await assert.rejects(async () => under.sandbox.launch(), /no process could be started/);
    });
  });
}

function holdPromises(opened: () => Under): void {
  const promise = (sentence: string, body: (under: Under) => Promise<void>): void => {
    it(sentence, () => body(opened()));
  };

  promise("start, report that they are ready, can be sealed, and answer", async (under) => {
    const guests = await Promise.all(Array.from({ length: 5 }, () => under.fresh()));
    const answers = await Promise.all(guests.map((guest, index) => start(guest, `${index} * 7`).outcome()));
    assert.deepEqual(
      answers,
      guests.map((_, index) => `result ${index * 7}`),
    );
    under.leave(...guests);
  });

  promise("each have their own process and temporary folder", async (under) => {
    const [one, other] = await Promise.all([under.ready(), under.ready()]);
    const tmp = `const { tmpdir } = await import("node:os"); const fs = await import("node:fs");`;
    const mark = start(one, `${tmp} globalThis.mark = 1; fs.writeFileSync(tmpdir() + "/mark", "x"); return 1`);
    assert.equal(await mark.outcome(), "result 1");
    const look = start(other, `${tmp} return [typeof mark, fs.existsSync(tmpdir() + "/mark")]`);
    assert.equal(await look.outcome(), 'result ["undefined",false]');
    under.leave(other);
  });

  promise("have nothing of the service's environment", async (under) => {
    process.env["CAISSON_SUITE_SECRET"] = "seen";
    const guest = await under.fresh();
    delete process.env["CAISSON_SUITE_SECRET"];
    const seen = `const { HOME, PWD, TMPDIR, ...others } = process.env; return [others, HOME === require("node:os").tmpdir()]`;
    assert.equal(await start(guest, seen).outcome(), "result [{},true]");
    under.leave(guest);
  });

  promise("can neither open a file of the host nor start a process", async (under) => {
    const guest = await under.ready();
    for (const code of [
      `(await import("node:fs")).readFileSync("/etc/passwd")`,
      `(await import("node:fs")).writeFileSync("/caisson-suite", "")`,
      `(await import("node:child_process")).execFileSync("/bin/sh", ["-c", "true"])`,
      `(await import("node:child_process")).execFileSync(process.execPath, ["--version"])`,
    ]) {
      assert.equal(await start(guest, attempt(code)).outcome(), 'result "stopped"', code);
    }
    under.leave(guest);
  });

  promise("have facts from the kernel as long as they live", async (under) => {
    const guest = await under.fresh();
    const { process } = guest;
    const first = await process.inspect();
    assert.ok(first && first.threads >= 1 && first.memoryBytes > MIB, JSON.stringify(first));
    start(guest, "for (;;);");
    const burned = async (): Promise<boolean> => (await process.inspect())!.cpuMs >= first.cpuMs + 100;
    await until(burned, "the processor time that it burns is seen");
    assert.match((await process.inspect())!.title, /^r[0-9a-z]+$/);
    process.kill();
    await process.exited;
    assert.equal(await process.inspect(), null);
  });

  promise("have their files in memory counted, at the level that has their files there", async (under) => {
    const guest = await under.fresh();
    const files = `require("node:fs").writeFileSync(require("node:os").tmpdir() + "/file", Buffer.alloc(${8 * MIB}))`;
    assert.equal(await start(guest, files).outcome(), "result null");
    const bytes = await guest.process.tmpfsBytes();
    if (under.sandbox.facts.level === "namespaces") assert.ok(bytes >= 8 * MIB && bytes < 9 * MIB, `${bytes}`);
    else assert.equal(bytes, 0);
    if (under.sandbox.facts.level === "namespaces") {
      const empty = `const fs = require("node:fs"), folder = require("node:os").tmpdir();
        for (let at = 0; at < 5_000; at++) fs.writeFileSync(folder + "/" + at, "")`;
      assert.equal(await start(guest, empty).outcome(), "result null");
      const grown = (await guest.process.tmpfsBytes()) - bytes;
      assert.ok(grown > 4.5 * MIB && grown < 6 * MIB, `${grown}`);
    }
    guest.process.kill();
    await guest.process.exited;
    assert.equal(await guest.process.tmpfsBytes(), 0);
  });

  promise("print the stack of what they execute if they are interrupted", async (under) => {
    const interrupted = async (): Promise<boolean> => {
      // The title of a guest that has answered may still name its last run.
      const guest = await under.fresh();
      const { process } = guest;
      start(guest, "for (;;);");
      await until(async () => (await process.inspect())!.title.startsWith("r"), "it has entered the run");
      const stack = await process.interrupt();
      process.kill();
      await process.exited;
      assert.equal(await process.interrupt(), "");
      return /^ {4}at .*\btask:\/\d+\/task\.js:1:\d+/m.test(stack);
    };
    // A busy machine may not give a guest a processor in time, and then there is no stack. The next guest takes seconds to start.
    await until(interrupted, "a guest prints its stack", STACK_MS);
  });

  promise("end alone if they block", async (under) => {
    const [blocked, beside] = await Promise.all([under.ready(), under.ready()]);
    const run = start(blocked, "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)");
    blocked.end(new Problem("task_blocked", "for the suite"));
    assert.equal(await run.outcome(), "task_blocked");
    const { outOfMemory } = await blocked.process.exited;
    assert.equal(outOfMemory, false);
    assert.equal(await start(beside, "6 * 7").outcome(), "result 42");
    under.leave(beside);
    // A second call, and a call after the end, do nothing and end no other process.
    blocked.process.kill();
  });

  promise("end if they are killed before they have begun", async (under) => {
    const process = await under.launch();
    process.kill();
    await process.exited;
    if (!process.socket.destroyed) await once(process.socket, "close");
  });

  promise("end if their socket is closed, because no service waits for them", async (under) => {
    const guest = await under.ready();
    guest.process.socket.destroy();
    await guest.process.exited;
  });

  promise("end with a reason that distinguishes too much memory from a crash", async (under) => {
    const [hungry, crashing] = await Promise.all([under.ready(), under.ready()]);
    start(hungry, "const held = []; for (;;) held.push(new Array(1e5).fill(Math.random()))");
    start(crashing, "process.reallyExit(7)");
    assert.equal((await hungry.process.exited).outOfMemory, true);
    assert.equal((await crashing.process.exited).outOfMemory, false);
  });

  promise("have more memory if they are of the kind builder", async (under) => {
    const process = await under.sandbox.launch("builder");
    const builder = await new Guest(process, LIMITS).ready();
    const more = 2 * SANDBOX_OPTIONS.memoryBytes;
    assert.equal(await start(builder, `Buffer.alloc(${more}, 1).length`).outcome(), `result ${more}`);
    builder.end(new Problem("container_restarted", "the suite is done with it"));
    await process.exited;
  });

  promise("serve builds if they are of the kind esbuild, and read no file of the host", async (under) => {
    const process = await under.sandbox.launch("esbuild");
    const served = once(process.socket, "readable");
    await served;
    await process.seal();
    const esbuild = esbuildOver(process.socket);
    const { code } = await esbuild.transform("enum Kind { One = 1 } globalThis.kind = Kind.One", { loader: "ts" });
    assert.match(code, /globalThis\.kind = 1/);
    if (under.sandbox.facts.level !== "none") {
      const options = { loader: { "": "text" }, write: false, logLevel: "silent", bundle: true } as const;
      await assert.rejects(esbuild.build({ ...options, entryPoints: ["/etc/passwd"] }), /Could not (?:resolve|read)/);
      const outside = { entryPoints: ["a"], outdir: "/tmp/out", write: true, plugins: [VIRTUAL] };
      await assert.rejects(esbuild.build({ ...options, ...outside }), /Failed to (?:write|create)/);
    }
    process.kill();
    await process.exited;
  });
}

/** Gives esbuild a file that does not exist. */
const VIRTUAL: Plugin = {
  name: "virtual",
  setup: (bundler) => {
    bundler.onResolve({ filter: /^a$/ }, () => ({ path: "a", namespace: "virtual" }));
    bundler.onLoad({ filter: /./, namespace: "virtual" }, () => ({ contents: "1", loader: "js" }));
  },
};

function attempt(code: string): string {
  return `try { ${code}; return "got through" } catch { return "stopped" }`;
}

class Under {
  readonly sandbox: Sandbox;
  /** The guests that a test has used and left as they were. A start takes most of the time of a test. */
  readonly #left: Guest[] = [];

  constructor(sandbox: Sandbox) {
    this.sandbox = sandbox;
  }

  launch(): Promise<GuestProcess> {
    return this.sandbox.launch();
  }

  /** Returns a guest that executes nothing, and no other test uses. It may have answered a run. */
  async ready(): Promise<Guest> {
    return this.#left.pop() ?? (await this.fresh());
  }

  /** Returns a guest that has executed nothing. */
  async fresh(): Promise<Guest> {
    return new Guest(await this.launch(), LIMITS).ready();
  }

  /** Leaves guests to other tests. */
  leave(...guests: readonly Guest[]): void {
    this.#left.push(...guests);
  }
}
