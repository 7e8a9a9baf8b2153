import { getSystemErrorName } from "node:util";

import type { Check } from "./check.ts";
import { type MemoryTaker, MOST_FILLED_BYTES, PIECE_BYTES } from "./memory-taker.ts";

/** The lowest error number: the kernel's MAX_ERRNO, negated. A lower number is the lower half of an address. */
const LAST_ERROR = -4_095;

/**
 * Makes a guest use more memory than its limit. The kernel must kill the guest or refuse the memory.
 *
 * @param isHeld whether a control group limits used memory. Otherwise the kernel limits only mapped memory.
 */
export async function exhaustMemory(guest: MemoryTaker, limitBytes: number, isHeld: boolean): Promise<Check[]> {
  if (isHeld && limitBytes > MOST_FILLED_BYTES) return [];
  const check = { layer: "memory", tried: "use more than the limit" } as const;
  const pieces = isHeld ? Math.ceil(limitBytes / PIECE_BYTES) + 1 : 1;
  for (let taken = 0; taken < pieces; taken += 1) {
    const result = await guest.take();
    if (result === null) {
      const { how, outOfMemory } = await guest.process.exited;
      return [{ ...check, outcome: outOfMemory ? "held" : "open", found: outOfMemory ? "killed: out of memory" : how }];
    }
    if (result < 0 && result >= LAST_ERROR) return [{ ...check, outcome: "held", found: getSystemErrorName(result) }];
  }
  return [{ ...check, outcome: "open", found: "got through" }];
}
