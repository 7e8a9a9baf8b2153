import { availableParallelism } from "node:os";

import type { Job } from "./plan.ts";
import { machineTimes } from "./processor-time.ts";

/**
 * The number of files in parallel. Files mostly wait for processes, limits and servers, and compute little. Further files
 * begin while the processors are idle: more files than that make each other slower, and their processes use a tenth more
 * processor time.
 */
const AT_ONCE = Math.ceil(1.5 * Math.min(availableParallelism(), 4));
const MOST_AT_ONCE = AT_ONCE + 5;
/** The part of the processor time that is idle before a further file begins, and the time in which it is measured. */
const IDLE_PART = 0.15;
const IDLE_MS = 1_000;

/** Runs several jobs in parallel, and further ones while the processors are idle. */
export async function runInParallel(jobs: readonly Job[], run: (job: Job) => Promise<void>): Promise<void> {
  const left = [...jobs];
  const work = async (): Promise<void> => {
    for (let job = left.shift(); job; job = left.shift()) await run(job);
  };
  const workers = Array.from({ length: AT_ONCE }, work);
  const further = new Set<Promise<void>>();
  let before = machineTimes();
  const timer = setInterval(() => {
    const now = machineTimes();
    const isIdle = now.idle - before.idle > IDLE_PART * (now.all - before.all);
    before = now;
    const job = isIdle && AT_ONCE + further.size < MOST_AT_ONCE ? left.shift() : undefined;
    if (!job) return;
    const done: Promise<void> = run(job).finally(() => further.delete(done));
    further.add(done);
  }, IDLE_MS);
  await Promise.all(workers);
  await Promise.all(further);
  clearInterval(timer);
}
