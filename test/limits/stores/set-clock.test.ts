import assert from "node:assert/strict";
import { describe, it } from "node:test";

import * as fc from "fast-check";

import { type SinceBoot, systemClock } from "../../../src/limits/clock.ts";
import { admitted, charge } from "../../suites/limit-store.ts";
import { failOnError, inFolder, withStore } from "./folder.ts";

const MINUTE_MS = 60_000;
const LIMIT = 5;
/** How much later than needed a run is admitted after each restart at most: uptime is told in steps. */
const STEP_MS = 10;

/** Time as it passes, and a wall clock that somebody sets. */
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
  /** What happens to the wall clock while the service is down. */
  setMs: fc.oneof(
    fc.constant(0),
    fc.integer({ min: -MINUTE_MS, max: MINUTE_MS }),
    fc.integer({ min: -40 * 86_400_000, max: 40 * 86_400_000 }),
  ),
  downMs: fc.integer({ min: 0, max: MINUTE_MS }),
  waits: fc.array(fc.integer({ min: 0, max: MINUTE_MS / 3 }), { maxLength: 6 }),
});

describe("limits over restarts between which the wall clock is set", () => {
  it("admit never more than N in any window of time as it passes, and no less for long", async () => {
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

  it("go by the wall clock after another start of the system, and where it tells nothing", async () => {
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

  it("know how long this system runs", { skip: process.platform !== "linux" && "only Linux tells" }, () => {
    const since = systemClock.sinceBoot?.();
    assert.match(since!.boot, /^[0-9a-f]{32}$/);
    assert.ok(since!.ms > 0);
  });
});
