/**
 * Measures how many decisions a Redis makes in a second of its one core, by the processor time that it reports. The figure
 * is valid on a busy machine, too. The figure by the wall clock is printed in addition.
 *
 *   npm run bench:redis [-- <rounds> <decisions>]
 */
import { RedisLimitStore } from "../src/limits/stores/redis.ts";
import { limitVector, type LimitVector } from "../src/limits/windows.ts";
import { redisScript } from "../src/redis/redis-link.ts";
import { startRedis } from "../test/redis/server.ts";
import { median } from "./figures.ts";

const [rounds = 5, decisions = 40_000] = process.argv.slice(2).map(Number);
/** The budget: decisions in a second of one core. */
const BUDGET = 30_000;
const CONTAINERS = 50;

/** The limits of a container and of a token, as most runs have them. No run reaches them. */
const MANY = 1_000_000_000;
const ALL = { second: MANY, minute: MANY, hour: MANY, day: MANY, week: MANY, month: MANY };
const SHAPES = {
  "a window each": [limitVector({ minute: MANY }), limitVector({ day: MANY })],
  "six windows each": [limitVector(ALL), limitVector(ALL)],
} as const;
/** A busy node requests many decisions in one turn of its event loop, and the budget applies to it. An idle node requests one. */
const BUSY = 64;

await using server = await startRedis();
const link = await server.link();
const store = new RedisLimitStore(link);
const EMPTY = redisScript("return 1");
await report("a script that does nothing, 64 in flight", BUSY, () => link.run(EMPTY, [], []));
for (const inFlight of [BUSY, 1]) {
  for (const [shape, [container, token]] of Object.entries(SHAPES)) {
    const name = `two keys, ${shape}, ${inFlight} in flight`;
    await report(
      name,
      inFlight,
      (number) => decide(number, container, token),
      inFlight === BUSY ? `, budget ${BUDGET}` : "",
    );
  }
}

async function decide(number: number, container: LimitVector, token: LimitVector): Promise<void> {
  const { admitted } = await store.admit([
    { key: `c:container-${number}`, class: "container", limits: container },
    { key: `t:token-${number}`, class: "token", limits: token },
  ]);
  if (!admitted) throw new Error("a run was refused although no limit was reached");
}

type Ask = (number: number) => Promise<unknown>;

async function report(name: string, inFlight: number, ask: Ask, budget = ""): Promise<void> {
  const figures = [];
  for (let round = 0; round < rounds; round++) figures.push(await measure(inFlight, ask));
  const cpuUs = median(figures.map((figure) => figure.cpuUs));
  const perSecond = median(figures.map((figure) => figure.perSecond));
  const raw = figures.map((figure) => figure.cpuUs.toFixed(1)).join(", ");
  console.log(
    `${name}: ${cpuUs.toFixed(1)} µs of Redis each, ${(1e6 / cpuUs).toFixed(0)} a second of its core${budget}`,
  );
  console.log(`  rounds ${raw} µs; ${perSecond.toFixed(0)} a second by the clock, with the node on this machine`);
}

/** @param ask receives the number of the container. */
async function measure(inFlight: number, ask: Ask): Promise<{ cpuUs: number; perSecond: number }> {
  const before = await usedUs();
  const startedMs = performance.now();
  let requested = 0;
  const caller = async (): Promise<void> => {
    while (requested < decisions) await ask(requested++ % CONTAINERS);
  };
  await Promise.all(Array.from({ length: inFlight }, caller));
  const seconds = (performance.now() - startedMs) / 1_000;
  return { cpuUs: ((await usedUs()) - before) / requested, perSecond: requested / seconds };
}

/** Returns the processor time of the server, in microseconds. */
async function usedUs(): Promise<number> {
  const info = await server.client.info("cpu");
  const seconds = (name: string): number => Number(new RegExp(`^${name}:(\\S+)`, "m").exec(info)![1]);
  return 1e6 * (seconds("used_cpu_user") + seconds("used_cpu_sys"));
}
