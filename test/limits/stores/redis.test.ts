import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { Charge } from "../../../src/limits/store.ts";
import { RedisLimitStore } from "../../../src/limits/stores/redis.ts";
import { limitVector } from "../../../src/limits/windows.ts";
import { missing, SERVERS, startRedis } from "../../redis/server.ts";
import { limitStoreSuite } from "../../suites/limit-store.ts";

/** The Lua expression of a clock in the server that stands still between two steps. */
const HAND_CLOCK = 'tonumber(redis.call("GET", "hand"))';
const START_MS = 1_700_000_000_000;

for (const program of SERVERS) {
  const skip = await missing(program);
  describe(`on ${program}`, { skip }, () => {
    limitStoreSuite("Redis", async () => {
      const server = await startRedis(["--save", ""], program);
      await server.client.set("hand", START_MS);
      return {
        store: new RedisLimitStore(await server.link(), HAND_CLOCK),
        pass: async (milliseconds) => void (await server.client.incrby("hand", milliseconds)),
        end: async () => server[Symbol.asyncDispose](),
      };
    });

    it("reads what clients list in turns of families, two at a time, and everything else at once", async () => {
      await using server = await startRedis(["--save", ""], program);
      const link = await server.link();
      const runs = link.runPacked.bind(link);
      let [running, most] = [0, 0];
      link.runPacked = async (...args) => {
        most = Math.max(most, ++running);
        return runs(...args).finally(() => running--);
      };
      const store = new RedisLimitStore(link);
      const done: string[] = [];
      const read = async (holder?: string): Promise<void> => {
        const charges = Array.from({ length: 25 }, (_, at): Charge => {
          return { key: `c:${at}`, class: "container", limits: limitVector() };
        });
        await store.read(charges, holder);
        done.push(holder ?? "decision");
      };
      const greedy = Array.from({ length: 20 }, () => read("greedy"));
      const others = [read("other"), read("other")];
      assert.equal(most, 2);
      await read();
      assert.ok(done.length <= 3, `${done.length} reads were before one that waits for no turn`);
      await Promise.all(others);
      assert.ok(done.length <= 10, `${done.length} reads were before those of another family`);
      await Promise.all(greedy);
      assert.equal(most, 3);
    });
  });
}
