/**
 * Soaks a service: honest runs and attacks at once, for minutes. Checks that every answer is right, that no secret escapes
 * and that nothing is left behind. Prints the figures that the contract promises.
 *
 *   npm run soak [-- <minutes>]
 */
import { setTimeout } from "node:timers/promises";

import { makeHome, type Service, startService } from "../../test/contract/service.ts";
import { until } from "../../test/contract/until.ts";
import { type Canaries, createCanaries } from "../../test/hostile/canaries.ts";
import { type HostTicks, hostShare, hostTicks } from "../host.ts";
import { bombs } from "./bombing.ts";
import { callers } from "./callers.ts";
import { corpus } from "./corpus.ts";
import { good, neighbour } from "./honest.ts";
import { INSPECTABLE, LiveHeap } from "./live-heap.ts";
import { report } from "./report.ts";
import { type Sample, sample } from "./sampler.ts";
import type { SoakContext } from "./soak-context.ts";
import { Tally } from "./tally.ts";
import { TimedRuns } from "./timed-runs.ts";

const [minutes = 10] = process.argv.slice(2).map(Number);
if (!(minutes > 0)) throw new TypeError("usage: npm run soak [-- <minutes>]");
const TOTAL_MS = minutes * 60_000;
/** The time of measurement without attacks, in the same soak. */
const QUIET_MS = Math.min(60_000, TOTAL_MS / 4);
const PROGRESS_MS = 10_000;
const SAMPLE_MS = 2_000;
const BLOCK_MS = 2_000;
const WALL_MS = 10_000;
const IDLE_MS = 5_000;
const POOL = 4;
const FLAGS = [
  ...["--block-limit", `${BLOCK_MS}ms`, "--wall-limit", `${WALL_MS}ms`, "--stream-limit", `${WALL_MS}ms`],
  ...["--memory-limit", "128MiB", "--tmp-limit", "16MiB", "--idle-limit", `${IDLE_MS}ms`, "--log-level", "error"],
  ...["--pool", `${POOL}`],
];
const GOOD_LOOPS = 3;
const BOMB_SLOTS = 3;
const CORPUS_SLOTS = 2;

const stopping = new AbortController();
process.once("SIGINT", () => stopping.abort()).once("SIGTERM", () => stopping.abort());

const canaries = await createCanaries();
// The service has a separate process group: Ctrl-C reaches only this process, which then stops the service.
await using home = { ...(await makeHome()), detached: true, nodeOptions: INSPECTABLE };
const faults = await soak(await startService([...FLAGS, ...canaries.flags], home), canaries);
await canaries[Symbol.asyncDispose]();
console.log(faults.length === 0 ? "\nnothing is wrong" : `\nWRONG:\n${faults.map((fault) => `  ${fault}`).join("\n")}`);
process.exitCode = faults.length === 0 ? 0 : 1;

async function soak(service: Service, set: Canaries): Promise<string[]> {
  const tally = new Tally();
  const timed = await TimedRuns.open(service.port);
  const context = { service, timed, canaries: set, tally, blockMs: BLOCK_MS, wallMs: WALL_MS };
  const { signal } = stopping;
  try {
    const heap = await LiveHeap.open(service);
    await openFiles(service);
    const before = await rest(service);
    const samples: Sample[] = [];
    const ended = new AbortController();
    const over = AbortSignal.any([signal, ended.signal]);
    let broken: unknown = null;
    // A loop that fails ends the soak: the service has died or is damaged.
    const watched = (loop: Promise<void>): Promise<void> =>
      loop.catch((error: unknown) => {
        broken ??= error;
        ended.abort();
      });
    let isQuiet = true;
    const loops = [reportProgress(context, over, samples, () => isQuiet), neighbour(context, over, () => isQuiet)];
    for (let n = 0; n < GOOD_LOOPS; n++) loops.push(good(context, over, n));
    const running = loops.map(watched);
    const host = [await hostTicks()];
    await wait(QUIET_MS, over);
    isQuiet = false;
    host.push(await hostTicks());
    running.push(...attack(context, over).map(watched));
    const attackMs = TOTAL_MS - QUIET_MS;
    await wait(attackMs / 4, over);
    const early = await heap.mib();
    await wait((attackMs * 3) / 4, over);
    const late = await heap.mib();
    host.push(await hostTicks());
    ended.abort();
    await Promise.all(running);
    heap.close();
    timed.close();
    if (broken) throw broken as Error;
    const after = await rest(service);
    const [quiet, attacked, end] = host as [HostTicks, HostTicks, HostTicks];
    const hostShares = [hostShare(quiet, attacked), hostShare(attacked, end)] as const;
    const wrong = report({ minutes, wallMs: WALL_MS, tally, samples, before, after, live: [early, late], hostShares });
    return [...wrong, ...faultOf(() => set.assertUntouched()), ...(await stopped(service))];
  } catch (error) {
    return [`the soak failed: ${(error as Error).message}`, ...tally.faults, ...(await stopped(service))];
  }
}

