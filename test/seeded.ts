import { createHash, randomInt } from "node:crypto";

export interface Seeded {
  /** To be told when a test fails. */
  readonly seed: string;
  /** A whole number from 0 up to the bound, without it. */
  below(bound: number): number;
  pick<T>(list: readonly T[]): T;
}

/** Random numbers that come again with the same seed, which `SEED` gives. */
export function seeded(seed: string = process.env["SEED"] ?? String(randomInt(2 ** 32))): Seeded {
  let drawn = 0;
  const below = (bound: number): number => {
    const digest = createHash("sha256").update(`${seed} ${drawn++}`).digest();
    return digest.readUInt32LE() % bound;
  };
  return { seed, below, pick: (list) => list[below(list.length)]! };
}
