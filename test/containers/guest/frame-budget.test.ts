import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { describe, it, type TestContext } from "node:test";

import { FrameBudget } from "../../../src/containers/guest/frame-budget.ts";
import { GuestConnection } from "../../../src/containers/guest/guest-connection.ts";
import { bytesFrame } from "../../../src/wire/frames.ts";
import { FROM_GUEST } from "../../../src/wire/messages.ts";
import { until } from "../../contract/until.ts";
import { makeGuest } from "../puppet.ts";
import { start } from "../recorder.ts";

describe("the budget of frames", () => {
  it("is spent by cheap frames, and sooner by expensive frames", () => {
    assert.equal(countUntilSpent(FROM_GUEST.pong, 0), 10_000);
    assert.equal(countUntilSpent(FROM_GUEST.open, 0), 200);
    assert.ok(countUntilSpent(FROM_GUEST.data, 65_536) < countUntilSpent(FROM_GUEST.data, 1));
  });

  it("gives all guests that have spent it together no more than one other guest", () => {
    assert.equal(refillsOf(1), 2);
    assert.equal(refillsOf(10), 11);
  });
});

describe("a guest that sends more than its budget", () => {
  it("is not read until the next refill, and no frame is lost", async (t) => {
    const { connection, end, received } = await connectTo(t);
    const frames = 100_000;
    end.write(Buffer.concat(Array<Buffer>(frames).fill(bytesFrame(FROM_GUEST.pong, 1))));
    await until(async () => connection.isPaused, "the guest has used up its budget");
    // At most one chunk is read beyond the budget.
    assert.ok(received() < 20_000, String(received()));
    await until(async () => {
      connection.refill(1);
      return received() === frames;
    }, "all frames have arrived");
  });

  it("is read to its end when its process has ended", async (t) => {
    const { connection, end, received } = await connectTo(t);
    end.end(Buffer.concat(Array<Buffer>(100_000).fill(bytesFrame(FROM_GUEST.pong, 1))));
    await until(async () => connection.isPaused, "the guest has used up its budget");
    await connection.readToEnd();
    assert.equal(received(), 100_000);
  });
});

describe("frames that change nothing end a guest that keeps sending them", () => {
  const floods: Readonly<Record<string, (id: number) => Buffer>> = {
    "ready again": () => bytesFrame(FROM_GUEST.ready, 0),
    "compiled again": () => bytesFrame(FROM_GUEST.compiled, 1, Buffer.of(1, 0)),
    "waits again": (id) => bytesFrame(FROM_GUEST.waits, id),
    "an unsolicited pong": () => bytesFrame(FROM_GUEST.pong, 1),
  };
  for (const [what, frameOf] of Object.entries(floods)) {
    it(what, async (t) => {
      const { guest, puppet } = await makeGuest(t);
      const run = start(guest, "return 1");
      const frame = frameOf(run.id);
      puppet.write(Buffer.concat(Array<Buffer>(4_000).fill(frame)));
      puppet.say(FROM_GUEST.log, run.id, "\u0001so many do no harm");
      await run.received("log 1 so many do no harm");
      puppet.write(Buffer.concat(Array<Buffer>(2_000).fill(frame)));
      assert.equal(await run.outcome(), "task_exited");
      assert.ok(guest.ended);
    });
  }
});

function countUntilSpent(type: number, payloadBytes: number): number {
  const budget = new FrameBudget();
  let frames = 0;
  for (; !budget.isSpent; frames++) budget.spend(type, payloadBytes);
  return frames;
}

function refillsOf(spent: number): number {
  const budget = new FrameBudget();
  while (!budget.isSpent) budget.spend(FROM_GUEST.pong, 0);
  for (let frame = 0; frame < 5_000; frame++) budget.spend(FROM_GUEST.pong, 0);
  let refills = 0;
  for (; budget.isSpent; refills++) budget.refill(spent);
  return refills;
}

async function connectTo(
  t: TestContext,
): Promise<{ connection: GuestConnection; end: Socket; received: () => number }> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  const [end] = (await once(server, "connection")) as [Socket];
  server.close();
  t.after(() => {
    socket.destroy();
    end.destroy();
  });
  let count = 0;
  const connection = new GuestConnection(socket, 1_024, {
    frame: () => void count++,
    taken: () => {},
    drained: () => {},
    broken: (error) => assert.fail(error),
  });
  return { connection, end, received: () => count };
}
