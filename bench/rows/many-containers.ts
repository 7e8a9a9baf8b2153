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
const FULL_MS = 60_000;
/** New guests compile and collect garbage for some time after their first run, and the pool keeps more spares after a burst. */
const SETTLE_MS = 180_000;
/** Between two looks at what the guests use. */
const LOOK_MS = 2_000;
/** The part of one processor that idle guests may use: each answers a ping now and then. */
const IDLE_SHARE = 1 / 4;
/** The fields of /proc/PID/stat after the name (proc_pid_stat(5)), and the length of a tick on Linux. */
const USER_FIELD = 11;
const SYSTEM_FIELD = 12;
const MS_PER_TICK = 10;
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

/** Waits until the pool is full again and the guests are idle. */
async function settle(service: MeasuredService): Promise<void> {
  const isFull = async (): Promise<boolean> => (await metricsOf(service)).sum("caisson_pool_starting") === 0;
  await until(isFull, "the pool is full", FULL_MS);
  const isIdle = async (): Promise<boolean> => {
    const before = await guestTicks(service);
    await setTimeout(LOOK_MS);
    const after = await guestTicks(service);
    let ticks = 0;
    for (const [pid, used] of after) ticks += used - (before.get(pid) ?? 0);
    return ticks * MS_PER_TICK < IDLE_SHARE * LOOK_MS;
  };
  await until(isIdle, "the guests are idle", SETTLE_MS);
}

/** Returns the processor time of each guest, by its pid, in the kernel's ticks. */
async function guestTicks(service: MeasuredService): Promise<ReadonlyMap<number, number>> {
  const ticks = new Map<number, number>();
  for (const { pid, kind } of await service.trail.processes()) {
    if (kind !== "guest") continue;
    // The guest may have ended meanwhile.
    const stat = await readFile(`/proc/${pid}/stat`, "latin1").catch(() => null);
    const fields = stat?.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (fields) ticks.set(pid, Number(fields[USER_FIELD]) + Number(fields[SYSTEM_FIELD]));
  }
  return ticks;
}

/** Returns how many of the containers have lost their guest: their next run is not warm. */
async function countLost(service: MeasuredService): Promise<number> {
  let lost = 0;
  for (let at = 0; at < CONTAINERS; at++) if ((await timeRun(service, `many${at}`)).start !== "warm") lost++;
  return lost;
}
