import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { gravest } from "../../../src/containers/watch/findings.ts";
import { type GuestStates, Judges, NO_STATES } from "../../../src/containers/watch/judges.ts";
import type { GuestFacts } from "../../../src/containers/watch/usage-sample.ts";
import { HELD, MIB, sampleAt, UNHELD } from "./hand-watched.ts";

const PINGED_MS = 10_000;

function facts(figures: Partial<GuestFacts> = {}): GuestFacts {
  return {
    ...{ inFlight: { size: 1 }, runs: 1, warm: true, priority: "normal", heartbeat: { pingedMs: PINGED_MS } },
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

  it("look for hogs only where a priority can be set", () => {
    const busy = facts({ heartbeat: { pingedMs: null } });
    assert.equal(new Judges(HELD).due(NO_STATES, busy, 0, 20_000)!.forHogs, true);
    assert.equal(new Judges(UNHELD).due(NO_STATES, busy, 0, 20_000)!.forHogs, false);
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