function attack(context: SoakContext, signal: AbortSignal): Promise<void>[] {
  return [
    callers(context, signal),
    ...Array.from({ length: BOMB_SLOTS }, (_, slot) => bombs(context, signal, slot)),
    ...Array.from({ length: CORPUS_SLOTS }, (_, slot) => corpus(context, signal, slot, CORPUS_SLOTS)),
  ];
}

/** Takes samples, and prints the progress from time to time. */
async function reportProgress(
  context: SoakContext,
  signal: AbortSignal,
  samples: Sample[],
  isQuiet: () => boolean,
): Promise<void> {
  const { service, canaries: set, tally } = context;
  const startMs = performance.now();
  for (let reportedMs = startMs; !signal.aborted; await wait(SAMPLE_MS, signal)) {
    const taken = await sample(service);
    if (!isQuiet()) samples.push(taken);
    for (const escape of faultOf(() => set.assertUntouched())) tally.escapes.add(escape);
    const nowMs = performance.now();
    if (nowMs - reportedMs < PROGRESS_MS) continue;
    reportedMs = nowMs;
    const { rssMiB, descriptors, guests, groups } = taken;
    console.log(
      `${((nowMs - startMs) / 1_000).toFixed(0)} s${isQuiet() ? ", quiet" : ""}: ${tally.right} right, ${tally.wrong} wrong; ` +
        `${rssMiB.toFixed(0)} MiB, ${descriptors} descriptors, ${guests} guests, ${groups} control groups`,
    );
  }
}

/** Waits until all unused containers are closed, and returns a sample. Only the pool should be left. */
/** Lets the service open the files of its records and of its usage, which it opens at the first run. */
async function openFiles(service: Service): Promise<void> {
  await service.run("first", "1");
  const isCounted = async (): Promise<boolean> =>
    /"container":"first"/.test((await service.request("GET", "/api/usage")).text);
  await until(isCounted, "the usage has the first run");
}

async function rest(service: Service): Promise<Sample> {
  // No container is closed before that time, and a pool that is being filled could have the expected number by chance.
  await setTimeout(IDLE_MS);
  const isBack = async (): Promise<boolean> => {
    const { guests, groups } = await sample(service);
    return guests === POOL && [0, POOL].includes(groups);
  };
  // If other guests are left, the report shows it.
  await until(isBack, "only the pool is left", WALL_MS + 4 * IDLE_MS).catch(() => {});
  // A sample counts one part after the other, so the last one may contain an older count. Take another one.
  return sample(service);
}

async function stopped(service: Service): Promise<string[]> {
  return service.stop().then(
    () => [],
    (error: unknown) => [(error as Error).message],
  );
}

function faultOf(check: () => void): string[] {
  try {
    check();
    return [];
  } catch (error) {
    return [(error as Error).message];
  }
}

async function wait(ms: number, signal: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, { signal }).catch(() => {});
}
