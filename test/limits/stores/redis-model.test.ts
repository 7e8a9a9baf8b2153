import assert from "node:assert/strict";
import { describe, it } from "node:test";

import {
  type Arbitrary,
  array,
  assert as assertProperty,
  asyncProperty,
  constantFrom,
  integer,
  oneof,
  record,
  subarray,
  tuple,
} from "fast-check";

import { CellLog } from "../../../src/limits/cell-log.ts";
import { decide, usageOf } from "../../../src/limits/decide.ts";
import type { Charge } from "../../../src/limits/store.ts";
import { RedisLimitStore } from "../../../src/limits/stores/redis.ts";
import { limitVector, LONGEST_MS } from "../../../src/limits/windows.ts";
import { isLong } from "../../long.ts";
import { missing, SERVERS, startRedis } from "../../redis/server.ts";
import { readOne } from "../read-one.ts";

const HAND_CLOCK = 'tonumber(redis.call("GET", "hand"))';
const START_MS = 1_700_000_000_000;
const NAMES = ["a", "b", "c"];

/** The in-process algorithm, which other tests compare with a naive log. */
class Model {
  readonly #logs = new Map<string, CellLog>();

  admit(charges: readonly Charge[], now: number): object {
    const logs = charges.map(({ key }) => this.#logs.get(key));
    const decision = decide(charges, logs, now);
    if (decision.admitted) {
      for (const [at, { key }] of charges.entries()) {
        const log = logs[at] ?? new CellLog();
        log.charge(now);
        this.#logs.set(key, log);
      }
    }
    return decision;
  }

  read(charge: Charge, now: number): object {
    return usageOf(charge, this.#logs.get(charge.key), now);
  }

  reset(key: string): void {
    this.#logs.delete(key);
  }
}

const limits = record(
  {
    second: integer({ min: 1, max: 300 }),
    minute: integer({ min: 1, max: 400 }),
    hour: integer({ min: 1, max: 900 }),
    day: integer({ min: 1, max: 2_000 }),
    week: integer({ min: 1, max: 2_000 }),
    month: integer({ min: 1, max: 2_000 }),
  },
  { requiredKeys: [] },
).map((set) => limitVector(set));
const charge = (key: string): Arbitrary<Charge> =>
  limits.map((vector) => ({ key, class: "token" as const, limits: vector }));
const step = oneof(
  { weight: 6, arbitrary: integer({ min: 0, max: 40 }).map((ms) => ({ pass: ms })) },
  { weight: 3, arbitrary: integer({ min: 0, max: 100_000 }).map((ms) => ({ pass: ms })) },
  { weight: 1, arbitrary: integer({ min: 0, max: 3_000_000_000 }).map((ms) => ({ pass: ms })) },
  {
    weight: 12,
    arbitrary: record({
      admit: subarray(NAMES, { minLength: 1 }).chain((names) => tuple(...names.map(charge))),
      times: integer({ min: 1, max: 60 }),
      stepMs: integer({ min: 0, max: 30 }),
    }),
  },
  {
    weight: 6,
    arbitrary: array(
      subarray(NAMES, { minLength: 1 }).chain((names) => tuple(...names.map(charge))),
      { minLength: 1, maxLength: 200 },
    ).map((together) => ({ together })),
  },
  {
    weight: 2,
    arbitrary: constantFrom(...NAMES)
      .chain(charge)
      .map((asked) => ({ read: asked })),
  },
  { weight: 1, arbitrary: constantFrom(...NAMES).map((key) => ({ reset: key })) },
);

for (const program of SERVERS) {
  describe(`decisions in ${program}`, { skip: await missing(program) }, () => {
    it("equal those of the cell log for requests of two nodes in any order, including merged entries", async () => {
      await using server = await startRedis(["--save", ""], program);
      let realm = 0;
      const scenario = asyncProperty(array(step, { minLength: 1, maxLength: 60 }), async (steps) => {
        const name = `realm-${realm++}`;
        const nodes = [
          new RedisLimitStore(await server.link(name), HAND_CLOCK),
          new RedisLimitStore(await server.link(name), HAND_CLOCK),
        ];
        const model = new Model();
        let now = START_MS;
        let turn = 0;
        const node = (): RedisLimitStore => nodes[turn++ % 2]!;
        await server.client.set("hand", now);
        for (const each of steps) {
          if ("pass" in each) await server.client.set("hand", (now += each.pass));
          else if ("read" in each) assert.deepEqual(await readOne(node(), each.read), model.read(each.read, now));
          else if ("together" in each) {
            const asked = node();
            const decisions = await Promise.all(each.together.map((charges) => asked.admit(charges)));
            for (const [at, charges] of each.together.entries()) {
              assert.deepEqual(decisions[at], model.admit(charges, now), `${at} of those asked together`);
            }
          } else if ("reset" in each) {
            await node().reset(each.reset);
            model.reset(each.reset);
          } else {
            for (let run = 0; run < each.times; run++) {
              assert.deepEqual(await node().admit(each.admit), model.admit(each.admit, now));
              if (each.stepMs > 0) await server.client.set("hand", (now += each.stepMs));
            }
          }
        }
        server.closeLinks();
      });
      await assertProperty(scenario, { numRuns: isLong ? 1_000 : 100 });
    });

    it("continue in time when the clock of Redis is set back, from the newest run", async () => {
      await using server = await startRedis(["--save", ""], program);
      const node = new RedisLimitStore(await server.link(), HAND_CLOCK);
      const asked: Charge = { key: "a", class: "token", limits: limitVector({ minute: 2 }) };
      let hand = START_MS;
      const pass = async (ms: number): Promise<void> => void (await server.client.set("hand", (hand += ms)));
      await pass(0);
      assert.ok((await node.admit([asked])).admitted);
      // Before the script stores the clock again, so only the log has this time.
      await pass(400);
      assert.ok((await node.admit([asked])).admitted);
      for (const back of [3_600_000, 90_000]) {
        await pass(-back);
        const together = await Promise.all([node.admit([asked]), node.admit([asked])]);
        for (const { admitted, retryAfterMs } of together) {
          assert.equal(admitted, false);
          assert.ok(retryAfterMs <= 60_000 && retryAfterMs > 59_000, `${retryAfterMs}`);
        }
      }
      await pass(60_000);
      assert.ok((await node.admit([asked])).admitted);
    });

    it("are stored as long as the newest run counts", async () => {
      await using server = await startRedis(["--save", ""], program);
      const link = await server.link();
      const node = new RedisLimitStore(link, HAND_CLOCK);
      const asked: Charge = { key: "a", class: "token", limits: limitVector({}) };
      for (let hour = 0; hour < 3; hour++) {
        await server.client.set("hand", START_MS + hour * 3_600_000);
        await node.admit([asked]);
        assert.ok((await server.client.pttl(link.hashedKey("a"))) > LONGEST_MS);
        // As if an hour had passed for the server, too.
        await server.client.pexpire(link.hashedKey("a"), LONGEST_MS);
      }
    });

    it("equal those of the cell log over thousands of runs of one key", async () => {
      await using server = await startRedis(["--save", ""], program);
      const nodes = [
        new RedisLimitStore(await server.link(), HAND_CLOCK),
        new RedisLimitStore(await server.link(), HAND_CLOCK),
      ];
      const model = new Model();
      const asked: Charge = {
        key: "busy",
        class: "container",
        limits: limitVector({ second: 60, minute: 1_500, hour: 3_000, day: 4_000, week: 5_000, month: 9_000 }),
      };
      let now = START_MS;
      for (let run = 0; run < 6_000; run++) {
        // Bursts, trickles and pauses of different lengths; after one of the pauses nothing counts.
        if (run === 3_000) now += LONGEST_MS + 1;
        now += run % 997 === 0 ? 3_600_000 : run % 101 === 0 ? 20_000 : (run * run) % 23;
        await server.client.set("hand", now);
        assert.deepEqual(await nodes[run % 2]!.admit([asked]), model.admit([asked], now), `run ${run}`);
      }
    });
  });
}
