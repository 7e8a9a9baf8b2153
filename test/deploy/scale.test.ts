import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { startTopology } from "../../bench/scale/topology.ts";
import { STOPPED, tryFaults } from "../../bench/scale/trial.ts";
import { missing } from "../redis/server.ts";

/** Done; refused by a limit; lost by nginx with its node; refused without Redis, or by a node that stops. */
const EXPECTED = new Set([200, 429, 502, 503]);

describe(
  "two nodes behind nginx on one Redis",
  { skip: (await missing("redis-server")) || (await missing("nginx")) },
  () => {
    it("admit no more than the limit and forget no answered run, whatever is killed, paused or stopped", async () => {
      await using topology = await startTopology(2, ["--pool", "2"]);
      const options = { callers: 8, containers: 6, limit: 1_000_000, quietMs: 200, pausedMs: 800 };
      const { phases, counts } = await tryFaults(topology, options);
      for (const { name, answers } of phases) {
        for (const status of answers.keys()) assert.ok(EXPECTED.has(status), `${name}: answered ${status}`);
        assert.ok((answers.get(200) ?? 0) > 0, name);
      }
      // A node that is told to stop loses nobody: what it has begun it ends, and the rest goes to the other one.
      const peaceful = phases.filter(({ name }) => name === "nothing" || name === STOPPED);
      for (const { name, answers } of peaceful) assert.deepEqual([...answers.keys()], [200], name);
      assert.equal(peaceful.length, 2);
      for (const { container, answered, counted } of counts) {
        assert.ok(counted >= answered, `${container}: ${counted} of ${answered} answered runs are counted`);
      }
    });
  },
);
