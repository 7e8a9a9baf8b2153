import assert from "node:assert/strict";
import { describe, it } from "node:test";

import * as fc from "fast-check";

import { type SinceBoot, systemClock } from "../../../src/limits/steady-clock.ts";
import { admitted, charge } from "../../suites/limit-store.ts";
import { failOnError, inFolder, withStore } from "./folder.ts";

const MINUTE_MS = 60_000;
const LIMIT = 5;
/** How much later than necessary a run may be admitted after each restart: the resolution of the uptime. */
const STEP_MS = 10;

/** A clock with real time, and a wall clock that is set independently. */
class SetClock {
  passedMs = 1_000_000;
  aheadMs = 1_800_000_000_000;
  boot: string | undefined = "0".repeat(32);

  now(): number {
    return this.passedMs + this.aheadMs;
  }

  sinceBoot(): SinceBoot | undefined {
    return this.boot === undefined ? undefined : { boot: this.boot, ms: this.passedMs - (this.passedMs % STEP_MS) };
  }
}

const life = fc.record({
  /** The change of the wall clock while the service is down. */
  setMs: fc.oneof(
    fc.constant(0),
    fc.integer({ min: -MINUTE_MS, max: MINUTE_MS }),
    fc.integer({ min: -40 * 86_400_000, max: 40 * 86_400_000 }),
  ),
  downMs: fc.integer({ min: 0, max: MINUTE_MS }),
  waits: fc.array(fc.integer({ min: 0, max: MINUTE_MS / 3 }), { maxLength: 6 }),
});

describe("limits across restarts with changes of the wall clock", () => {
  it("admit at most N runs in any window of real time, and soon admit N again", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(life, { minLength: 2, maxLength: 5 }), fc.boolean(), async (lives, compacts) => {
        const clock = new SetClock();
        const times: number[] = [];
        await inFolder(async (folder) => {
          const options = { clock, compactAtBytes: compacts ? 100 : 1e6, onError: failOnError };
          for (const { setMs, downMs, waits } of lives) {
            clock.aheadMs += setMs;
            clock.passedMs += downMs;
            await withStore(folder, options, async (store) => {
              for (const waitMs of waits) {
                clock.passedMs += waitMs;
                const runs = await admitted(store, LIMIT, charge("a", { minute: LIMIT }));
                times.push(...Array<number>(runs).fill(clock.passedMs));
              }
            });
          }
          clock.passedMs += MINUTE_MS + lives.length * STEP_MS;
          await withStore(folder, options, async (store) => {
            assert.equal(await admitted(store, LIMIT, charge("a", { minute: LIMIT })), LIMIT);
          });
        });
        for (const [at, time] of times.entries()) {
          const next = times[at + LIMIT];
          assert.ok(next === undefined || next - time >= MINUTE_MS, `${LIMIT + 1} runs in ${next! - time} ms`);
        }
      }),
      { numRuns: 150 },
    );
  });

  it("follow the wall clock after a reboot, and on a system without an uptime", async () => {
    for (const boot of ["1".repeat(32), undefined]) {
      await inFolder(async (folder) => {
        const clock = new SetClock();
        const key = charge("a", { minute: LIMIT });
        await withStore(folder, { clock }, async (store) => assert.equal(await admitted(store, 9, key), LIMIT));
        Object.assign(clock, { boot, passedMs: 0, aheadMs: clock.now() + MINUTE_MS - 1 });
        await withStore(folder, { clock }, async (store) => {
          assert.equal(await admitted(store, 9, key), 0);
          clock.passedMs += 1;
          assert.equal(await admitted(store, 9, key), LIMIT);
        });
      });
    }
  });

  it("use the uptime of this system", { skip: process.platform !== "linux" && "only Linux reports" }, () => {
    const since = systemClock.sinceBoot?.();
    assert.match(since!.boot, /^[0-9a-f]{32}$/);
    assert.ok(since!.ms > 0);
  });
});
