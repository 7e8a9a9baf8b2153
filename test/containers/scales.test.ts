import assert from "node:assert/strict";
import { it } from "node:test";

import type { Guest } from "../../src/containers/guest.ts";
import { Scales } from "../../src/containers/scales.ts";
import { IDLE } from "./puppet.ts";

const TICK_MS = 25;

it("a tick looks at fifty guests at most, and each guest has its turn", async () => {
  const scales = new Scales({
    memoryBytes: 2 ** 30,
    threads: 100,
    cpuCores: 1,
    held: { memory: false, cpu: false },
  });
  const looks = Array.from({ length: 210 }, () => 0);
  const guests = looks.map((_, at) => {
    const inspect = (): Promise<typeof IDLE> => {
      looks[at]!++;
      return Promise.resolve(IDLE);
    };
    return { process: { inspect }, flights: { size: 1 }, runs: 1, warm: true, ended: false } as unknown as Guest;
  });
  for (let tick = 1; tick <= 50; tick++) {
    const before = looks.reduce((sum, count) => sum + count, 0);
    scales.tick(guests.length, TICK_MS);
    for (const guest of guests) await scales.weigh(guest, tick * TICK_MS);
    assert.ok(looks.reduce((sum, count) => sum + count, 0) - before <= 50);
  }
  assert.ok(Math.min(...looks) >= 9, `a guest had ${Math.min(...looks)} looks in 50 ticks`);
});

it("a tick looks at each of a few guests that have runs", async () => {
  const scales = new Scales({ memoryBytes: 2 ** 30, threads: 100, cpuCores: 1, held: { memory: false, cpu: false } });
  let looks = 0;
  const inspect = (): Promise<typeof IDLE> => {
    looks++;
    return Promise.resolve(IDLE);
  };
  const guest = { process: { inspect }, flights: { size: 1 }, runs: 1, warm: true, ended: false } as unknown as Guest;
  for (let tick = 1; tick <= 10; tick++) {
    scales.tick(20, TICK_MS);
    await scales.weigh(guest, tick * TICK_MS);
  }
  assert.equal(looks, 10);
});
