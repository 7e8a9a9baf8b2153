import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, it } from "node:test";
import { Worker } from "node:worker_threads";

import * as fc from "fast-check";

import { isLong } from "../../long.ts";
import { type Dense, dense, playDense } from "./dense.ts";
import { play } from "./play.ts";
import { withRestarts } from "./restarting.ts";
import { scenario } from "./scenario.ts";

const SCENARIOS = isLong ? 2_000_000 : 5_000;
const RESTARTED = isLong ? 20_000 : 500;
const CROWDED = isLong ? 5_000 : 125;

const PLAYER = new URL("player.ts", import.meta.url);
const options = { timeout: isLong ? 3_600_000 : 240_000 };

describe("the promise of at most N runs in any window", () => {
  it(`holds exactly as in a perfect log, in ${SCENARIOS} random scenarios`, options, async () => {
    // In other threads, because the test runner's hooks on every promise would take half of the time.
    const players = [1, 2].map(() => new Worker(PLAYER, { workerData: SCENARIOS / 2 }));
    const played = await Promise.all(players.map((player) => once(player, "message")));
    assert.ok(played.flat().reduce((sum: number, scenarios) => sum + Number(scenarios), 0) >= SCENARIOS);
  });

  it(`holds across restarts with changes of the clock in between, in ${RESTARTED} scenarios`, options, async () => {
    const property = fc.asyncProperty(scenario(true), (made) =>
      withRestarts((under, time) => play(under, time, made, "restarted")),
    );
    await fc.assert(property, { numRuns: RESTARTED });
  });

  it(`holds with merged runs, at most W/64 late, in ${CROWDED} scenarios`, options, async () => {
    const property = fc.asyncProperty(dense, (made: Dense) =>
      withRestarts((under, time) => playDense(under, time, made)),
    );
    await fc.assert(property, { numRuns: CROWDED });
  });
});
