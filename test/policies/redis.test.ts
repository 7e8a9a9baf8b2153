import { describe } from "node:test";

import { openShared } from "../../src/stores.ts";
import { missing, SERVERS, startRedis } from "../redis/server.ts";
import { policyStoreSuite } from "../suites/policy-store.ts";

for (const program of SERVERS) {
  describe(`on ${program}`, { skip: await missing(program) }, () => {
    policyStoreSuite("Redis", async () => {
      const server = await startRedis(undefined, program);
      let shared = await openShared({ revocationLag: 2_000 }, await server.link());
      return {
        store: shared.policies,
        reopen: async () => {
          shared.close();
          shared = await openShared({ revocationLag: 2_000 }, await server.link());
          return shared.policies;
        },
        end: async () => {
          shared.close();
          await server[Symbol.asyncDispose]();
        },
      };
    });
  });
}
