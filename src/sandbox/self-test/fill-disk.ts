import type { Check } from "./check.ts";
import type { ProbeGuest } from "./probe-guest.ts";

/** More is not written at a start. */
const MOST_FILLED_BYTES = 128 * 2 ** 20;
const PIECE_BYTES = 2 ** 20;
/** The poll comes several times a second; a busy machine takes longer. */
const PATIENCE_MS = 10_000;

/** Has a guest keep more in its temporary folder than it may, where only the service counts that: it does not survive. */
export async function fillDisk(guest: ProbeGuest, limitBytes: number): Promise<Check> {
  const check = { layer: "temporary disk", tried: "fill its temporary folder" } as const;
  if (limitBytes > MOST_FILLED_BYTES) return { ...check, outcome: "weak", found: "polled; too large to be tried" };
  try {
    await guest.run(`return (${fill.toString()})(${limitBytes}, ${PIECE_BYTES}, ${PATIENCE_MS})`);
    return { ...check, outcome: "open", found: "got through" };
  } catch {
    const { how, outOfDisk } = await guest.process.exited;
    return {
      ...check,
      outcome: outOfDisk ? "weak" : "open",
      found: outOfDisk ? "ended by a poll of the service" : how,
    };
  }
}

/** Sent to the guest as text. */
async function fill(limit: number, piece: number, patienceMs: number): Promise<void> {
  const fs = await import("node:fs");
  const text = Buffer.alloc(piece, 1);
  for (let written = 0; written <= limit; written += piece) fs.writeFileSync(`filled-${written / piece}`, text);
  await new Promise((resolve) => {
    setTimeout(resolve, patienceMs);
  });
}
