import assert from "node:assert/strict";
import { it } from "node:test";
import v8 from "node:v8";
import { runInNewContext } from "node:vm";

import { FROM_GUEST } from "../../src/wire/messages.ts";
import { until } from "../contract/until.ts";
import { isLong } from "../long.ts";
import { seeded } from "../seeded.ts";
import { FuzzedGuest, type FuzzedRun, nextTurn } from "./fuzzed-guest.ts";
import { openFuzzedNetwork, PEER } from "./fuzzed-network.ts";
import { cut, frameOf, honestFrame, honestOpen, mutatedFrame } from "./mutations.ts";

/** Long enough for many guests on a busy machine. */
const WHILE = { timeout: isLong ? 3_600_000 : 300_000 };
const FRAMES = isLong ? 1_000_000 : 20_000;
const BATCHES_A_GUEST = 20;
const MAX_MUTATED = 4;
const MAX_HONEST = 3;
/** After this number of frames, all code is compiled and all tables have their final size. */
const WARM_FRAMES = FRAMES / 4;
const LOOKS = 10;
const GROWTH_BYTES = 2 * 2 ** 20;
/** More unsolicited frames than the service accepts. */
const FLOOD = 10_500;

v8.setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** The least of several looks: a connection that is just being closed still holds its buffers. */
async function heldBytes(): Promise<number> {
  let least = Infinity;
  for (let look = 0; look < LOOKS; look++) {
    await nextTurn();
    collectGarbage();
    const { heapUsed, external } = process.memoryUsage();
    least = Math.min(least, heapUsed + external);
  }
  return least;
}

it(
  `${FRAMES} mutated frames end at most their own guest, answer each run once, and leave nothing in memory`,
  WHILE,
  async (t) => {
    const random = seeded();
    await using network = await openFuzzedNetwork();
    const { egress, port } = network;
    const neighbour = await FuzzedGuest.make(egress);
    const foreign = neighbour.start();
    const counts = { frames: 0, guests: 0, ended: 0, survived: 0 };
    let warmBytes = 0;
    t.diagnostic(`SEED=${random.seed}`);
    try {
      while (counts.frames < FRAMES) {
        const fuzzed = await FuzzedGuest.make(egress);
        const runs = Array.from({ length: 1 + random.below(3) }, () => fuzzed.start().id);
        runs.push(foreign.id);
        const targets = { runs, host: PEER, port };
        // Few guests would come to a connection by mutated frames alone.
        if (random.below(4) === 0) await fuzzed.write([honestOpen(runs[0]!, targets)]);
        for (let batch = 0; batch < BATCHES_A_GUEST && !fuzzed.guest.ended; batch++) {
          const run = random.pick(fuzzed.runs);
          // Sent one at a time, because whether a frame is honest depends on the frames before it.
          for (let left = random.below(MAX_HONEST); left > 0 && run.answers === 0; left--) {
            await fuzzed.write([honestFrame(random, run)]);
          }
          const frames = Array.from({ length: 1 + random.below(MAX_MUTATED) }, () => mutatedFrame(random, targets));
          const wasAlive = !fuzzed.guest.ended;
          await fuzzed.write(cut(random, Buffer.concat(frames)));
          // At least one frame of a batch that ends its guest was read.
          if (wasAlive) counts.frames += fuzzed.guest.ended ? 1 : frames.length;
          meddle(fuzzed, run, random.below(40));
          if (random.below(2) === 0 && !fuzzed.guest.ended) runs.push(fuzzed.start().id);
        }
        counts.guests += 1;
        counts[fuzzed.guest.ended ? "ended" : "survived"] += 1;
        await finish(fuzzed);
        if (counts.guests % 100 === 0) await assertAnswers(neighbour);
        if (warmBytes === 0 && counts.frames >= WARM_FRAMES) warmBytes = await heldBytes();
      }
      assert.deepEqual([neighbour.guest.ended, foreign.answers], [false, 0]);
      assert.ok(counts.ended > counts.guests / 10 && counts.survived > 100, JSON.stringify(counts));
      assert.ok(egress.counts.asked > 100 && egress.counts.bytes > 0, JSON.stringify(egress.counts));
      await until(() => egress.counts.open === 0, "no connection is open");
      const grownBytes = (await heldBytes()) - warmBytes;
      assert.ok(grownBytes < GROWTH_BYTES, `${grownBytes} bytes more are held than after ${WARM_FRAMES} frames`);
    } catch (error) {
      throw new Error(`with SEED=${random.seed}`, { cause: error });
    } finally {
      neighbour.guest.retire();
      await finish(neighbour);
    }
  },
);

it("a flood of one unsolicited frame ends its guest, whatever the frame", async () => {
  for (const [name, type] of Object.entries(FROM_GUEST)) {
    // The guest has already reported that it is warm.
    if (type === FROM_GUEST.ready) continue;
    const fuzzed = await FuzzedGuest.make();
    const run = fuzzed.start();
    await fuzzed.write([Buffer.concat(Array<Buffer>(FLOOD).fill(frameOf(type, 77, Buffer.from("x"))))]);
    assert.ok(fuzzed.guest.ended, name);
    assert.equal(run.answers, 1);
  }
});

/** Actions of the service on a guest between frames. */
function meddle({ guest }: FuzzedGuest, run: FuzzedRun, what: number): void {
  switch (what) {
    case 0:
      if (run.answers === 0) run.abandoned = true;
      return guest.inFlight.abandon(run.id);
    case 1:
      return guest.retire();
    case 2:
      return guest.inFlight.abort(run.id, "deadline");
    case 3:
      return guest.inFlight.grant(run.id, 1_000);
    case 4:
      return guest.ping(performance.now());
  }
}

/** Ends the guest if it has not ended, and asserts that each of its runs was answered once. */
async function finish({ guest, runs }: FuzzedGuest): Promise<void> {
  guest.process.kill();
  await guest.process.exited;
  await until(() => guest.ended, "the guest ends with its process");
  assert.equal(guest.inFlight.size, 0);
  for (const { answers, abandoned, violations } of runs) {
    assert.deepEqual(violations, []);
    assert.equal(answers, abandoned ? 0 : 1);
  }
}

async function assertAnswers(neighbour: FuzzedGuest): Promise<void> {
  const run = neighbour.start();
  await neighbour.write([frameOf(FROM_GUEST.result, run.id, Buffer.from("42"))]);
  assert.equal(run.answers, 1);
}
