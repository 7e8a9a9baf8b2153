import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, globSync, statSync } from "node:fs";
import path from "node:path";
import { after, before, describe, it } from "node:test";

import { isPrivileged } from "../../src/sandbox/privilege.ts";
import { isLong } from "../long.ts";
import { seeded } from "../seeded.ts";
import { caisson, type Home, makeHome, type Service, startService } from "./service.ts";
import { type Trace, Trail } from "./trail.ts";
import { pause, until } from "./until.ts";
import { makeUserHome, whyNoUser } from "./user.ts";

const ROUNDS = isLong ? 15 : 1;
/** The milliseconds in which every kind of load begins. The kill comes at a random moment within them. */
const LOAD_MS = 600;
const START_MS = 600;
/** The milliseconds that the kernel needs at most to end the processes of a killed service. */
const GONE_MS = 20_000;
/** The age from which a run folder without a socket is stale, and a second. */
const YOUNG_MS = 11_000;
const LOOPS = 6;
/** With more services at a time, a small machine is so busy that the test proves nothing. */
const AT_ONCE = 2;
const FLAGS = ["--block-limit", "500ms", "--wall-limit", "3s", "--memory-limit", "96MiB", "--log-level", "error"];

/** Harmless and harmful code, so that guests start, work, are killed and end at every moment. */
const LOAD: readonly string[] = [
  "6 * 7",
  "await new Promise((end) => setTimeout(end, 50))",
  "new ReadableStream({ async pull(c) { await new Promise((end) => setTimeout(end, 20)); c.enqueue('x'.repeat(9999)) } })",
  "for (;;);",
  "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)",
  "process.reallyExit(3)",
  "const held = []; for (;;) { held.push(Buffer.alloc(4 << 20, 1)); await new Promise(setImmediate) }",
  "require('node:fs').writeFileSync('/tmp/left', Buffer.alloc(8 << 20)); return 1",
  "const { Worker } = require('node:worker_threads'); for (let n = 0; n < 9; n++) new Worker('for (;;);', { eval: true }); return 1",
];

const random = seeded();
const SEED = `SEED=${random.seed}`;

/** Sends runs until it is stopped, in known and in new containers. The answers do not matter. */
class Load {
  readonly #loops: Promise<void>[];
  readonly #leaving: AbortController = new AbortController();

  constructor(service: Service) {
    this.#loops = Array.from({ length: LOOPS }, () => this.#loop(service));
  }

  async stop(): Promise<void> {
    this.#leaving.abort();
    await Promise.all(this.#loops);
  }

  async #loop(service: Service): Promise<void> {
    const { signal } = this.#leaving;
    for (let failed = 0; !signal.aborted && failed < 3;) {
      const container = random.below(2) === 0 ? `known-${random.below(3)}` : `new-${random.below(1_000)}`;
      const answer = await service.run(container, random.pick(LOAD), { signal }).catch(() => null);
      failed = answer === null ? failed + 1 : 0;
    }
  }
}

interface Starter {
  readonly starter: string;
  readonly make: () => Promise<Home>;
  readonly skip: string | false;
  readonly hasLauncher: boolean;
  readonly level: "namespaces" | "confined";
}

const STARTERS: readonly Starter[] = (["namespaces", "confined"] as const).flatMap((level) => [
  { starter: `by the user of the tests, ${level}`, make: makeHome, skip: false, hasLauncher: isPrivileged(), level },
  {
    starter: `by a user, without a launcher, ${level}`,
    make: makeUserHome,
    skip: whyNoUser(),
    hasLauncher: false,
    level,
  },
]);

/** In a short run, one starter that this machine has. The seed in the title draws it, with its level. */
const ABLE = STARTERS.filter(({ skip }) => skip === false);
const DRAWN: readonly Starter[] = isLong ? STARTERS : ABLE.slice(random.below(ABLE.length)).slice(0, 1);

