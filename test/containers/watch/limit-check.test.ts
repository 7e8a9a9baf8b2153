import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { LimitCheck, type LimitState } from "../../../src/containers/watch/limit-check.ts";
import type { GuestFacts, ResourceLimits, UsageSample } from "../../../src/containers/watch/usage-sample.ts";
import { HELD, MIB, sampleAt, UNHELD } from "./hand-watched.ts";

const CPU_UNHELD: ResourceLimits = { ...HELD, held: { memory: true, cpu: false } };
const FIRST: LimitState = { askedMs: 10_000, runs: 1, firstBytes: 40 * MIB, window: null };

function facts(runs: number, inFlight: number): GuestFacts {
  return {
    inFlight: { size: inFlight },
    runs,
    begunMs: 0,
    warm: true,
    priority: "normal",
    heartbeat: { pingedMs: null },
  };
}

describe("the next check of a guest's limits", () => {
  const table: readonly { what: string; limits: ResourceLimits; guest: GuestFacts; leastMs?: number; dueMs: number }[] =
    [
      { what: "after five seconds if it had a new run", limits: HELD, guest: facts(2, 0), dueMs: 15_000 },
      { what: "never if it had none", limits: HELD, guest: facts(1, 1), dueMs: Infinity },
      {
        what: "after a second without a group for the processor",
        limits: CPU_UNHELD,
        guest: facts(1, 0),
        dueMs: 11_000,
      },
      { what: "in the next tick without a group for memory", limits: UNHELD, guest: facts(1, 1), dueMs: 10_000 },
      { what: "after a quarter of a second if it has no run", limits: UNHELD, guest: facts(1, 0), dueMs: 10_250 },
      { what: "later if there are many guests", limits: UNHELD, guest: facts(1, 1), leastMs: 75, dueMs: 10_075 },
      { what: "much later if there are very many", limits: UNHELD, guest: facts(1, 0), leastMs: 500, dueMs: 10_500 },
    ];
  for (const { what, limits, guest, leastMs = 0, dueMs } of table) {
    it(`is due ${what}`, () => assert.equal(new LimitCheck(limits).dueMs(FIRST, guest, leastMs), dueMs));
  }

  it("is due at once if it is the first, and not at once again if the guest had no process", () => {
    const check = new LimitCheck(UNHELD);
    assert.equal(check.dueMs(null, facts(0, 0), 0), 0);
    const requested = check.afterRequest(null, 10_000, 0);
    assert.equal(check.dueMs(requested, facts(0, 0), 0), 10_250);
  });
});

describe("a check of a guest's limits", () => {
  const table: readonly {
    what: string;
    limits: ResourceLimits;
    sample: Partial<UsageSample>;
    finding: string | null;
  }[] = [
    { what: "exactly its memory limit", limits: UNHELD, sample: { memoryBytes: 100 * MIB }, finding: "grown" },
    { what: "more memory", limits: UNHELD, sample: { memoryBytes: 100 * MIB + 1 }, finding: "memory" },
    { what: "more memory in a control group", limits: HELD, sample: { memoryBytes: 101 * MIB }, finding: "grown" },
    { what: "more threads", limits: UNHELD, sample: { threads: 11 }, finding: "threads" },
    { what: "exactly its limit of threads", limits: UNHELD, sample: { threads: 10 }, finding: null },
    { what: "more threads in a control group", limits: CPU_UNHELD, sample: { threads: 11 }, finding: null },
    {
      what: "more memory and threads",
      limits: UNHELD,
      sample: { memoryBytes: 101 * MIB, threads: 11 },
      finding: "memory",
    },
    { what: "half of its limit more than at first", limits: HELD, sample: { memoryBytes: 90 * MIB }, finding: null },
    { what: "more than half of its limit more", limits: HELD, sample: { memoryBytes: 90 * MIB + 1 }, finding: "grown" },
  ];
  for (const { what, limits, sample, finding } of table) {
    it(`finds ${finding ?? "nothing"} if it has ${what}`, () => {
      assert.equal(new LimitCheck(limits).afterSample(FIRST, sampleAt(20_000, sample), true).finding, finding);
    });
  }

  it("does not count the growth during a guest's start as growth by its tasks", () => {
    const check = new LimitCheck(HELD);
    let state = check.afterRequest(null, 1, 0);
    const findings = [
      [1 * MIB, false],
      [60 * MIB, false],
      [70 * MIB, true],
      [120 * MIB, true],
      [121 * MIB, true],
    ] as const;
    const found = findings.map(([memoryBytes, isWarm], index) => {
      const next = check.afterSample(state, sampleAt(index, { memoryBytes }), isWarm);
      state = next.state;
      return next.finding;
    });
    assert.deepEqual(found, [null, null, null, null, "grown"]);
  });

  it("judges the use of processors by whole windows", () => {
    const uses = [
      { cores: 1.5, limits: { ...UNHELD, cpuWindowMs: 1_000 }, at: null },
      { cores: 1.6, limits: { ...UNHELD, cpuWindowMs: 1_000 }, at: 1_000 },
      { cores: 1.6, limits: { ...CPU_UNHELD, cpuWindowMs: 1_000 }, at: 1_000 },
      { cores: 0.4, limits: { ...UNHELD, cpuWindowMs: 1_000, cpuCores: 0.25 }, at: 1_000 },
      { cores: 1.6, limits: UNHELD, at: 10_000 },
      { cores: 9, limits: HELD, at: null },
    ];
    for (const { cores, limits, at } of uses) {
      const check = new LimitCheck(limits);
      let state = check.afterRequest(null, 0, 1);
      let found: number | null = null;
      for (let atMs = 0; atMs <= 25_000 && found === null; atMs += 100) {
        const next = check.afterSample(state, sampleAt(atMs, { processCpuMs: 7_000 + atMs * cores }), true);
        state = next.state;
        if (next.finding === "processors") found = atMs;
      }
      assert.equal(found, at, JSON.stringify({ cores, limits }));
    }
  });

  it("forgets a burst at the end of its window", () => {
    const check = new LimitCheck({ ...UNHELD, cpuWindowMs: 1_000 });
    let state = check.afterRequest(null, 0, 1);
    for (const [atMs, processCpuMs] of [
      [0, 0],
      [500, 1_400],
      [1_000, 1_400],
      [1_500, 2_800],
      [2_000, 2_800],
    ] as const) {
      const next = check.afterSample(state, sampleAt(atMs, { processCpuMs }), true);
      state = next.state;
      assert.equal(next.finding, null, String(atMs));
    }
  });
});
