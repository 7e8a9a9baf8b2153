/** Plays so many random scenarios in a thread of its own, and says how many it has played. */
import { parentPort, workerData } from "node:worker_threads";

import * as fc from "fast-check";

import { play } from "./play.ts";
import { withRestarts } from "./restarting.ts";
import { scenario } from "./scenario.ts";

/** Names and times of their own keep them apart. */
const PER_STORE = 2_500;

let played = 0;
while (played < Number(workerData)) {
  await withRestarts(async (under, time) => {
    const property = fc.asyncProperty(scenario(false), (made) => play(under, time, made, `${played++}`));
    await fc.assert(property, { numRuns: PER_STORE });
  });
}
parentPort!.postMessage(played, []);
