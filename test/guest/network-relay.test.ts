import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MessageChannel, type MessagePort } from "node:worker_threads";

import { makeRelay, type Relay } from "../../src/guest/network/relay.ts";
import { bytesFrame } from "../../src/wire/frames.ts";
import { FROM_GUEST, TO_GUEST } from "../../src/wire/messages.ts";
import { until } from "../contract/until.ts";

const RUN = 7;
const FORGED_RUN = Buffer.from([99, 0, 0, 0]);
const NONE = Buffer.alloc(0);

/** Makes a relay with the ports of two workers. `sent` collects its frames to the service. */
function startRelay(): { relay: Relay; sent: Buffer[]; first: MessagePort; second: MessagePort } & Disposable {
  const sent: Buffer[] = [];
  const relay = makeRelay((frame) => sent.push(Buffer.from(frame)));
  const [first, second] = [new MessageChannel(), new MessageChannel()];
  relay.adopt(first.port1, RUN);
  relay.adopt(second.port1, RUN + 1);
  const close = (): void => [first.port2, second.port2].forEach((port) => port.close());
  return { relay, sent, first: first.port2, second: second.port2, [Symbol.dispose]: close };
}

/** Posts messages to a port, and waits until the relay has processed all of them. */
async function post(relay: Relay, port: MessagePort, ...messages: unknown[]): Promise<void> {
  for (const message of messages) port.postMessage(message);
  const last = 1_000_000 + Math.trunc(performance.now() * 1_000);
  port.postMessage(bytesFrame(FROM_GUEST.open, last, FORGED_RUN));
  const isProcessed = (): boolean => relay.deliver(TO_GUEST.peerReset, last, NONE);
  while (!isProcessed()) await new Promise((resolve) => setImmediate(resolve));
}

describe("the relay between workers and the service", () => {
  it("charges the run that started the worker, even if the worker names another run", async () => {
    using both = startRelay();
    await post(both.relay, both.second, bytesFrame(FROM_GUEST.open, 1, FORGED_RUN, Buffer.from("{}")));
    assert.deepEqual(both.sent[0], bytesFrame(FROM_GUEST.open, 1, Buffer.from([RUN + 1, 0, 0, 0]), Buffer.from("{}")));
  });

  it("drops messages that are not frames of a worker", async () => {
    using both = startRelay();
    const cut = bytesFrame(FROM_GUEST.open, 1, FORGED_RUN).subarray(0, -1);
    await post(
      both.relay,
      both.first,
      ...[null, 1, "text", {}, [], new Uint8Array(3), new Uint8Array(9), new Uint16Array(9), Uint8Array.from(cut)],
      bytesFrame(FROM_GUEST.open, 1, Buffer.from([1, 2])),
      ...[FROM_GUEST.ready, FROM_GUEST.result, FROM_GUEST.log, TO_GUEST.opened, 255].map((type) =>
        bytesFrame(type, 1, FORGED_RUN),
      ),
    );
    assert.equal(both.sent.length, 1);
  });

  it("drops frames for the stream of another worker", async () => {
    using both = startRelay();
    await post(both.relay, both.first, bytesFrame(FROM_GUEST.open, 1, FORGED_RUN));
    both.sent.length = 0;
    await post(
      both.relay,
      both.second,
      bytesFrame(FROM_GUEST.open, 1, FORGED_RUN),
      bytesFrame(FROM_GUEST.sent, 1, Buffer.from("x")),
      bytesFrame(FROM_GUEST.sent, 2, Buffer.from("x")),
      bytesFrame(FROM_GUEST.reset, 1),
    );
    assert.equal(both.sent.length, 1);
    const got: Buffer[] = [];
    both.first.on("message", (bytes: Uint8Array) => got.push(Buffer.from(bytes)));
    assert.equal(both.relay.deliver(TO_GUEST.received, 1, Buffer.from("y")), true);
    const expected = bytesFrame(TO_GUEST.received, 1, Buffer.from("y"));
    await until(() => got.some((frame) => frame.equals(expected)), "the worker receives the frames of its stream");
  });

  it("resets the streams of a worker that has ended, and forgets closed streams", async () => {
    using both = startRelay();
    const lookup = bytesFrame(FROM_GUEST.lookup, 1, FORGED_RUN);
    await post(
      both.relay,
      both.first,
      bytesFrame(FROM_GUEST.open, 1, FORGED_RUN),
      bytesFrame(FROM_GUEST.open, 2, FORGED_RUN),
      lookup,
    );
    assert.equal(both.relay.deliver(TO_GUEST.peerReset, 1, NONE), true);
    assert.equal(both.relay.deliver(TO_GUEST.peerReset, 1, NONE), false);
    both.sent.length = 0;
    both.first.close();
    while (both.sent.length === 0) await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(both.sent, [bytesFrame(FROM_GUEST.reset, 2)]);
    assert.equal(both.relay.deliver(TO_GUEST.answer, 1, NONE), false);
  });
});
