import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";

import { GuestProcess } from "./guest-process.ts";

/** The service replaces a guest that has grown by half of its limit of 128 MiB. */
const MOST_GROWTH_BYTES = 64 * 2 ** 20;
const MODULES = process.env["LONG"] === "1" ? 200_000 : 40_000;
/** The modules that a guest keeps. Each further one takes the place of the oldest. */
const KEPT = 1_000;
const AT_ONCE = 32;

/** The most memory that the guest has had at once. */
function peakBytes({ pid }: GuestProcess): number {
  return 1_024 * Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1]);
}

describe("a guest that receives a new module with each run", () => {
  it("needs no more memory after many modules than after a few", async () => {
    await using guest = await GuestProcess.start();
    const firstBytes = peakBytes(guest);
    const codes: number[] = [];
    let next = 0;
    const work = async (): Promise<void> => {
      while (next < MODULES) {
        const index = next++;
        const code = guest.code(`export default async ({ query }) => {\n  return query.at ?? ${index};\n}`);
        codes.push(code);
        assert.equal((await guest.start(code).outcome).result, String(index));
        if (codes.length > KEPT) guest.forget(codes.shift()!);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    const grownBytes = peakBytes(guest) - firstBytes;
    assert.ok(grownBytes < MOST_GROWTH_BYTES, `the guest has grown by ${grownBytes} bytes`);
  });
});
