import { createHash, randomInt } from "node:crypto";

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
