import { setTimeout } from "node:timers/promises";

import type { Bench } from "../bench.ts";
import { CODES } from "../load/codes.ts";
import { timeRun } from "../load/run.ts";
import { load } from "../load/wrk.ts";
import type { MeasuredService } from "../processes.ts";
import type { Round } from "../row.ts";

const TEXTS = 200_000;
/** The service replaces a guest after this many runs in any case (`MAX_RUNS` of `src/containers/guest-slot.ts`). */
const RUNS_OF_GUEST = 100_000;
const CONNECTIONS = 32;
const CONTAINER = "grow0";
const LOAD_SECONDS = 5;
const SAMPLE_MS = 200;
/** A guest with fewer samples has not lived long enough to show whether its heap grows. */
const LEAST_SAMPLES = 20;
const MIB = 2 ** 20;

/** A run that returns the heap of its guest, and a mark by which the next sample recognises the same guest. */
const SAMPLE = `export default () => {
  globalThis.benchGuest ??= Math.random();
  return { guest: globalThis.benchGuest, heap: process.memoryUsage().heapUsed };
}`;

/** What a run of `SAMPLE` returns. */
export interface HeapSample {
  readonly guest: number;
  readonly heap: number;
}

/**
 * Sends 200,000 different modules to one container, as fast as it answers. A sample five times a second marks the guest and
 * reads its heap: a sample without the mark is in a new guest. More new guests than the number of runs explains were replaced
 * because of their memory. `/metrics` does not show this: it counts all runs that waited for a new guest.
 */
export async function measureModuleGrowth(bench: Bench): Promise<Round> {
  await using service = await bench.service();
  await timeRun(service, CONTAINER);
  const samples: HeapSample[] = [];
  const stop = new AbortController();
  const sampling = sampleHeap(service, samples, stop.signal);
  const startedMs = performance.now();
  const options = { connections: CONNECTIONS, seconds: LOAD_SECONDS, token: service.token, prefix: "/api/run/grow" };
  let texts = 0;
  try {
    while (texts < TEXTS) texts += (await load(service.url, { ...options, newEvery: 1, code: CODES.module })).requests;
  } finally {
    stop.abort();
    await sampling;
  }
  const perSecond = (1_000 * texts) / (performance.now() - startedMs);
  const replaced = new Set(samples.map(({ guest }) => guest)).size - 1;
  return {
    texts,
    perSecond,
    replaced,
    replacedForMemory: Math.max(0, replaced - Math.floor((texts + samples.length) / RUNS_OF_GUEST)),
    growthMiB: growthMiB(samples),
  };
}

async function sampleHeap(service: MeasuredService, samples: HeapSample[], signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    samples.push(JSON.parse((await timeRun(service, CONTAINER, SAMPLE)).text) as HeapSample);
    await setTimeout(SAMPLE_MS);
  }
}

/**
 * Returns by how much the heap of a guest grows from the first half of its life to the second, at most. The minimum of each
 * half counts, because garbage that V8 has not yet collected is not growth.
 */
export function growthMiB(samples: readonly HeapSample[]): number {
  const growths = [...Map.groupBy(samples, ({ guest }) => guest).values()]
    .filter((all) => all.length >= LEAST_SAMPLES)
    .map((all) => {
      const middle = Math.floor(all.length / 2);
      return (leastHeap(all.slice(middle)) - leastHeap(all.slice(0, middle))) / MIB;
    });
  if (growths.length === 0) throw new Error("no guest lived long enough to measure the growth of its heap");
  return Math.max(...growths);
}

function leastHeap(samples: readonly HeapSample[]): number {
  return Math.min(...samples.map(({ heap }) => heap));
}
