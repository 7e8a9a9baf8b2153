import { PerformanceObserver } from "node:perf_hooks";
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";

/** Both halves of the young generation. Smaller ones would cost processor time, because V8 would empty them more often. */
const MOST_BYTES = 32 * 2 ** 20;
/** V8's default. */
const DOUBLE = 2;

/**
 * Limits V8's young generation, in which V8 creates objects. V8 lets it grow to 128 MiB and keeps this memory, although a request
 * lives for a moment. V8 takes its limit only from the command line, so its growth is stopped when it is large enough.
 *
 * @returns ends it
 */
export function limitYoungGeneration(mostBytes: number = MOST_BYTES): () => void {
  let factor = DOUBLE;
  const observer = new PerformanceObserver(() => {
    // Idle, V8 shrinks it again.
    const wanted = youngBytes() < mostBytes ? DOUBLE : 1;
    if (wanted !== factor) setFlagsFromString(`--semi-space-growth-factor=${wanted}`);
    factor = wanted;
  });
  observer.observe({ entryTypes: ["gc"] });
  return () => observer.disconnect();
}

function youngBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name: name }) => name === "new_space")?.space_size ?? 0;
}
