import type { Check } from "./check.ts";
import type { ProbeGuest } from "./probe-guest.ts";

/** The largest disk limit that a start fills, to save time. */
const MOST_FILLED_BYTES = 128 * 2 ** 20;
const PIECE_BYTES = 2 ** 20;
/** The time, in milliseconds, to wait for the service's poll. It runs several times a second, on a busy machine less often. */
const PATIENCE_MS = 10_000;

/** Makes a guest exceed its temporary disk at a level where only the service enforces the limit. The service must kill it. */
export async function fillDisk(guest: ProbeGuest, limitBytes: number): Promise<Check> {
  const check = { layer: "temporary disk", tried: "fill its temporary folder" } as const;
  if (limitBytes > MOST_FILLED_BYTES)
    return { ...check, outcome: "weak", found: "polled; too large for a test at the start" };
  try {
    await guest.run(`return (${fill.toString()})(${limitBytes}, ${PIECE_BYTES}, ${PATIENCE_MS})`);
    return { ...check, outcome: "open", found: "got through" };
  } catch {
    const { how, outOfDisk } = await guest.process.exited;
    return {
      ...check,
      outcome: outOfDisk ? "weak" : "open",
      found: outOfDisk ? "killed by a poll of the service" : how,
    };
  }
}

/** Fills the disk in the guest. It is sent as text. */
async function fill(limit: number, piece: number, patienceMs: number): Promise<void> {
  const fs = await import("node:fs");
  const text = Buffer.alloc(piece, 1);
  for (let written = 0; written <= limit; written += piece) fs.writeFileSync(`filled-${written / piece}`, text);
  await new Promise((resolve) => {
    setTimeout(resolve, patienceMs);
  });
}