describe(`nothing is left (${SEED})`, { concurrency: AT_ONCE }, () => {
  for (const { starter, make, skip, hasLauncher, level } of DRAWN) {
    const flags = [...FLAGS, "--isolation", level];
    describe(`by a service started ${starter}`, { skip, concurrency: 1 }, () => {
      let home: Home;
      let service: Service | null = null;
      before(async () => (home = { ...(await make()), detached: true }));
      after(async () => {
        await service?.stop();
        await home[Symbol.asyncDispose]();
      });

      /** Returns the service that the previous test has left running, or a new service. */
      const running = async (): Promise<Service> => (service ??= await startService(flags, home));

      /** Starts a service again. Asserts that nothing of the previous services is left when it serves. */
      const assertNextLeavesNothing = async (trail: Trail): Promise<void> => {
        const found = await trail.remains();
        service = await startService(flags, home);
        const now = new Set(await trail.remains());
        assert.deepEqual(
          found.filter((each) => now.has(each)),
          [],
          SEED,
        );
      };

      const killUnderLoad = async (pid: number, killed: Service): Promise<void> => {
        const { trail } = killed;
        const load = new Load(killed);
        await pause(random.below(LOAD_MS));
        await trail.processes();
        service = null;
        process.kill(pid, "SIGKILL");
        await until(() => hasGone(trail), `the service and its guests have gone (${SEED})`, GONE_MS);
        await load.stop();
      };

      for (let round = 0; round < ROUNDS; round++) {
        it(`that is killed under load leaves nothing, or nothing after the next start (${round})`, async () => {
          const killed = await running();
          await killUnderLoad(killed.pid, killed);
          await assertNextLeavesNothing(killed.trail);
        });

        const title = `that loses its launcher under load ends, and nothing stays after the next start (${round})`;
        it(title, { skip: !hasLauncher && "it has no launcher" }, async () => {
          const killed = await running();
          const { trail, pid } = killed;
          const launcher = (await trail.processes()).find((trace) => trace.kind === "service" && trace.pid !== pid);
          assert.ok(launcher);
          await killUnderLoad(launcher.pid, killed);
          assert.match(killed.stderr(), /the launcher ended/);
          await assertNextLeavesNothing(trail);
        });

        it(`that is stopped under load leaves nothing, at once (${round})`, async () => {
          const stopped = await running();
          const load = new Load(stopped);
          await pause(random.below(LOAD_MS));
          // The clients of the streams leave, because the service would wait for them. `stop` fails if anything
          // stays.
          service = null;
          await Promise.all([stopped.stop(), load.stop()]);
        });

        it(`that is killed while it starts leaves nothing after the next start (${round})`, async () => {
          const trail = new Trail(home);
          const child = caisson(home, "serve", "--port", "0", ...flags);
          const exited = once(child, "exit");
          await pause(random.below(START_MS));
          await trail.processes();
          child.kill("SIGKILL");
          await exited;
          await until(() => hasGone(trail), `the service and its guests have gone (${SEED})`, GONE_MS);
          // A service in another container may be about to create the socket of a young folder, so the next start leaves it.
          await until(() => hasNoYoungFolder(home.tmp), "every folder without a socket is old", GONE_MS);
          await assertNextLeavesNothing(trail);
        });
      }

      it("survives the death of any guest and of any bubblewrap, and leaves nothing of them", async () => {
        const survivor = await running();
        const { trail } = survivor;
        const load = new Load(survivor);
        const killed: string[] = [];
        // A process that is not yet a guest is rare. A guest is always found, as soon as one exists.
        await until(async () => hasGuest(await trail.processes()), "a guest exists");
        const wrapper = level === "confined" ? "guest" : "bwrap";
        for (const kind of Array.from({ length: ROUNDS }, () => ["guest", wrapper, "unborn"] as const).flat()) {
          await pause(random.below(LOAD_MS / 4));
          const found = (await trail.processes()).filter((trace) => trace.kind === kind);
          if (found.length > 0 && kill(random.pick(found).pid)) killed.push(kind);
        }
        await load.stop();
        assert.ok(killed.length > 0);
        assert.equal((await survivor.run("after", "6 * 7")).text, "42");
        await until(() => arePaired(trail), `every guest has its bubblewrap and its group (${SEED})`, GONE_MS);
      });

      it("lets its runs end after Ctrl-C, which the terminal sends to its whole process group", async () => {
        const interrupted = await running();
        const ends = interrupted.run(
          "demo",
          "globalThis.begun = 1; await new Promise((end) => setTimeout(end, 900)); return 'whole'",
        );
        await until(
          async () => (await interrupted.run("demo", "globalThis.begun ?? 0")).text === "1",
          "the run has begun",
        );
        service = null;
        process.kill(-interrupted.pid, "SIGINT");
        assert.equal((await ends).text, '"whole"');
        await until(async () => (await interrupted.trail.left()).length === 0, "nothing of the service is left");
      });
    });
  }
});

/** Whether the only processes left are not yet guests. They wait for a bubblewrap that has ended. */
async function hasGone(trail: Trail): Promise<boolean> {
  return (await trail.processes()).every(({ kind }) => kind === "unborn");
}

/** Whether no run folder lacks the socket of its service, unless it is so old that it is certainly stale. */
function hasNoYoungFolder(tmp: string): boolean {
  return globSync("caisson-run-*", { cwd: tmp }).every((name) => {
    const folder = path.join(tmp, name);
    return existsSync(path.join(folder, "alive.sock")) || Date.now() - statSync(folder).mtimeMs > YOUNG_MS;
  });
}

function hasGuest(traces: readonly Trace[]): boolean {
  return traces.some(({ kind }) => kind === "guest");
}

/** Whether each bubblewrap has a guest, each guest a bubblewrap, and each control group a guest. */
async function arePaired(trail: Trail): Promise<boolean> {
  const found = await trail.processes();
  const count = (what: Trace["kind"]): number => found.filter(({ kind }) => kind === what).length;
  const groups = new Set(trail.groups().map((folder) => path.basename(folder))).size;
  // A confined guest has no bubblewrap. A guest that is process 1 of a namespace has one.
  const isPaired = count("bwrap") === 0 || count("guest") === count("bwrap");
  return count("unborn") === 0 && isPaired && [0, count("guest")].includes(groups);
}

function kill(pid: number): boolean {
  try {
    return process.kill(pid, "SIGKILL");
  } catch {
    // The process has ended since the test found it.
    return false;
  }
}
