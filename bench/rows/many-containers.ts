import { readFile } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";

import { until } from "../../test/contract/until.ts";
import { type Bench, MANY_CONTAINERS } from "../bench.ts";
import { metricsOf } from "../load/metrics.ts";
import { timeRun } from "../load/run.ts";
import { load } from "../load/wrk.ts";
import { wholeMiB } from "../memory.ts";
import type { MeasuredService } from "../processes.ts";
import type { Round } from "../row.ts";

const CONTAINERS = 500;
/** How many containers are started at once. More would only wait. */
const AT_ONCE = 8;
/** The free memory that the row needs, in MiB. */
const NEEDED_MIB = 8_192;
const SETTLE_MS = 3_000;
const FULL_MS = 60_000;
/** Often enough that each container runs ten times in turn. */
const TURNS_SECONDS = 8;

/** Keeps 500 containers alive at once, and measures their memory, one of them, and all of them in turn. */
export async function measureManyContainers(bench: Bench): Promise<Round> {
  const freeMiB = Number(/^MemAvailable:\s+(\d+)/m.exec(await readFile("/proc/meminfo", "latin1"))?.[1]) / 1_024;
  if (freeMiB < NEEDED_MIB) {
    throw new Error(
      `${CONTAINERS} containers need ${NEEDED_MIB} MiB of free memory; this machine has ${freeMiB.toFixed(0)}`,
    );
  }
  const most = String(CONTAINERS + 20);
  const flags = ["--max-containers", most, "--token-containers", most, "--idle-limit", "1h"];
  await using service = await bench.service(...MANY_CONTAINERS, ...flags);
  const before = await wholeMiB(service);
  await startAll(service);
  await settle(service);
  const mib = await wholeMiB(service);
  const { url, token } = service;
  const one = await load(url, { connections: 1, seconds: bench.seconds, token, prefix: "/api/run/many" });
  const turns = await load(url, {
    connections: 1,
    seconds: TURNS_SECONDS,
    token,
    prefix: "/api/run/many",
    containers: CONTAINERS,
  });
  const lost = await countLost(service);
  return {
    mib,
    beforeMiB: before,
    oneP50Ms: one.p50Ms,
    turnsP50Ms: turns.p50Ms,
    turnsP95Ms: turns.p95Ms,
    longestMs: turns.longestMs,
    lost,
  };
}

async function startAll(service: MeasuredService): Promise<void> {
  let next = 0;
  const starter = async (): Promise<void> => {
    while (next < CONTAINERS) await timeRun(service, `many${next++}`);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, starter));
}

/** Waits until the pool is full again, which costs processor time. */
async function settle(service: MeasuredService): Promise<void> {
  const isFull = async (): Promise<boolean> => (await metricsOf(service)).sum("caisson_pool_starting") === 0;
  await until(isFull, "the pool is full", FULL_MS);
  await setTimeout(SETTLE_MS);
}

/** Returns how many of the containers have lost their guest: their next run is not warm. */
async function countLost(service: MeasuredService): Promise<number> {
  let lost = 0;
  for (let at = 0; at < CONTAINERS; at++) if ((await timeRun(service, `many${at}`)).start !== "warm") lost++;
  return lost;
}
