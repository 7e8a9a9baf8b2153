import { threadCpuMs } from "../../src/thread-cpu-time.ts";

/** The processor time of the work on a machine with nothing else to do. */
const QUIET_MS = 6;
const ROUNDS = 7;
const TEXT = JSON.stringify(Array.from({ length: 20_000 }, (_, at) => ({ at, name: `m${at}` })));

/**
 * Returns how many times longer work takes on this machine now than on a quiet one, 1 at least. Processes that share a core, its
 * caches and the memory lengthen the processor time of each other: up to twice on a machine that other tests use.
 */
export function slowness(): number {
  const times = Array.from({ length: ROUNDS }, () => {
    const startMs = threadCpuMs();
    JSON.stringify(JSON.parse(TEXT));
    return threadCpuMs() - startMs;
  });
  return Math.max(1, times.toSorted((a, b) => a - b)[Math.floor(ROUNDS / 2)]! / QUIET_MS);
}
