import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { LimitSubject } from "../../../src/limits/limit-subject.ts";
import { Limiter } from "../../../src/limits/limiter.ts";
import type { Limits } from "../../../src/limits/windows.ts";
import { admitted, charge } from "../../suites/limit-store.ts";
import { readOne } from "../read-one.ts";
import { NaiveLog, type StoreTime } from "./naive.ts";
import { withRestarts } from "./restarting.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** A token below the given parents. */
function subject(jti: string, token: Limits, ...parents: LimitSubject[]): LimitSubject {
  const above = parents.map((parent) => ({ jti: parent.jti, limits: parent.limits.token }));
  return new LimitSubject(jti, { token }, above);
}

/** Fails if an interval of this length contains more runs. */
function holdsAtMost(runs: number, lengthMs: number, times: readonly number[]): void {
  for (const [at, time] of times.entries()) {
    assert.ok((times[at + runs] ?? Infinity) >= time + lengthMs, `${runs + 1} runs in ${lengthMs} ms from ${time}`);
  }
}

describe("a family of tokens", () => {
  it("of a thousand children never exceeds its grandparent's limit, in whatever order they run", async () => {
    await withRestarts(async ({ store }, time) => {
      const limiter = new Limiter(store, { container: {}, token: {} });
      const grandparent = subject("grandparent", { minute: 50, hour: 600 });
      const parents = Array.from({ length: 10 }, (_, at) => subject(`parent ${at}`, { minute: 40 }, grandparent));
      const children = Array.from({ length: 1_000 }, (_, at) =>
        subject(`child ${at}`, { minute: 30 }, grandparent, parents[at % 10]!),
      );
      const log = new NaiveLog();
      for (let turn = 0; turn < 40; turn++) {
        const decisions = await Promise.all(
          children.map(async (child, at) => ({
            child,
            parent: child.ancestors[1]!.jti,
            decision: await limiter.admit(`container ${at % 7}`, child),
          })),
        );
        for (const { child, parent, decision } of decisions) {
          if (!decision.admitted) continue;
          for (const jti of [child.jti, parent, "grandparent"]) log.add(jti, time.now());
        }
        time.pass([1, 10, 7_000, 59_000, 59_999, 61_000][turn % 6]!);
      }
      const times = log.times("grandparent");
      holdsAtMost(50, MINUTE_MS, times);
      holdsAtMost(600, HOUR_MS, times);
      assert.equal(times.length, 600, "the full limit is used");
      for (const { jti } of parents) holdsAtMost(40, MINUTE_MS, log.times(jti));
      for (const { jti } of children) holdsAtMost(30, MINUTE_MS, log.times(jti));
    });
  });
});

describe("limits that change", () => {
  it("apply at once when they are raised, lowered and raised again, and include all earlier use", async () => {
    await withRestarts(async ({ store }, time) => {
      const use = (minute: number): Promise<number> => admitted(store, 100, charge("a", { minute }));
      assert.deepEqual([await use(10), await use(25), await use(5), await use(30)], [10, 15, 0, 5]);
      time.pass(MINUTE_MS - 1);
      assert.deepEqual([await use(30), await use(31)], [0, 1]);
      time.pass(1);
      assert.deepEqual([await use(1), await use(8)], [0, 7]);
    });
  });
});

describe("a window with more runs than a log keeps unmerged", () => {
  /** The pause between two runs in milliseconds: a cell, which is a 64th of a minute, contains eighteen runs. */
  const spacing = 50;
  const spread = async (runs: number, body: (used: () => Promise<number>, time: StoreTime) => Promise<void>) => {
    await withRestarts(async ({ store }, time) => {
      for (let run = 0; run < runs; run++) {
        assert.equal(await admitted(store, 1, charge("a", {})), 1);
        time.pass(spacing);
      }
      await body(async () => (await readOne(store, charge("a", {}))).used[1]!, time);
    });
  };

  it("is exact to the millisecond up to 128 runs", async () => {
    await spread(128, async (used, time) => {
      time.pass(MINUTE_MS - 128 * spacing - 1);
      for (let run = 0; run < 128; run++) {
        assert.equal(await used(), 128 - run);
        time.pass(1);
        assert.equal(await used(), 127 - run);
        time.pass(spacing - 1);
      }
    });
  });

  it("releases none of a thousand runs early, and none more than W/64 late", async () => {
    await spread(1_000, async (used, time) => {
      time.pass(MINUTE_MS - 1_000 * spacing);
      for (let waited = 0; waited <= 1_000 * spacing + MINUTE_MS / 64; waited += 10) {
        const left = 1_000 - Math.min(1_000, Math.floor(waited / spacing) + 1);
        const late = 1_000 - Math.max(0, Math.min(1_000, Math.floor((waited - MINUTE_MS / 64) / spacing) + 1));
        const now = await used();
        assert.ok(now >= left, `${now} count, and ${left} runs are not yet a minute old`);
        assert.ok(now <= late, `${now} count, and ${late} runs are not yet a minute and a 64th old`);
        time.pass(10);
      }
      assert.equal(await used(), 0);
    });
  });
});

describe("a clock", () => {
  it("that stands still admits the limit once", async () => {
    await withRestarts(async ({ store }) => {
      assert.equal(await admitted(store, 1_000, charge("a", { second: 7 })), 7);
    });
  });

  it("that goes back while the service runs admits nothing a second time", async () => {
    await withRestarts(async ({ store }, { clock }) => {
      const key = charge("a", { second: 7 });
      assert.equal(await admitted(store, 10, key), 7);
      clock.time -= HOUR_MS;
      for (let step = 0; step < 100; step++) {
        clock.time += 30_000;
        assert.equal(await admitted(store, 10, key), 0);
      }
      clock.time += 600_000 + 999;
      assert.equal(await admitted(store, 10, key), 0);
      clock.time += 1;
      assert.equal(await admitted(store, 10, key), 7);
    });
  });

  it("that jumps and comes back while the service is stopped admits nothing a second time", async () => {
    await withRestarts(async (under, { clock }) => {
      const key = charge("a", { hour: 7 });
      for (const jump of [40 * 24 * HOUR_MS, -40 * 24 * HOUR_MS, -HOUR_MS]) {
        const due = jump > 0 ? 7 : 0;
        clock.time += jump;
        await under.restart();
        assert.equal(await admitted(under.store, 10, key), due);
      }
      clock.time += HOUR_MS;
      assert.equal(await admitted(under.store, 10, key), 7);
    });
  });
});
