import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import { setImmediate } from "node:timers/promises";

import { sandboxOf } from "../../src/sandbox/local-sandbox.ts";
import { openLocalSandbox } from "../../src/sandbox/open-local-sandbox.ts";
import type { GuestProcess, Sandbox } from "../../src/sandbox/sandbox.ts";
import { type Home, makeHome } from "../contract/service.ts";
import { Trail } from "../contract/trail.ts";
import { until } from "../contract/until.ts";
import { isLong } from "../long.ts";
import { seeded } from "../seeded.ts";
import { SANDBOX_OPTIONS } from "../suites/sandbox.ts";

const CHILDREN = `/proc/${process.pid}/task/${process.pid}/children`;
const STARTS = isLong ? 200 : 20;
/** The time in which tests end a guest, in microseconds. The setup of a guest takes some milliseconds; then Node starts. */
const START_US = 12_000;
const END_MS = 10_000;

let home: Home;
let trail: Trail;
let sandbox: Sandbox;

before(async () => {
  home = await makeHome();
  process.env["TMPDIR"] = home.tmp;
  trail = new Trail(home);
});
after(() => home[Symbol.asyncDispose]());

for (const level of ["namespaces", "confined"] as const) {
  describe(`at the level ${level}`, () => {
    before(async () => {
      sandbox = sandboxOf(await openLocalSandbox({ ...SANDBOX_OPTIONS, isolation: level }));
    });
    after(() => sandbox.close());
    leavesNothing();
  });
}

/** Returns the child processes of this process, such as bubblewrap. */
function children(): Set<number> {
  return new Set(readFileSync(CHILDREN, "utf8").trim().split(" ").map(Number));
}

async function launch(): Promise<{ guest: GuestProcess; wrapper: number }> {
  const known = children();
  const guest = await sandbox.launch();
  guest.socket.resume();
  const [wrapper] = [...children()].filter((pid) => !known.has(pid));
  return { guest, wrapper: wrapper! };
}

/** Ends guests at random moments of their start, and asserts that no process and no group of them remains. */
async function endAtAnyMoment(end: (guest: GuestProcess, wrapper: number) => void): Promise<void> {
  const random = seeded();
  for (let count = 0; count < STARTS; count++) {
    const { guest, wrapper } = await launch();
    const afterUs = random.below(START_US);
    const endMs = performance.now() + afterUs / 1_000;
    while (performance.now() < endMs) await setImmediate();
    end(guest, wrapper);
    const reported = `seed ${random.seed}, start ${count}, ended after ${afterUs} µs`;
    const late = once(AbortSignal.timeout(END_MS), "abort").then(() => assert.fail(`it has not ended; ${reported}`));
    await Promise.race([guest.exited, late]);
    // A process that reads the files of the guest to check its disk ends a moment later by itself.
    await until(async () => (await trail.processes()).length === 0, `no process remains; ${reported}`);
    assert.deepEqual(trail.groups(), [], reported);
  }
}

function leavesNothing(): void {
  it("a guest ends if its bubblewrap or its own process is killed at any moment of its start", async () => {
    await endAtAnyMoment((_, wrapper) => process.kill(wrapper, "SIGKILL"));
  });

  it("a guest that is ended at any moment of its start leaves no process and no group", async () => {
    await endAtAnyMoment((guest) => guest.kill());
  });

  it("a guest that ends while it is sealed leaves no control group", async () => {
    for (let count = 0; count < 5; count++) {
      const { guest } = await launch();
      await new Promise((resolve) => guest.socket.once("data", resolve));
      await trail.processes();
      const sealing = guest.seal().catch(() => {});
      guest.kill();
      await Promise.all([guest.exited, sealing]);
      assert.deepEqual(trail.groups(), []);
    }
  });
}
