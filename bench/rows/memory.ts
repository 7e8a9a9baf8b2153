import { setTimeout } from "node:timers/promises";

import { until } from "../../test/contract/until.ts";
import { type Bench, MANY_CONTAINERS } from "../bench.ts";
import { CODES } from "../load/codes.ts";
import { metricsOf } from "../load/metrics.ts";
import { timeRun } from "../load/run.ts";
import { load } from "../load/wrk.ts";
import { guestMiB, peakMiB, residentMiB } from "../memory.ts";
import type { Round } from "../row.ts";

const GUESTS = 20;
/** The runs of each guest, after which its memory is measured. Each run has new code. */
const RUNS = 500;
const CONNECTIONS = 32;
/** The time after the start in which the service still frees what only the start needed. */
const SETTLE_MS = 5_000;

/** Measures the resident memory of the service's process after its start, and its maximum under three loads. */
export async function measureServiceMemory(bench: Bench): Promise<Round> {
  await using service = await bench.service();
  await timeRun(service, "bench0");
  await setTimeout(SETTLE_MS);
  const startMiB = await residentMiB(service.pid);
  const options = { connections: CONNECTIONS, seconds: bench.seconds, token: service.token };
  const { peakMiB: loadMiB } = await peakMiB(service.pid, async () => {
    await load(service.url, options);
    await load(service.url, { ...options, newEvery: 1 });
    await load(service.url, { ...options, newEvery: 1, code: CODES.module });
  });
  return { startMiB, loadMiB };
}

/** Measures the memory of twenty guests: blank in the pool, and in containers that have run new code. */
export async function measureGuestMemory(bench: Bench): Promise<Round> {
  return { blankMiB: await blankMiB(bench), usedMiB: await usedMiB(bench) };
}

async function blankMiB(bench: Bench): Promise<number> {
  await using service = await bench.service("--pool", String(GUESTS));
  const spares = async (): Promise<number> => (await metricsOf(service)).sum("caisson_pool_spares");
  await until(async () => (await spares()) >= GUESTS, `the pool has ${GUESTS} spares`, 60_000);
  await setTimeout(SETTLE_MS);
  return await guestMiB(service, GUESTS);
}

async function usedMiB(bench: Bench): Promise<number> {
  await using service = await bench.service(...MANY_CONTAINERS, "--token-containers", String(GUESTS));
  const options = { connections: CONNECTIONS, seconds: 1, token: service.token, containers: GUESTS, newEvery: 1 };
  for (let at = 0; at < GUESTS; at++) await timeRun(service, `bench${at}`);
  for (let runs = 0; runs < GUESTS * RUNS;) runs += (await load(service.url, options)).requests;
  return await guestMiB(service, GUESTS);
}
