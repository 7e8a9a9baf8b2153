import { createHash, randomInt } from "node:crypto";

import { isLong } from "./long.ts";

export interface Seeded {
  /** The seed, for the report of a failed test. */
  readonly seed: string;
  /** Returns a whole number from 0 to `bound - 1`. */
  below(bound: number): number;
  pick<T>(list: readonly T[]): T;
}

/** Returns random numbers that are equal for equal seeds. The environment variable `SEED` sets the seed. */
export function seeded(seed: string = process.env["SEED"] ?? String(randomInt(2 ** 32))): Seeded {
  let count = 0;
  const below = (bound: number): number => {
    const digest = createHash("sha256").update(`${seed} ${count++}`).digest();
    return digest.readUInt32LE() % bound;
  };
  return { seed, below, pick: (list) => list[below(list.length)]! };
}

/**
 * Returns some random elements of a list, in its order, and prints the seed. In a long run it returns the whole list.
 *
 * @param what what the elements are, for the printed line
 */
export function drawn<T>(what: string, list: readonly T[], count: number): readonly T[] {
  if (isLong || list.length <= count) return list;
  const random = seeded();
  const left = [...list];
  while (left.length > count) left.splice(random.below(left.length), 1);
  console.log(`SEED=${random.seed} selects ${count} of ${list.length} ${what}; npm run test:long takes all`);
  return left;
}
