/** Runs random scenarios in its own thread, and reports how many it has run. */
import { parentPort, workerData } from "node:worker_threads";

import * as fc from "fast-check";

import { play } from "./play.ts";
import { withRestarts } from "./restarting.ts";
import { scenario } from "./scenario.ts";

/** The scenarios in one store. Each has its own names and times, which keep it separate. */
const PER_STORE = 2_500;

let played = 0;
while (played < Number(workerData)) {
  await withRestarts(async (under, time) => {
    const property = fc.asyncProperty(scenario(false), (made) => play(under, time, made, `${played++}`));
    await fc.assert(property, { numRuns: PER_STORE });
  });
}
parentPort!.postMessage(played, []);
