import { describe } from "node:test";

import { RedisLimitStore } from "../../../src/limits/stores/redis.ts";
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
  });
}
