import assert from "node:assert/strict";
import { after, before, describe, it, type TestContext } from "node:test";
import { setTimeout } from "node:timers/promises";

import { isLong } from "../long.ts";
import { containerRecord, tokenRecord } from "./record.ts";
import { type Home, makeHome, NO_WALL, type Service, startService } from "./service.ts";
import { until } from "./until.ts";
import { openWitness, type Witness } from "./witness.ts";

const KILLS = isLong ? 200 : 6;
/** The time for all kills. On a busy machine there are fewer kills, so that the test does not take minutes. */
const BUDGET_MS = isLong ? Infinity : 20_000;
const LEAST_KILLS = 5;
const CALLERS = 4;
const MOST_STARTS = 60;
const FREE = 1_000_000;
/** A limit that is used up after about half of the kills. */
const CAPPED = KILLS * 6;

let home: Home;
let witness: Witness;

before(async () => {
  home = await makeHome();
  witness = await openWitness();
});
after(async () => {
  await witness.close();
  await home[Symbol.asyncDispose]();
});

/** Sends runs until the service is gone or rejects one. @returns the number of runs sent */
async function call(service: Service, container: string, token: string): Promise<number> {
  for (let sent = 1; ; sent++) {
    const answer = await witness.run(service, container, token).catch(() => undefined);
    if (answer?.status !== 200) return sent;
  }
}

describe("kill -9 at random instants under load", () => {
  it("loses no run that a witness has seen, and admits none beyond the limit", async (context: TestContext) => {
    const start = (): Promise<Service> =>
      startService([...NO_WALL, "--egress-allow", witness.address, "--pool", "1"], home);
    let service = await start();
    const limits = { container: { month: FREE }, token: { month: FREE } };
    const free = await service.issue({ containers: ["free"], limits });
    const capped = await service.issue({ containers: ["capped"], limits: { container: { month: CAPPED } } });
    const startedMs = performance.now();
    let [sent, kills] = [0, 0];
    while (kills < KILLS && (kills < LEAST_KILLS || performance.now() - startedMs < BUDGET_MS)) {
      const enough = witness.started("free") + Math.ceil(Math.random() * MOST_STARTS);
      const callers = Array.from({ length: CALLERS }, () => call(service, "free", free));
      const others = Array.from({ length: CALLERS }, () => call(service, "capped", capped));
      await until(() => witness.started("free") >= enough, "the load runs");
      // The kill comes at any moment in the life of a run, not only when the run reports.
      await setTimeout(Math.random() * 5);
      await service.kill9();
      kills += 1;
      for (const count of await Promise.all(callers)) sent += count;
      await Promise.all(others);
      service = await start();
      const started = witness.started("free");
      for (const left of [await containerRecord(service, "free", free), await tokenRecord(service, free)]) {
        const counted = FREE - left.month;
        assert.ok(
          counted >= started && counted <= sent,
          `${counted} counted, ${started} started, ${sent} sent after kill ${kills}`,
        );
      }
      const { month } = await containerRecord(service, "capped", capped);
      const countedCapped = CAPPED - Math.max(month, 0);
      assert.ok(
        countedCapped >= witness.started("capped"),
        `${countedCapped} counted, ${witness.started("capped")} started`,
      );
    }
    await Promise.all(Array.from({ length: CALLERS }, () => call(service, "capped", capped)));
    const { month } = await containerRecord(service, "capped", capped);
    await service.stop();
    assert.equal(month, -1, "the limit is used up");
    assert.ok(witness.started("capped") <= CAPPED, `${witness.started("capped")} started, ${CAPPED} are allowed`);
    // For each caller at most one run was admitted that had no time to start.
    assert.ok(witness.started("capped") >= CAPPED - kills * CALLERS, `only ${witness.started("capped")} started`);
    context.diagnostic(`${kills} kills, ${witness.started("free")} + ${witness.started("capped")} runs witnessed`);
  });
});
