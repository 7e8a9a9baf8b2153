import { setTimeout } from "node:timers/promises";

import type { Bench } from "../bench.ts";
import { issueToken, timeRun } from "../load/run.ts";
import { SlowClients } from "../load/slow-clients.ts";
import { load, type LoadResult } from "../load/wrk.ts";
import { peakMiB, residentMiB } from "../memory.ts";
import type { MeasuredService } from "../processes.ts";
import type { Round } from "../row.ts";

const IDLE = 2_000;
const SENDERS = 200;
const READERS = 200;
/** So many client addresses that the share of one network limits none. */
const ADDRESSES = 16;
const CONNECTIONS = 4;
const SECONDS = 5;
/** Longer than any limit of the service for a silent connection. */
const MOST_WAIT_MS = 120_000;
const STEP_MS = 500;

/** Compares the runs of one caller with and without thousands of connections of others that do almost nothing. */
export async function measureSlowClients(bench: Bench): Promise<Round> {
  await using service = await bench.service();
  await timeRun(service, "slow");
  const honest = { ...service, token: await issueToken(service, { containers: ["honest0"] }) };
  await honestLoad(honest, 1);
  const quiet = await honestLoad(honest, SECONDS);
  const beforeMiB = await residentMiB(service.pid);
  const startedMs = performance.now();
  await using clients = await SlowClients.open({
    port: Number(new URL(service.url).port),
    token: service.token,
    container: "slow",
    addresses: ADDRESSES,
    idle: IDLE,
    senders: SENDERS,
    readers: READERS,
  });
  const held = clients.count;
  const { peakMiB: peak, result: loaded } = await peakMiB(service.pid, () => honestLoad(honest, SECONDS));
  while (clients.count > 0 && performance.now() - startedMs < MOST_WAIT_MS) await setTimeout(STEP_MS);
  return {
    p99Ratio: loaded.p99Ms / quiet.p99Ms,
    p99Ms: loaded.p99Ms,
    quietP99Ms: quiet.p99Ms,
    longestMs: loaded.longestMs,
    perSecond: loaded.requestsPerSecond,
    quietPerSecond: quiet.requestsPerSecond,
    failed: loaded.failed,
    held,
    left: clients.count,
    droppedMs: performance.now() - startedMs,
    beforeMiB,
    peakMiB: peak,
  };
}

function honestLoad({ url, token }: MeasuredService, seconds: number): Promise<LoadResult> {
  return load(url, { connections: CONNECTIONS, seconds, token, prefix: "/api/run/honest", mayFail: true });
}
