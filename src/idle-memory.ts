import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Collects all garbage, and gives the free memory of the heap back to the system. */
type Collect = (options: { type: "major"; execution: "async"; flavor: "last-resort" }) => Promise<void>;

export interface IdleMemoryOptions {
  /** How long the process must have been idle. */
  readonly idleMs?: number;
  /** How much the process must have grown since it last gave memory back. */
  readonly leastGrowthBytes?: number;
}

/** An idle process spends less than this part of its time in the event loop. */
const MOST_USE = 0.02;

/**
 * Gives memory back to the system when the process has grown and is idle. V8 keeps the pages of a heap that was once large, for
 * the next load: 400 MiB after seconds of 1,000 connections, where 130 MiB are in use. Giving them back takes a tenth of a
 * second, so it must not delay runs.
 *
 * @returns ends it
 */
export function releaseMemoryWhenIdle({
  idleMs = 3_000,
  leastGrowthBytes = 64 * 2 ** 20,
}: IdleMemoryOptions = {}): () => void {
  const collect = collector();
  /** The memory of the process after the last collection, or less; 0 before the first one. */
  let least = 0;
  let use = performance.eventLoopUtilization();
  const check = (): void => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, use);
    use = now;
    const bytes = process.memoryUsage.rss();
    if (least > 0) least = Math.min(least, bytes);
    if (utilization > MOST_USE || bytes - least < leastGrowthBytes) return;
    // What is in use then is the new measure, so that memory in use is not collected again and again.
    least = bytes;
    void collect({ type: "major", execution: "async", flavor: "last-resort" }).then(
      () => (least = process.memoryUsage.rss()),
    );
  };
  // A start leaves a third of its heap as garbage, which the first check of an idle service finds.
  const timer = setInterval(check, idleMs).unref();
  return () => clearInterval(timer);
}

/** Returns V8's function for a collection. V8 adds it to contexts that are made while the flag is set. */
function collector(): Collect {
  setFlagsFromString("--expose-gc");
  try {
    return runInNewContext("gc") as Collect;
  } finally {
    setFlagsFromString("--no-expose-gc");
  }
}
