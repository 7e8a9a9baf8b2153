import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { BlockDetector } from "../../../src/containers/watch/block-detector.ts";
import type { StallState } from "../../../src/containers/watch/stall-state.ts";
import type { GuestFacts } from "../../../src/containers/watch/usage-sample.ts";
import { sampleAt } from "./hand-watched.ts";

const BLOCK_MS = 2_000;
const PINGED_MS = 10_000;

/** Consecutive samples: `[ms after the ping, state, ms of processor time]`. */
type Look = readonly [afterMs: number, state: string, cpuMs: number];

function stateAfter(detector: BlockDetector, samples: readonly Look[], turnMs = 0): StallState {
  let state: StallState | null = null;
  for (const [afterMs, letter, cpuMs] of samples) {
    state = detector.afterSample(state, sampleAt(PINGED_MS + afterMs, { state: letter, cpuMs }), PINGED_MS);
  }
  return { ...state!, turnMs };
}

function facts(figures: Partial<GuestFacts> = {}): GuestFacts {
  return {
    ...{ inFlight: { size: 1 }, runs: 1, begunMs: 0, warm: true, priority: "low", heartbeat: { pingedMs: PINGED_MS } },
    ...figures,
  };
}

describe("a guest that owes an answer", () => {
  const table: readonly {
    what: string;
    is: boolean;
    samples: readonly Look[];
    turnMs?: number;
    blockMs?: number;
    cpuCores?: number;
  }[] = [
    {
      what: "burns a processor",
      is: true,
      samples: [
        [100, "R", 0],
        [2_000, "R", 1_900],
      ],
    },
    {
      what: "burns a processor, before its limit",
      is: false,
      samples: [
        [100, "R", 0],
        [1_999, "R", 1_899],
      ],
    },
    {
      what: "burned the processor for a moment, before which it was not sampled",
      is: false,
      samples: [
        [2_500, "R", 0],
        [2_600, "R", 100],
      ],
    },
    {
      what: "slept for a moment, before which it was not sampled",
      is: false,
      samples: [
        [2_500, "R", 0],
        [2_600, "S", 0],
        [2_700, "S", 0],
      ],
    },
    {
      what: "was sampled late, and slept for half of the limit since then",
      is: true,
      samples: [
        [2_500, "S", 0],
        [3_000, "S", 0],
        [3_500, "S", 0],
      ],
    },
    { what: "is sampled for the first time, however late", is: false, samples: [[5_000, "R", 9_999]] },
    {
      what: "sleeps",
      is: true,
      samples: [
        [100, "S", 0],
        [1_000, "S", 0],
        [2_000, "S", 0],
      ],
    },
    {
      what: "waits for the disk",
      is: true,
      samples: [
        [100, "D", 0],
        [2_000, "D", 0],
      ],
    },
    {
      what: "is stopped",
      is: true,
      samples: [
        [100, "T", 0],
        [2_000, "t", 0],
      ],
    },
    {
      what: "ends",
      is: false,
      samples: [
        [100, "Z", 0],
        [2_000, "Z", 0],
      ],
    },
    {
      what: "wants a processor and gets none",
      is: false,
      samples: [
        [100, "R", 0],
        [2_000, "R", 0],
        [9_000, "R", 0],
      ],
    },
    {
      what: "sleeps in half of the samples",
      is: true,
      samples: [
        [100, "S", 0],
        [1_000, "S", 0],
        [2_000, "R", 0],
      ],
    },
    {
      what: "sleeps in fewer samples, and waits for a processor for more than half of the time",
      is: false,
      samples: [
        [100, "R", 0],
        [700, "R", 0],
        [1_400, "S", 0],
        [2_000, "R", 0],
      ],
    },
    {
      what: "has burned an eighth of the limit",
      is: true,
      samples: [
        [100, "R", 0],
        [9_000, "R", 250],
      ],
    },
    {
      what: "has burned a little less",
      is: false,
      samples: [
        [100, "R", 0],
        [9_000, "R", 249],
      ],
    },
    {
      what: "has burned 250 ms under a limit that has half of that",
      is: false,
      blockMs: 400,
      samples: [
        [100, "R", 0],
        [2_000, "R", 199],
      ],
    },
    {
      what: "has burned half of a short limit",
      is: true,
      blockMs: 400,
      samples: [
        [100, "R", 0],
        [2_000, "R", 200],
      ],
    },
    {
      what: "has burned a small quota",
      is: true,
      cpuCores: 0.1,
      samples: [
        [100, "R", 0],
        [2_000, "R", 100],
      ],
    },
    {
      what: "has burned as little of a whole processor",
      is: false,
      samples: [
        [100, "R", 0],
        [2_000, "R", 100],
      ],
    },
    {
      what: "has burned a little less in turns that have lasted for longer than the limit",
      is: false,
      samples: [
        [100, "R", 0],
        [9_000, "R", 249],
      ],
      turnMs: 8_000,
    },
    {
      what: "has burned an eighth of the limit in its turns",
      is: true,
      samples: [
        [100, "R", 0],
        [9_000, "R", 250],
      ],
      turnMs: 8_000,
    },
    {
      // Measured: the first import of zod, with twelve busy loops on two processors.
      what: "imports a large package on a full machine",
      is: false,
      samples: [
        [102, "R", 0],
        [990, "R", 90],
        [1_418, "S", 120],
        [1_995, "R", 140],
        [3_022, "R", 160],
      ],
      turnMs: 2_002,
    },
  ];
  for (const { what, is, samples, turnMs, blockMs = BLOCK_MS, cpuCores = 1 } of table) {
    it(`${is ? "is blocked" : "is not blocked"} if it ${what}`, () => {
      const detector = new BlockDetector({ blockMs, cpuCores });
      assert.equal(detector.isBlocked(stateAfter(detector, samples, turnMs)), is);
    });
  }

  it("is judged from a new first sample after each ping", () => {
    const detector = new BlockDetector({ blockMs: BLOCK_MS, cpuCores: 1 });
    const before = stateAfter(
      detector,
      [
        [100, "R", 0],
        [1_900, "R", 1_800],
      ],
      500,
    );
    const after = detector.afterSample(
      before,
      sampleAt(PINGED_MS + 3_000, { state: "R", cpuMs: 1_800 }),
      PINGED_MS + 2_000,
    );
    assert.deepEqual(after, {
      ...{ pingedMs: PINGED_MS + 2_000, first: { atMs: PINGED_MS + 3_000, cpuMs: 1_800 }, lastMs: PINGED_MS + 3_000 },
      ...{ usedBeforeMs: null, isSpared: false },
      ...{ samples: 0, asleep: 0, isAsleep: false, burnedMs: 0, turnMs: 0 },
    });
  });
});

