import type { Check } from "./check.ts";
import type { ProbeGuest } from "./probe-guest.ts";

/** More is not filled at a start: the machine's other users would feel it. There the kernel's own number must do. */
const MOST_FILLED_BYTES = 2 ** 30;
/** What may be mapped beyond the memory limit where no control group holds that, and a little more. */
const MARGIN_BYTES = 2 ** 30;
const STEP_BYTES = 32 * 2 ** 20;

/**
 * Has a guest take more memory than it may have, which it does not survive, or is refused.
 *
 * @param isHeld whether a control group counts what is touched; else only what is mapped is limited.
 */
export async function exhaustMemory(guest: ProbeGuest, limitBytes: number, isHeld: boolean): Promise<Check[]> {
  if (isHeld && limitBytes > MOST_FILLED_BYTES) return [];
  const check = { layer: "memory", tried: "take more than that" } as const;
  const bytes = limitBytes + (isHeld ? STEP_BYTES : MARGIN_BYTES);
  try {
    const found = String(await guest.run(`return (${take.toString()})(${bytes}, ${STEP_BYTES}, ${isHeld})`));
    return [{ ...check, outcome: found === "got through" ? "open" : "held", found }];
  } catch {
    const { how, outOfMemory } = await guest.process.exited;
    return [
      { ...check, outcome: outOfMemory ? "held" : "open", found: outOfMemory ? "ended for want of memory" : how },
    ];
  }
}

/** Sent to the guest as text. */
function take(bytes: number, step: number, touches: boolean): string {
  const kept: Buffer[] = [];
  try {
    for (let taken = 0; taken < bytes; taken += step) {
      kept.push(touches ? Buffer.alloc(step, 1) : Buffer.allocUnsafeSlow(step));
    }
    return "got through";
  } catch (error) {
    return (error as Error).message;
  }
}
