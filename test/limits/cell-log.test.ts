import assert from "node:assert/strict";
import { describe, it } from "node:test";

import * as fc from "fast-check";

import { CellLog } from "../../src/limits/cell-log.ts";
import { WINDOW_MS } from "../../src/limits/windows.ts";

const START = 1_800_000_000_000;

/** Charges a log at these times, and calls `after` with all times so far after each charge. */
function replay(gaps: readonly number[], after: (log: CellLog, times: readonly number[]) => void): CellLog {
  const log = new CellLog();
  const times: number[] = [];
  let now = START;
  for (const gap of gaps) {
    now += gap;
    log.charge(now);
    times.push(now);
    after(log, times);
  }
  return log;
}

function countSince(times: readonly number[], after: number): number {
  let at = times.length;
  while (at > 0 && times[at - 1]! > after) at--;
  return times.length - at;
}

/** Gaps of one scale for a while, then of another: from bursts to one run in several days. */
const gaps: fc.Arbitrary<number[]> = fc
  .array(
    fc.tuple(fc.constantFrom(1, 3, 20, 500, 9_000, 200_000, 3_000_000, 40_000_000), fc.integer({ min: 1, max: 700 })),
    { minLength: 1, maxLength: 6 },
  )
  .chain((phases) =>
    fc.tuple(...phases.map(([scale, runs]) => fc.array(fc.nat({ max: scale }), { minLength: runs, maxLength: runs }))),
  )
  .map((phases) => phases.flat());

describe("a cell log", () => {
  it("counts at least the runs in the window, and at most the runs in a window that is a 64th longer", () => {
    fc.assert(
      fc.property(gaps, (made) => {
        let runs = 0;
        replay(made, (log, times) => {
          if (++runs % 17 > 0) return;
          const now = times.at(-1)!;
          for (const windowMs of WINDOW_MS) {
            const used = log.used(windowMs, now);
            assert.ok(used >= countSince(times, now - windowMs));
            assert.ok(used <= countSince(times, now - windowMs - windowMs / 64));
          }
        });
      }),
      { numRuns: 300 },
    );
  });

  it("is exact in each window with up to 128 different milliseconds, regardless of the longer windows", () => {
    fc.assert(
      fc.property(gaps, (made) => {
        let runs = 0;
        replay(made, (log, times) => {
          const now = times.at(-1)!;
          if (++runs % 17 > 0) return;
          for (const windowMs of WINDOW_MS) {
            // // The entries of a window that was full within its own length are merged.
            const crowded = new Set(times.slice(-countSince(times, now - 2 * windowMs))).size > 128;
            if (crowded) break;
            assert.equal(log.used(windowMs, now), countSince(times, now - windowMs));
          }
        });
      }),
      { numRuns: 300 },
    );
  });

  it("keeps at most 512 entries, however it is used", () => {
    fc.assert(
      fc.property(gaps, (made) => {
        replay(made, (log, times) => assert.ok([...log.entries(times.at(-1)!)].length <= 512));
      }),
      { numRuns: 100 },
    );
    // The worst case: each window in turn as full as possible.
    const worst = [40_000_000, 8_000_000, 1_300_000, 55_000, 900, 14].flatMap((gap) =>
      Array.from({ length: 400 }, () => gap),
    );
    replay(worst, (log, times) => assert.ok([...log.entries(times.at(-1)!)].length <= 512));
  });

  it("returns the exact wait until a given number of runs is left", () => {
    fc.assert(
      fc.property(gaps, fc.integer({ min: 0, max: 300 }), (made, allowed) => {
        let now = 0;
        const log = replay(made, (_, times) => (now = times.at(-1)!));
        for (const windowMs of WINDOW_MS) {
          if (log.used(windowMs, now) <= allowed) continue;
          const waitMs = log.waitMs(windowMs, now, allowed);
          assert.ok(log.used(windowMs, now + waitMs) <= allowed);
          assert.ok(log.used(windowMs, now + waitMs - 1) > allowed);
        }
      }),
      { numRuns: 500 },
    );
  });

  it("is empty after all charges are undone", () => {
    const log = replay([0, 0, 5, 900, 0], () => {});
    for (let undone = 0; undone < 5; undone++) log.undo();
    assert.ok(log.empty);
    assert.equal(log.used(WINDOW_MS.at(-1)!, START), 0);
    log.charge(START + 7);
    assert.equal(log.used(1_000, START + 7), 1);
  });

  it("undoes only the newest charges, including merged ones", () => {
    const log = replay(
      Array.from({ length: 2_000 }, () => 3),
      () => {},
    );
    const now = START + 6_000;
    const before = log.used(60_000, now);
    for (let more = 0; more < 600; more++) log.charge(now + more);
    for (let undone = 0; undone < 600; undone++) log.undo();
    assert.equal(log.used(60_000, now + 600), before);
  });

  it("yields entries from which a copy counts the same", () => {
    let now = 0;
    const log = replay(
      Array.from({ length: 1_500 }, (_, run) => run % 90),
      (_, times) => (now = times.at(-1)!),
    );
    const copy = new CellLog();
    for (const [time, count] of log.entries(now)) copy.charge(time, count);
    for (const windowMs of WINDOW_MS) assert.equal(copy.used(windowMs, now), log.used(windowMs, now));
  });
});
