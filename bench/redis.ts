/**
 * Measures the decisions of a Redis: how many a second, and how many in a second of its one core.
 *
 *   npm run bench:redis [-- <rounds> <seconds>]
 */
import { RedisStore } from "../src/limits/stores/redis.ts";
import { limitVector } from "../src/limits/windows.ts";
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
const store = new RedisStore(await server.link());
for (const [shape, [container, token]] of Object.entries(SHAPES)) {
  const figures: { perSecond: number; perCore: number }[] = [];
  for (let round = 0; round < rounds; round++) figures.push(await measure(container, token));
  const perCore = median(figures.map((figure) => figure.perCore));
  const raw = figures.map(({ perSecond, perCore: core }) => `${core.toFixed(0)} (${perSecond.toFixed(0)}/s here)`);
  console.log(`${shape}: ${perCore.toFixed(0)} decisions a second of Redis's core (budget ${BUDGET})`);
  console.log(`  ${raw.join(", ")}`);
}

async function measure(
  container: readonly number[],
  token: readonly number[],
): Promise<{ perSecond: number; perCore: number }> {
  const before = await cpuMs(server.pid);
  const startedMs = performance.now();
  const endMs = startedMs + seconds * 1_000;
  let decisions = 0;
  const ask = async (): Promise<void> => {
    while (performance.now() < endMs) {
      const number = decisions++ % CONTAINERS;
      const { admitted } = await store.admit([
        { key: `c:container-${number}`, class: "container", limits: container },
        { key: `t:token-${number}`, class: "token", limits: token },
      ]);
      if (!admitted) throw new Error("a run was refused that no limit forbids");
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, ask));
  const ms = performance.now() - startedMs;
  return { perSecond: (1_000 * decisions) / ms, perCore: (1_000 * decisions) / ((await cpuMs(server.pid)) - before) };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
