import assert from "node:assert/strict";
import { once } from "node:events";
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
/** Within it every kind of load has begun; the moment of the kill is anywhere in it. */
const LOAD_MS = 600;
const START_MS = 800;
/** What goes with a service that is killed, goes within the time that the kernel takes. */
const GONE_MS = 20_000;
const LOOPS = 6;
/** With more services at a time a small machine tells nothing but how busy it is. */
const AT_ONCE = 2;
const FLAGS = ["--block-limit", "500ms", "--wall-limit", "3s", "--memory-limit", "96MiB", "--log-level", "error"];

/** Well-behaved and otherwise, so that guests start, work, are killed and end by themselves at every moment. */
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

/** Runs until it is stopped, in containers that are known and in new ones. What is answered does not matter. */
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
  readonly who: string;
  readonly make: () => Promise<Home>;
  readonly skip: string | false;
  readonly hasLauncher: boolean;
  readonly level: "namespaces" | "confined";
}

const STARTERS: readonly Starter[] = (["namespaces", "confined"] as const).flatMap((level) => [
  { who: `as whoever runs the tests, ${level}`, make: makeHome, skip: false, hasLauncher: isPrivileged(), level },
  { who: `as a user, without a launcher, ${level}`, make: makeUserHome, skip: whyNoUser(), hasLauncher: false, level },
]);

describe(`nothing is left (${SEED})`, { concurrency: AT_ONCE }, () => {
  for (const { who, make, skip, hasLauncher, level } of STARTERS) {
    const flags = [...FLAGS, "--isolation", level];
    describe(`by a service started ${who}`, { skip, concurrency: 1 }, () => {
      let home: Home;
      let service: Service | null = null;
      before(async () => (home = { ...(await make()), detached: true }));
      after(async () => {
        await service?.stop();
        await home[Symbol.asyncDispose]();
      });

      /** The service that the test before has left running, or a new one. */
      const running = async (): Promise<Service> => (service ??= await startService(flags, home));

      /** Starts a service again: when it serves, all is gone of those before it. */
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

        const bereft = `that loses its launcher under load ends, and nothing stays after the next start (${round})`;
        it(bereft, { skip: !hasLauncher && "it has no launcher" }, async () => {
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
          // Streams are left, or they would be let end. The stop fails by itself when anything stays.
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
          await assertNextLeavesNothing(trail);
        });
      }

      it("outlives the death of any guest and of any bubblewrap, and nothing of them stays", async () => {
        const outlives = await running();
        const { trail } = outlives;
        const load = new Load(outlives);
        const killed: string[] = [];
        // One that has not begun is seldom met, a guest always, once there is one.
        await until(async () => hasGuest(await trail.processes()), "there is a guest");
        const wrapper = level === "confined" ? "guest" : "bwrap";
        for (const kind of Array.from({ length: ROUNDS }, () => ["guest", wrapper, "unborn"] as const).flat()) {
          await pause(random.below(LOAD_MS / 4));
          const found = (await trail.processes()).filter((trace) => trace.kind === kind);
          if (found.length > 0 && kill(random.pick(found).pid)) killed.push(kind);
        }
        await load.stop();
        assert.ok(killed.length > 0);
        assert.equal((await outlives.run("after", "6 * 7")).text, "42");
        await until(() => arePaired(trail), `every guest has its bubblewrap and its group (${SEED})`, GONE_MS);
      });

      it("lets its runs end after Ctrl-C, which its whole process group hears", async () => {
        const told = await running();
        const ends = told.run(
          "demo",
          "globalThis.begun = 1; await new Promise((end) => setTimeout(end, 900)); return 'whole'",
        );
        await until(async () => (await told.run("demo", "globalThis.begun ?? 0")).text === "1", "the run has begun");
        service = null;
        process.kill(-told.pid, "SIGINT");
        assert.equal((await ends).text, '"whole"');
        await until(async () => (await told.trail.left()).length === 0, "the service has gone with all it had");
      });
    });
  }
});

/** Whether nothing lives but what was not yet a guest, which waits for a bubblewrap that has gone. */
async function hasGone(trail: Trail): Promise<boolean> {
  return (await trail.processes()).every(({ kind }) => kind === "unborn");
}

function hasGuest(traces: readonly Trace[]): boolean {
  return traces.some(({ kind }) => kind === "guest");
}

/** Whether there is no bubblewrap without its guest, no guest without its bubblewrap, no group without either. */
async function arePaired(trail: Trail): Promise<boolean> {
  const found = await trail.processes();
  const count = (what: Trace["kind"]): number => found.filter(({ kind }) => kind === what).length;
  const groups = new Set(trail.groups().map((folder) => path.basename(folder))).size;
  // One that is confined has no bubblewrap, and one as process 1 of a namespace has.
  const isPaired = count("bwrap") === 0 || count("guest") === count("bwrap");
  return count("unborn") === 0 && isPaired && [0, count("guest")].includes(groups);
}

function kill(pid: number): boolean {
  try {
    return process.kill(pid, "SIGKILL");
  } catch {
    // It has ended since it was seen.
    return false;
  }
}
