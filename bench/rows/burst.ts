import { setTimeout } from "node:timers/promises";

import { type Bench, MANY_CONTAINERS } from "../bench.ts";
import { Times } from "../figures.ts";
import { issueToken, timeRun } from "../load/run.ts";
import { load } from "../load/wrk.ts";
import type { Round } from "../row.ts";

const CONTAINERS = 100;
/** The time until the pool is full after the start. */
const SETTLE_MS = 2_000;
/** The time in which the neighbour runs before the burst. */
const QUIET_MS = 1_000;
/** The pause of the neighbour after each run. Without it, the neighbour would take a third of two processors from the burst. */
const PAUSE_MS = 10;

/** Runs in a hundred new containers at once, while another caller runs in a warm container, one run after the other. */
export async function measureBurst(bench: Bench): Promise<Round> {
  await using service = await bench.service(...MANY_CONTAINERS, "--token-containers", String(CONTAINERS + 20));
  const neighbour = { ...service, token: await issueToken(service, { containers: ["neighbour0"] }) };
  await timeRun(neighbour, "neighbour0");
  await load(service.url, { connections: 1, seconds: 1, token: neighbour.token, prefix: "/api/run/neighbour" });
  await setTimeout(SETTLE_MS);
  const over = new AbortController();
  const [waits, times] = await Promise.all([
    runUntil(over.signal, neighbour),
    setTimeout(QUIET_MS)
      .then(() => burst(service))
      .finally(() => over.abort()),
  ]);
  return {
    p50Ms: times.percentile(0.5),
    p95Ms: times.percentile(0.95),
    longestMs: times.percentile(1),
    neighbourLongestMs: waits.percentile(1),
    neighbourP50Ms: waits.percentile(0.5),
  };
}

/** Times runs of the neighbour until the burst is over. */
async function runUntil(over: AbortSignal, neighbour: Parameters<typeof timeRun>[0]): Promise<Times> {
  const times = new Times();
  while (!over.aborted) {
    times.add((await timeRun(neighbour, "neighbour0")).ms);
    await setTimeout(PAUSE_MS);
  }
  return times;
}

async function burst(service: Parameters<typeof timeRun>[0]): Promise<Times> {
  const times = new Times();
  const run = async (_: unknown, at: number): Promise<void> => times.add((await timeRun(service, `burst-${at}`)).ms);
  await Promise.all(Array.from({ length: CONTAINERS }, run));
  return times;
}
