import { setTimeout } from "node:timers/promises";

import { type Bench, MANY_CONTAINERS } from "../bench.ts";
import { issueToken, timeRun } from "../load/run.ts";
import { SlowClients } from "../load/slow-clients.ts";
import { load, type LoadResult } from "../load/wrk.ts";
import { peakMiB, residentMiB } from "../memory.ts";
import type { MeasuredService } from "../processes.ts";
import type { Round } from "../row.ts";

const IDLE = 2_000;
const SENDERS = 200;
/** Together their results are smaller than what the service holds of unread answers, so that only their silence counts. */
const READERS = 40;
const CONTAINERS = 4;
const CONNECTIONS = 4;
const SECONDS = 5;
/** The time in which the results are made that are not read. */
const MAKING_SECONDS = 2;
/** Longer than any limit of the service for a silent connection. */
const MOST_WAIT_MS = 120_000;
const STEP_MS = 500;

/** Compares the runs of one caller with and without thousands of connections of others that do almost nothing. */
export async function measureSlowClients(bench: Bench): Promise<Round> {
  await using service = await bench.service(...MANY_CONTAINERS);
  for (let at = 0; at < CONTAINERS; at++) await timeRun(service, `slow${at}`);
  const honest = { ...service, token: await issueToken(service, { containers: ["honest0"] }) };
  await honestLoad(honest, 1);
  const quiet = await honestLoad(honest, SECONDS);
  const beforeMiB = await residentMiB(service.pid);
  const startedMs = performance.now();
  await using clients = await SlowClients.open({
    port: Number(new URL(service.url).port),
    token: service.token,
    containers: CONTAINERS,
    idle: IDLE,
    senders: SENDERS,
    readers: READERS,
  });
  const { peakMiB: peak, result } = await peakMiB(service.pid, async () => {
    // The guests that make the results take processor time, which is not what silent connections cost.
    const making = await honestLoad(honest, MAKING_SECONDS);
    await clients.resultsWait();
    return { making, loaded: await honestLoad(honest, SECONDS) };
  });
  const { making, loaded } = result;
  const drops = await waitForDrops(clients, startedMs);
  return {
    p99Ratio: loaded.p99Ms / quiet.p99Ms,
    p99Ms: loaded.p99Ms,
    quietP99Ms: quiet.p99Ms,
    longestMs: loaded.longestMs,
    perSecond: loaded.requestsPerSecond,
    quietPerSecond: quiet.requestsPerSecond,
    makingP99Ratio: making.p99Ms / quiet.p99Ms,
    failed: making.failed + loaded.failed,
    ...drops,
    beforeMiB,
    peakMiB: peak,
  };
}

/** Waits until the service has closed all connections, and measures when each kind was gone. */
async function waitForDrops(clients: SlowClients, startedMs: number): Promise<Round> {
  const dropped = { idleMs: Number.NaN, sendersMs: Number.NaN, readersMs: Number.NaN };
  for (;;) {
    const { idle, senders, readers } = await clients.count();
    const nowMs = performance.now() - startedMs;
    if (idle === 0 && Number.isNaN(dropped.idleMs)) dropped.idleMs = nowMs;
    if (senders === 0 && Number.isNaN(dropped.sendersMs)) dropped.sendersMs = nowMs;
    if (readers === 0 && Number.isNaN(dropped.readersMs)) dropped.readersMs = nowMs;
    const left = idle + senders + readers;
    if (left === 0 || nowMs > MOST_WAIT_MS) return { ...dropped, droppedMs: nowMs, left };
    await setTimeout(STEP_MS);
  }
}

function honestLoad({ url, token }: MeasuredService, seconds: number): Promise<LoadResult> {
  return load(url, { connections: CONNECTIONS, seconds, token, prefix: "/api/run/honest", mayFail: true });
}
