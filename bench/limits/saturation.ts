import { type Candidate, CANDIDATES, WINDOW_MS } from "./algorithms.ts";

/** The intervals of requests from an endless queue of clients, in milliseconds. */
const PACES_MS = [3, 7, 20, 59];
const WINDOWS = 10;
const START_MS = WINDOW_MS * 30_000_000;

export interface Saturation {
  /** Its throughput at its worst pace, in proportion to the throughput of a list of all times at that pace. */
  readonly throughput: number;
  /** The maximum number of numbers that it stored. */
  readonly numbers: number;
}

/** Measures an algorithm under more requests than it allows, for several windows. */
export function saturate({ make }: Candidate): Saturation {
  let throughput = Infinity;
  let numbers = 0;
  for (const paceMs of PACES_MS) {
    const own = ask(make, paceMs);
    numbers = Math.max(numbers, own.numbers);
    throughput = Math.min(throughput, own.admitted / ask(perfect.make, paceMs).admitted);
  }
  return { throughput, numbers };
}

const perfect = CANDIDATES.find(({ name }) => name === "sliding log")!;

function ask(make: Candidate["make"], paceMs: number): { admitted: number; numbers: number } {
  const algorithm = make();
  let admitted = 0;
  let numbers = 0;
  for (let now = 0; now < WINDOWS * WINDOW_MS; now += paceMs) {
    if (algorithm.admit(START_MS + now)) admitted++;
    if (now % 1_000 < paceMs) numbers = Math.max(numbers, algorithm.numbers());
  }
  return { admitted, numbers };
}
