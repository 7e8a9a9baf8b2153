/**
 * Soaks a service: honest runs and attacks at once, for minutes. Holds that every answer is right, that nothing gets out,
 * that nothing is left, and prints the figures that the contract promises.
 *
 *   npm run soak [-- <minutes>]
 */
import { setTimeout } from "node:timers/promises";

import { makeHome, type Service, startService } from "../../test/contract/service.ts";
import { until } from "../../test/contract/until.ts";
import { type Canaries, setOutCanaries } from "../../test/hostile/canaries.ts";
import { type HostTicks, hostShare, hostTicks } from "../host.ts";
import { bombs } from "./bombing.ts";
import { callers } from "./callers.ts";
import { corpus } from "./corpus.ts";
import type { Ground } from "./ground.ts";
import { good, neighbour } from "./honest.ts";
import { INSPECTABLE, LiveHeap } from "./live-heap.ts";
import { report } from "./report.ts";
import { type Sample, sample } from "./sampler.ts";
import { Tally } from "./tally.ts";
import { TimedRuns } from "./timed-runs.ts";

const [minutes = 10] = process.argv.slice(2).map(Number);
if (!(minutes > 0)) throw new TypeError("usage: npm run soak [-- <minutes>]");
const TOTAL_MS = minutes * 60_000;
/** What is measured without attacks, in the same run. */
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

const canaries = await setOutCanaries();
// Of its own process group: Ctrl-C is for this process, which then stops the service.
await using home = { ...(await makeHome()), detached: true, nodeOptions: INSPECTABLE };
const faults = await soak(await startService([...FLAGS, ...canaries.flags], home), canaries);
await canaries[Symbol.asyncDispose]();
console.log(faults.length === 0 ? "\nnothing is wrong" : `\nWRONG:\n${faults.map((fault) => `  ${fault}`).join("\n")}`);
process.exitCode = faults.length === 0 ? 0 : 1;

async function soak(service: Service, set: Canaries): Promise<string[]> {
  const tally = new Tally();
  const timed = await TimedRuns.open(service.port);
  const ground = { service, timed, canaries: set, tally, blockMs: BLOCK_MS, wallMs: WALL_MS };
  const { signal } = stopping;
  try {
    const heap = await LiveHeap.open(service);
    const before = await rest(service);
    const samples: Sample[] = [];
    const ended = new AbortController();
    const over = AbortSignal.any([signal, ended.signal]);
    let broken: unknown = null;
    // A loop that fails ends the soak: the service has died, or is not what it was.
    const watched = (loop: Promise<void>): Promise<void> =>
      loop.catch((error: unknown) => {
        broken ??= error;
        ended.abort();
      });
    let isQuiet = true;
    const loops = [tell(ground, over, samples, () => isQuiet), neighbour(ground, over, () => isQuiet)];
    for (let n = 0; n < GOOD_LOOPS; n++) loops.push(good(ground, over, n));
    const running = loops.map(watched);
    const host = [await hostTicks()];
    await wait(QUIET_MS, over);
    isQuiet = false;
    host.push(await hostTicks());
    running.push(...attack(ground, over).map(watched));
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
    return [`the soak broke off: ${(error as Error).message}`, ...tally.faults, ...(await stopped(service))];
  }
}

function attack(ground: Ground, signal: AbortSignal): Promise<void>[] {
  return [
    callers(ground, signal),
    ...Array.from({ length: BOMB_SLOTS }, (_, slot) => bombs(ground, signal, slot)),
    ...Array.from({ length: CORPUS_SLOTS }, (_, slot) => corpus(ground, signal, slot, CORPUS_SLOTS)),
  ];
}

/** Takes samples, and says now and then how it goes. */
async function tell(ground: Ground, signal: AbortSignal, samples: Sample[], isQuiet: () => boolean): Promise<void> {
  const { service, canaries: set, tally } = ground;
  const startMs = performance.now();
  for (let toldMs = startMs; !signal.aborted; await wait(SAMPLE_MS, signal)) {
    const taken = await sample(service);
    if (!isQuiet()) samples.push(taken);
    for (const escape of faultOf(() => set.assertUntouched())) tally.escapes.add(escape);
    const nowMs = performance.now();
    if (nowMs - toldMs < PROGRESS_MS) continue;
    toldMs = nowMs;
    const { rssMiB, descriptors, guests, groups } = taken;
    console.log(
      `${((nowMs - startMs) / 1_000).toFixed(0)} s${isQuiet() ? ", quiet" : ""}: ${tally.right} right, ${tally.wrong} wrong; ` +
        `${rssMiB.toFixed(0)} MiB, ${descriptors} descriptors, ${guests} guests, ${groups} control groups`,
    );
  }
}

/** What is left when the containers are closed that nobody uses any more: the pool, and nothing else. */
async function rest(service: Service): Promise<Sample> {
  // Before that none is closed, and a pool that is being filled could make up the number.
  await setTimeout(IDLE_MS);
  const isBack = async (): Promise<boolean> => {
    const { guests, groups } = await sample(service);
    return guests === POOL && [0, POOL].includes(groups);
  };
  // Where it never comes to that, the report says so.
  await until(isBack, "only the pool is left", WALL_MS + 4 * IDLE_MS).catch(() => {});
  // Its parts are counted one after the other: of those that found it so the first may be from before.
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
