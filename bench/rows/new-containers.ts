import { setTimeout } from "node:timers/promises";

import { type Bench, MANY_CONTAINERS } from "../bench.ts";
import { Times } from "../figures.ts";
import { issueToken, timeRun } from "../load/run.ts";
import { load } from "../load/wrk.ts";
import type { MeasuredService } from "../processes.ts";
import type { Round } from "../row.ts";

const SAMPLES = 40;
const QUICK_SAMPLES = 12;
/** The time until the pool is full again. */
const REFILL_MS = 200;
/** Containers that were used once end soon, so that their memory does not count. */
const SHORT_LIVED = [...MANY_CONTAINERS, "--token-containers", "64", "--idle-limit", "5s"];
const CONNECTIONS = 8;

/**
 * Times the first run of containers that were never used. Only runs whose guest comes from the pool count. Warm runs are timed
 * the same way, because a machine that has rested takes longer for any request.
 */
export async function timeNewContainers(bench: Bench): Promise<Round> {
  await using service = await bench.service(...SHORT_LIVED);
  // V8 compiles what is called often. Without a load, most of the time would be that of the first requests of a service.
  await load(service.url, { connections: CONNECTIONS, seconds: 1, prefix: "/api/run/first", token: service.token });
  const warm = await timesOf("warm", bench, () => timeRun(service, "first0"));
  const times = await timesOf("new", bench, (at) => timeRun(service, `new-${at}`));
  return {
    p50Ms: times.percentile(0.5),
    p95Ms: times.percentile(0.95),
    samples: times.count,
    warmMs: warm.percentile(0.5),
  };
}

/** Measures the cost of an unused guest for every run: with the pool at rest, and under a load above the rate of starts. */
export async function measureFresh(bench: Bench): Promise<Round> {
  await using service = await bench.service(...SHORT_LIVED);
  const fresh = { ...service, token: await issueToken(service, { containers: ["*"], fresh: true }) };
  await timeRun(service, "bench0");
  const warm = await timesOf("warm", bench, () => timeRun(service, "bench0"));
  const unused = await timesOf("new", bench, () => timeRun(fresh, "bench0"));
  return {
    ...(await sustain(bench, service, fresh.token)),
    warmMs: warm.percentile(0.5),
    restMs: unused.percentile(0.5),
  };
}

async function sustain({ seconds }: Bench, { url, token }: MeasuredService, fresh: string): Promise<Round> {
  const options = { connections: CONNECTIONS, seconds, prefix: "/api/run/bench" };
  const warm = await load(url, { ...options, token });
  // The first second uses up the pool.
  await load(url, { ...options, seconds: 1, token: fresh });
  const { requestsPerSecond } = await load(url, { ...options, token: fresh });
  return { perSecond: requestsPerSecond, warmPerSecond: warm.requestsPerSecond };
}

async function timesOf(
  start: string,
  { isQuick }: Bench,
  run: (at: number) => Promise<{ ms: number; start: string }>,
): Promise<Times> {
  const times = new Times();
  for (let at = 0; at < (isQuick ? QUICK_SAMPLES : SAMPLES); at++) {
    await setTimeout(REFILL_MS);
    const timed = await run(at);
    if (timed.start === start) times.add(timed.ms);
  }
  if (times.count === 0) throw new Error(`no run started with a guest that is ${start}`);
  return times;
}
