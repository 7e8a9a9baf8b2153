import type { Check } from "./check.ts";
import type { ProbeGuest } from "./probe-guest.ts";

/**
 * The largest memory limit that a start fills. A larger fill would slow down other users of the machine; the limit that the
 * kernel reports must suffice.
 */
const MOST_FILLED_BYTES = 2 ** 30;
/** A margin larger than what a guest may map beyond the memory limit if no control group limits memory. */
const MARGIN_BYTES = 2 ** 30;
const STEP_BYTES = 32 * 2 ** 20;

/**
 * Makes a guest use more memory than its limit. The kernel must kill the guest or refuse the memory.
 *
 * @param isHeld whether a control group limits used memory. Otherwise the kernel limits only mapped memory.
 */
export async function exhaustMemory(guest: ProbeGuest, limitBytes: number, isHeld: boolean): Promise<Check[]> {
  if (isHeld && limitBytes > MOST_FILLED_BYTES) return [];
  const check = { layer: "memory", tried: "use more than the limit" } as const;
  const bytes = limitBytes + (isHeld ? STEP_BYTES : MARGIN_BYTES);
  try {
    const found = String(await guest.run(`return (${take.toString()})(${bytes}, ${STEP_BYTES}, ${isHeld})`));
    return [{ ...check, outcome: found === "got through" ? "open" : "held", found }];
  } catch {
    const { how, outOfMemory } = await guest.process.exited;
    return [{ ...check, outcome: outOfMemory ? "held" : "open", found: outOfMemory ? "killed: out of memory" : how }];
  }
}

/** Takes memory in the guest. It is sent as text. */
function take(bytes: number, step: number, touches: boolean): string {
  const buffers: Buffer[] = [];
  try {
    for (let taken = 0; taken < bytes; taken += step) {
      buffers.push(touches ? Buffer.alloc(step, 1) : Buffer.allocUnsafeSlow(step));
    }
    return "got through";
  } catch (error) {
    return (error as Error).message;
  }
}