describe("the next sample of a guest that owes an answer", () => {
  const detector = new BlockDetector({ blockMs: BLOCK_MS, cpuCores: 1 });
  const once = stateAfter(detector, [[150, "R", 0]]);
  const late = stateAfter(detector, [
    [150, "R", 0],
    [1_950, "R", 0],
  ]);
  const beyond = stateAfter(detector, [
    [150, "R", 0],
    [2_010, "R", 0],
  ]);
  const table: readonly { what: string; state: StallState | null; guest?: Partial<GuestFacts>; dueMs: number }[] = [
    { what: "100 ms after the ping", state: null, dueMs: 100 },
    { what: "100 ms after another ping", state: { ...once, pingedMs: 1 }, dueMs: 100 },
    { what: "100 ms after the last", state: once, dueMs: 250 },
    { what: "at the limit if that comes before", state: late, dueMs: 2_000 },
    { what: "100 ms after the last behind the limit", state: beyond, dueMs: 2_110 },
    {
      what: "100 ms after the last if it sleeps and keeps its share",
      state: { ...once, isAsleep: true },
      guest: { priority: "high" },
      dueMs: 250,
    },
    { what: "at once in a turn", state: once, guest: { priority: "normal" }, dueMs: 150 },
    { what: "never while the guest starts", state: null, guest: { warm: false }, dueMs: Infinity },
    { what: "never without a ping", state: null, guest: { heartbeat: { pingedMs: null } }, dueMs: Infinity },
  ];
  for (const { what, state, guest, dueMs } of table) {
    it(`is due ${what}`, () => assert.equal(detector.dueMs(state, facts(guest)), PINGED_MS + dueMs));
  }

  it("is due after a quarter of a short limit", () => {
    const short = new BlockDetector({ blockMs: 200, cpuCores: 1 });
    assert.equal(short.dueMs(null, facts()), PINGED_MS + 50);
  });

  it("is urgent at the limit and in a turn", () => {
    const times = [
      { state: null, afterMs: 5_000, is: false },
      { state: late, afterMs: 1_999, is: false },
      { state: late, afterMs: 2_000, is: true },
      // The sample at the limit was already taken.
      { state: beyond, afterMs: 2_500, is: false },
      { state: once, afterMs: 700, is: false },
      { state: once, afterMs: 700, priority: "normal", is: true },
    ] as const;
    for (const { state, afterMs, is, ...figures } of times) {
      assert.equal(detector.isUrgent(state, facts(figures), PINGED_MS + afterMs), is);
    }
  });
});

describe("a turn", () => {
  const detector = new BlockDetector({ blockMs: BLOCK_MS, cpuCores: 1 });
  const table: readonly { what: string; samples: readonly Look[]; afterMs: number; needs: boolean }[] = [
    { what: "before a quarter of the limit", samples: [[100, "R", 0]], afterMs: 499, needs: false },
    { what: "from a quarter of the limit on", samples: [[100, "R", 0]], afterMs: 500, needs: true },
    {
      what: "while it sleeps",
      samples: [
        [100, "R", 0],
        [600, "S", 0],
      ],
      afterMs: 600,
      needs: false,
    },
    {
      what: "when it has burned enough",
      samples: [
        [100, "R", 0],
        [600, "R", 250],
      ],
      afterMs: 600,
      needs: false,
    },
    {
      what: "when it has burned a little less",
      samples: [
        [100, "R", 0],
        [600, "R", 240],
      ],
      afterMs: 600,
      needs: true,
    },
  ];
  for (const { what, samples, afterMs, needs } of table) {
    it(`is ${needs ? "needed" : "not needed"} by a guest ${what}`, () => {
      assert.equal(detector.needsTurn(stateAfter(detector, samples), PINGED_MS + afterMs), needs);
    });
  }
});
