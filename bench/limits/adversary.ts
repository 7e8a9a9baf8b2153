import { type Algorithm, type Candidate, LIMIT, WINDOW_MS } from "./algorithms.ts";

/** A series of attempts: their number, the time of the first after the start, and the interval. In milliseconds. */
interface Volley {
  readonly atMs: number;
  readonly runs: number;
  readonly everyMs: number;
}

export interface WorstCase {
  /** The maximum number of runs admitted in a half-open interval as long as the window. */
  readonly worst: number;
  /** When the runs of that attack were admitted, after the start of a clock window. */
  readonly times: readonly number[];
}

const ATTACKS = 300;
const MUTATIONS = 500;
const MOST_VOLLEYS = 3;
const PART_MS = WINDOW_MS / 64;
const START_MS = WINDOW_MS * 30_000_000;

/**
 * Searches for the attempts that get the most runs past an algorithm. It tries the same random attacks for each algorithm,
 * and then variants of the best attacks. The search is the same at each start.
 */
export function worstCase({ make }: Candidate): WorstCase {
  const random = seeded(20_260_101);
  let best: Volley[] = [];
  let found: WorstCase = { worst: 0, times: [] };
  const attempt = (attack: Volley[]): void => {
    const times = attackWith(attack, make());
    const worst = mostInWindow(times);
    if (worst < found.worst) return;
    best = attack;
    if (worst > found.worst) found = { worst, times };
  };
  for (let attack = 0; attack < ATTACKS; attack++) {
    attempt(Array.from({ length: 1 + Math.floor(random() * MOST_VOLLEYS) }, () => volley(random)));
  }
  for (let mutation = 0; mutation < MUTATIONS; mutation++) {
    const changed = Math.floor(random() * best.length);
    attempt(best.map((each, at) => (at === changed ? nudge(each, random) : each)));
  }
  return found;
}

function volley(random: () => number): Volley {
  const one = <Value>(...values: Value[]): Value => values[Math.floor(random() * values.length)]!;
  const part = Math.floor(random() * 128) * PART_MS;
  return {
    atMs: Math.floor(one(part - 1, part, part + 1, 0, WINDOW_MS - 1, WINDOW_MS, random() * 2 * WINDOW_MS)),
    runs: one(1, LIMIT / 10, LIMIT, 2 * LIMIT),
    everyMs: one(0, 0, 1, WINDOW_MS / LIMIT, WINDOW_MS / LIMIT / 2),
  };
}

function nudge(each: Volley, random: () => number): Volley {
  const other = volley(random);
  if (random() < 0.3) return other;
  if (random() < 0.3) return { ...each, everyMs: other.everyMs, runs: other.runs };
  const byMs = Math.ceil(10 ** (random() * 5)) * (random() < 0.5 ? -1 : 1);
  return { ...each, atMs: Math.max(0, each.atMs + byMs) };
}

function attackWith(attack: readonly Volley[], algorithm: Algorithm): number[] {
  const attempts = attack.flatMap(({ atMs, runs, everyMs }) =>
    Array.from({ length: runs }, (_, run) => atMs + Math.floor(run * everyMs)),
  );
  return attempts.toSorted((one, other) => one - other).filter((time) => algorithm.admit(START_MS + time));
}

/** Returns the maximum number of these ascending times in any half-open interval as long as the window. */
export function mostInWindow(times: readonly number[]): number {
  let most = 0;
  let first = 0;
  for (const [at, time] of times.entries()) {
    while (times[first]! <= time - WINDOW_MS) first++;
    most = Math.max(most, at - first + 1);
  }
  return most;
}

/** Returns a generator of numbers from 0 to 1 that are the same at each start (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
