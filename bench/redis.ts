/**
 * Measures the decisions of a Redis: how many a second, and how many in a second of its one core.
 *
 *   npm run bench:redis [-- <rounds> <seconds>]
 */
import { RedisStore } from "../src/limits/stores/redis.ts";
import { limitVector, type LimitVector } from "../src/limits/windows.ts";
import { redisScript } from "../src/redis/link.ts";
import { startRedis } from "../test/redis/server.ts";
import { cpuMs } from "./processes.ts";

const [rounds = 5, seconds = 3] = process.argv.slice(2).map(Number);
const BUDGET = 30_000;
const CONTAINERS = 50;
const IN_FLIGHT = 64;

/** Of a container and of a token, as of most runs; none of them is reached. */
const MANY = 1_000_000_000;
const SHAPES = {
  "two keys, a window each": [limitVector({ minute: MANY }), limitVector({ day: MANY })],
  "two keys, six windows each": [
    limitVector({ second: MANY, minute: MANY, hour: MANY, day: MANY, week: MANY, month: MANY }),
    limitVector({ second: MANY, minute: MANY, hour: MANY, day: MANY, week: MANY, month: MANY }),
  ],
} as const;

await using server = await startRedis();
const link = await server.link();
const store = new RedisStore(link);
const EMPTY = redisScript("return 1");
const empty: number[] = [];
for (let round = 0; round < rounds; round++) empty.push((await measure(() => link.run(EMPTY, [], []))).perCore);
console.log(`a script that does nothing: ${median(empty).toFixed(0)} a second of Redis's core`);
for (const [shape, [container, token]] of Object.entries(SHAPES)) {
  const figures: { perSecond: number; perCore: number }[] = [];
  for (let round = 0; round < rounds; round++)
    figures.push(await measure((number) => decide(number, container, token)));
  const perCore = median(figures.map((figure) => figure.perCore));
  const raw = figures.map(({ perSecond, perCore: core }) => `${core.toFixed(0)} (${perSecond.toFixed(0)}/s here)`);
  const ratio = (perCore / median(empty)).toFixed(2);
  console.log(
    `${shape}: ${perCore.toFixed(0)} decisions a second of Redis's core (budget ${BUDGET}), ${ratio} of nothing`,
  );
  console.log(`  ${raw.join(", ")}`);
}

async function decide(number: number, container: LimitVector, token: LimitVector): Promise<void> {
  const { admitted } = await store.admit([
    { key: `c:container-${number}`, class: "container", limits: container },
    { key: `t:token-${number}`, class: "token", limits: token },
  ]);
  if (!admitted) throw new Error("a run was refused that no limit forbids");
}

/** @param ask is given the number of the container. */
async function measure(ask: (number: number) => Promise<unknown>): Promise<{ perSecond: number; perCore: number }> {
  const before = await cpuMs(server.pid);
  const startedMs = performance.now();
  const endMs = startedMs + seconds * 1_000;
  let asked = 0;
  const caller = async (): Promise<void> => {
    while (performance.now() < endMs) await ask(asked++ % CONTAINERS);
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, caller));
  const ms = performance.now() - startedMs;
  return { perSecond: (1_000 * asked) / ms, perCore: (1_000 * asked) / ((await cpuMs(server.pid)) - before) };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
