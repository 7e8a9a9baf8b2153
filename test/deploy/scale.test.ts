import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { startTopology } from "../../bench/scale/topology.ts";
import { STOPPED, type Trial, tryFaults } from "../../bench/scale/trial.ts";
import { NO_WALL } from "../contract/service.ts";
import { isLong } from "../long.ts";
import { missing } from "../redis/server.ts";

/** The expected statuses: success, refused by a limit, lost by nginx with its node, refused without Redis or by a stopping node. */
const EXPECTED = new Set([200, 429, 502, 503]);

const OPTIONS = {
  callers: 8,
  containers: 6,
  limit: 1_000_000,
  betweenMs: isLong ? 10 : 30,
  quietMs: 200,
  pausedMs: 800,
};
const TRIALS = 3;

/** Repeats a trial in which Redis was lost for another reason than its faults: the machine stood still for a quarter of a second. */
async function undisturbed(): Promise<Trial> {
  for (let left = TRIALS; ; left--) {
    await using topology = await startTopology(2, [...NO_WALL, "--pool", "2"]);
    const trial = await tryFaults(topology, OPTIONS);
    const calm = trial.phases.filter(({ name }) => ["nothing", STOPPED].includes(name));
    if (left === 1 || calm.every(({ storeLosses }) => storeLosses === 0)) return trial;
  }
}

describe(
  "two nodes behind nginx on one Redis",
  { skip: (await missing("redis-server")) || (await missing("nginx")) },
  () => {
    it("admit no more than the limit and forget no answered run, whatever is killed, paused or stopped", async () => {
      const { phases, counts } = await undisturbed();
      for (const { name, answers } of phases) {
        for (const status of answers.keys()) assert.ok(EXPECTED.has(status), `${name}: received ${status}`);
        assert.ok((answers.get(200) ?? 0) > 0, name);
      }
      const quiet = phases.find(({ name }) => name === "nothing")!;
      assert.deepEqual([...quiet.answers.keys()], [200]);
      // A stopping node finishes its runs, and the other node gets the rest. The kernel resets connections that the node
      // has not accepted when it stops to listen. On a busy machine that is at most one for each client.
      const { answers } = phases.find(({ name }) => name === STOPPED)!;
      const lost = [...answers].filter(([status]) => status !== 200).reduce((sum, [, count]) => sum + count, 0);
      assert.ok(lost <= OPTIONS.callers, `${lost} lost: ${[...answers.keys()].join()}`);
      for (const { container, answered, counted } of counts) {
        assert.ok(counted >= answered, `${container}: ${counted} of ${answered} answered runs are counted`);
      }
    });
  },
);
