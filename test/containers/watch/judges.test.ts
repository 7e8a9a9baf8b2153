import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { gravest } from "../../../src/containers/watch/findings.ts";
import { type GuestStates, Judges, NO_STATES } from "../../../src/containers/watch/judges.ts";
import type { GuestFacts } from "../../../src/containers/watch/usage-sample.ts";
import { HELD, MIB, sampleAt, UNHELD } from "./hand-watched.ts";

const PINGED_MS = 10_000;

function facts(figures: Partial<GuestFacts> = {}): GuestFacts {
  return {
    ...{
      inFlight: { size: 1 },
      runs: 1,
      begunMs: 0,
      warm: true,
      priority: "normal",
      heartbeat: { pingedMs: PINGED_MS },
    },
    ...figures,
  };
}

/** The states after one sample for all judges. */
function afterFirst(judges: Judges, guest: GuestFacts, atMs: number): GuestStates {
  const due = judges.due(NO_STATES, guest, 0, atMs)!;
  assert.deepEqual([due.forLimits, due.pingedMs], [true, PINGED_MS]);
  const requested = judges.afterRequest(NO_STATES, due, 1, atMs);
  return judges.afterSample(requested, due, sampleAt(atMs), guest).states;
}

it("the gravest finding is a limit, then a block, then growth", () => {
  const table = [
    { found: [], is: null },
    { found: [null, null], is: null },
    { found: ["slowed", "grown"], is: "grown" },
    { found: ["grown", "blocked"], is: "blocked" },
    { found: ["blocked", "processors"], is: "processors" },
    { found: ["processors", "threads"], is: "threads" },
    { found: ["threads", null, "memory"], is: "memory" },
  ] as const;
  for (const { found, is } of table) assert.equal(gravest(found), is);
});

describe("the judges of a guest", () => {
  it("read the same sample, and report only the gravest of what they find", () => {
    const judges = new Judges(UNHELD);
    const guest = facts({ priority: "low" });
    const states = afterFirst(judges, guest, PINGED_MS + 100);
    const atMs = PINGED_MS + UNHELD.blockMs;
    const due = judges.due(states, guest, 0, atMs)!;
    const blocked = sampleAt(atMs, { state: "R", cpuMs: 1_900 });
    assert.equal(judges.afterSample(states, due, blocked, guest).finding, "blocked");
    const both = { ...blocked, memoryBytes: 101 * MIB };
    assert.equal(judges.afterSample(states, due, both, guest).finding, "memory");
  });

  it("take a sample only if one of them needs it, so that a guest without runs is not sampled", () => {
    const judges = new Judges(HELD);
    const idle = facts({ inFlight: { size: 0 }, runs: 0, heartbeat: { pingedMs: null } });
    const due = judges.due(NO_STATES, idle, 0, 20_000)!;
    assert.deepEqual(due, { dueMs: 0, isUrgent: false, forLimits: true, forHogs: false, pingedMs: null });
    const states = judges.afterRequest(NO_STATES, due, 0, 20_000);
    assert.equal(judges.due(states, idle, 0, 90_000), null);
  });

  it("look for hogs also without a control group for the processor", () => {
    const busy = facts({ heartbeat: { pingedMs: null } });
    for (const limits of [HELD, UNHELD])
      assert.equal(new Judges(limits).due(NO_STATES, busy, 0, 20_000)!.forHogs, true);
  });

  it("request no sample for hogs of a guest that owes an answer, and use the block detector's sample for them", () => {
    const judges = new Judges(HELD);
    const guest = facts({ priority: "low" });
    const states = afterFirst(judges, guest, PINGED_MS + 100);
    assert.equal(states.hog?.atMs, PINGED_MS + 100);
    assert.equal(judges.due(states, guest, 0, PINGED_MS + 199), null);
    const due = judges.due(states, guest, 0, PINGED_MS + 200)!;
    assert.deepEqual([due.forLimits, due.forHogs, due.pingedMs], [false, true, PINGED_MS]);
    const next = judges.afterSample(states, due, sampleAt(PINGED_MS + 200, { processCpuMs: 90 }), guest).states;
    assert.deepEqual([next.hog?.usedMs, next.hog?.isHog], [90, false], "its use at the lowest priority shows nothing");
  });

  it("do not judge a block by a ping that was answered meanwhile", () => {
    const judges = new Judges(HELD);
    const guest = facts();
    const due = judges.due(NO_STATES, guest, 0, PINGED_MS + 100)!;
    const answered = facts({ heartbeat: { pingedMs: null } });
    assert.equal(judges.afterSample(NO_STATES, due, sampleAt(PINGED_MS + 100), answered).states.stall, null);
  });
});

describe("a guest with the highest niceness", () => {
  const BEGUN_MS = 5_000;
  const table: readonly {
    title: string;
    niceness?: number;
    afterMs?: number;
    figures?: Partial<GuestFacts>;
    is: string | null;
  }[] = [
    { title: "is replaced when it rests", is: "slowed" },
    { title: "stays until a minute after its first run", afterMs: 59_999, is: null },
    { title: "stays while it keeps using the processor", figures: { priority: "busy" }, is: null },
    { title: "stays while it owes an answer", figures: { heartbeat: { pingedMs: PINGED_MS } }, is: null },
    { title: "stays if it has had no run", figures: { begunMs: Infinity }, is: null },
    { title: "is meant: a guest with another niceness stays", niceness: 10, is: null },
  ];
  for (const { title, niceness = 19, afterMs = 60_000, figures = {}, is } of table) {
    it(title, () => {
      const judges = new Judges(UNHELD);
      const guest = facts({ begunMs: BEGUN_MS, heartbeat: { pingedMs: null }, ...figures });
      const atMs = BEGUN_MS + afterMs;
      const due = judges.due(NO_STATES, guest, 0, atMs)!;
      const states = judges.afterRequest(NO_STATES, due, 1, atMs);
      assert.equal(judges.afterSample(states, due, sampleAt(atMs, { niceness }), guest).finding, is);
    });
  }
});
