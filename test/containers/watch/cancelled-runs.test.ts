import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { Guest } from "../../../src/containers/guest/guest.ts";
import { Problem } from "../../../src/errors.ts";
import { until } from "../../contract/until.ts";
import { type Recorder, start } from "../recorder.ts";
import { WatchedGuests } from "./watched-guests.ts";

const CANCELLED = new Problem("run_cancelled", "the run was cancelled by a request");
const LOOP = 'console.log("computes"); await new Promise((end) => setTimeout(end, 1)); for (;;);';
/** It answers all pings. */
const BURNS = `console.log("computes");
  const burn = () => { const end = performance.now() + 10; while (performance.now() < end); setImmediate(burn); };
  burn();
  await new Promise(() => {});`;

async function begun(guest: Guest, code: string): Promise<Recorder> {
  const run = start(guest, code);
  await run.received("log 1 computes");
  return run;
}

describe("a guest whose run was cancelled", () => {
  const guests = new WatchedGuests();

  it("ends at once if it does not answer and no other run is in flight", async (t) => {
    const guest = await guests.make(t, { blockMs: 60_000 });
    const run = await begun(guest, LOOP);
    guest.begunMs = Number.NEGATIVE_INFINITY;
    await until(() => guest.heartbeat.isOverdue(performance.now()), "the guest does not answer");
    guest.inFlight.cancel(run.id, CANCELLED);
    assert.deepEqual([await run.outcome(), guest.ended, guest.crashedMs], ["run_cancelled", true, null]);
    await guest.process.exited;
  });

  it("ends with the block limit if it has only begun, so that cancels cost no starts", async (t) => {
    const guest = await guests.make(t);
    const run = await begun(guest, LOOP);
    guest.inFlight.cancel(run.id, CANCELLED);
    await guest.process.exited;
  });

  it("ends if it computes on without a run, and is no crash", async (t) => {
    const guest = await guests.make(t, { blockMs: 60_000 });
    const run = await begun(guest, BURNS);
    guest.begunMs = Number.NEGATIVE_INFINITY;
    const other = start(guest, "await new Promise((end) => setTimeout(end, 1)); return 2");
    guest.inFlight.cancel(run.id, CANCELLED);
    assert.equal(await other.outcome(), "result 2");
    await guest.process.exited;
    assert.equal(guest.crashedMs, null);
  });
});
