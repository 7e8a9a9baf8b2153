import assert from "node:assert/strict";
import { after, before, it } from "node:test";

import { DATA_BYTES, DATA_FRAME_COST_BYTES, WINDOW_BYTES } from "../../src/wire/messages.ts";
import { openRealGuests, type RealGuests } from "./real-guests.ts";
import { start } from "./recorder.ts";

let real: RealGuests;

before(async () => {
  real = await openRealGuests();
});
after(() => real.close());

it("runs of one guest are answered in the order of their ends, and share global state", async () => {
  const guest = await real.make();
  const slow = start(
    guest,
    "globalThis.left = 1; await new Promise((end) => { globalThis.wake = end }); return 'slow'",
  );
  const quick = start(guest, "globalThis.wake(); return ['quick', left]");
  assert.equal(await quick.outcome(), 'result ["quick",1]');
  assert.equal(await slow.outcome(), 'result "slow"');
  assert.equal(guest.inFlight.size, 0);
});

it("code is compiled once for all its runs, and forgotten code is sent and compiled again", async () => {
  const guest = await real.make();
  for (let count = 0; count <= 1_000; count++) start(guest, `${count} * 2`);
  const again = start(guest, "0 * 2 + 0");
  const oldest = start(guest, "0 * 2");
  assert.equal(await oldest.outcome(), "result 0");
  assert.equal(await again.outcome(), "result 0");
});

it("a stream waits at the end of its window, and continues when the service grants more", async () => {
  const guest = await real.make();
  const run = start(
    guest,
    `let sent = 0;
     return new Response(new ReadableStream({ pull(c) { sent += 65536; c.enqueue(new Uint8Array(65536)); if (sent === 10 * 65536) c.close() } }))`,
  );
  let owed = 0;
  run.data = (bytes) => {
    run.bodyBytes += bytes.length;
    owed += bytes.length + DATA_FRAME_COST_BYTES;
    // Grants only when no whole frame fits: a guest that does not wait would break the protocol and be ended.
    if (owed + DATA_BYTES + DATA_FRAME_COST_BYTES <= WINDOW_BYTES) return;
    guest.inFlight.grant(run.id, owed);
    owed = 0;
  };
  assert.equal(await run.outcome(), "end");
  assert.equal(run.bodyBytes, 10 * 65_536);
});

it("a task that ends its process, or writes invalid frames, ends its own guest and no other", async () => {
  const [guest, beside] = [await real.make(), await real.make()];
  const waits = start(beside, "await new Promise((end) => { globalThis.wake = end }); return 'alive'");
  const exits = start(guest, "process.reallyExit(3)");
  assert.equal(await exits.outcome(), "task_exited");
  await guest.process.exited;
  const forger = await real.make();
  const [forges, other] = [
    start(forger, "await new Promise((never) => setTimeout(never, 60_000))"),
    start(
      forger,
      "require('node:fs').writeSync(3, 'forged'.repeat(9)); await new Promise((never) => setTimeout(never, 60_000))",
    ),
  ];
  assert.equal(await forges.outcome(), "container_restarted");
  assert.equal(await other.outcome(), "container_restarted");
  const { how } = await forger.process.exited;
  assert.match(how, /code|signal/);
  start(beside, "globalThis.wake()");
  assert.equal(await waits.outcome(), 'result "alive"');
});

it("a guest whose heap is full reports in its exit that it is out of memory", async () => {
  const guest = await real.make();
  const run = start(guest, "const kept = []; for (;;) kept.push(new Array(10_000).fill(kept.length))");
  assert.equal(await run.outcome(), "task_memory");
  assert.equal((await guest.process.exited).outOfMemory, true);
});

it("an aborted run receives the signal and its answer is dropped, and a retired guest ends with its last abandoned run", async () => {
  const guest = await real.make();
  const context = { runId: "1", container: "demo", method: "POST", url: "http://localhost/", headers: {} };
  const code = `(context) => new Promise((end) => {
    context.signal.addEventListener("abort", () => { globalThis.wake(); end("late") });
    console.log("listens");
  })`;
  const other = start(guest, "await new Promise((end) => { globalThis.wake = end }); return 'woken'");
  const aborted = start(guest, code, () => JSON.stringify(context));
  await aborted.received("log 1 listens");
  guest.inFlight.abort(aborted.id, "deadline");
  assert.equal(await other.outcome(), 'result "woken"');
  guest.retire();
  assert.equal(guest.ended, false);
  guest.inFlight.abandon(aborted.id);
  await guest.process.exited;
  assert.deepEqual([guest.ended, aborted.events], [true, ["log 1 listens"]]);
});
