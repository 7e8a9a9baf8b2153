import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { bytesFrame } from "../../src/wire/frames.ts";
import { DATA_BYTES, DATA_FRAME_COST_BYTES, FROM_GUEST, TO_GUEST, WINDOW_BYTES } from "../../src/wire/messages.ts";
import {
  type Network,
  openNetwork,
  openPayload,
  type PuppetStream,
  serveTcp,
  windowPayload,
} from "./puppet-network.ts";

const DESTINATION = { host: "127.0.0.1", port: 80 };

describe("a guest whose network frame breaks the protocol", () => {
  const messages: Record<string, Buffer> = {
    "no run": Buffer.alloc(3),
    "no message": openPayload(1, ""),
    "half a message": openPayload(1, '{"host":"a","po'),
    "a message that is not an object": openPayload(1, "null"),
    "a list": openPayload(1, "[]"),
    "no host": openPayload(1, '{"port":80}'),
    "a host that is not a string": openPayload(1, '{"host":{"toString":1},"port":80}'),
    "no port": openPayload(1, '{"host":"a"}'),
    "a port that is a string": openPayload(1, '{"host":"a","port":"80"}'),
    "a port above 65535": openPayload(1, { host: "a", port: 65_536 }),
    "a negative port": openPayload(1, { host: "a", port: -1 }),
    "a fractional port": openPayload(1, { host: "a", port: 80.5 }),
    "an invalid address": openPayload(1, { host: "a", port: 80, address: "a" }),
    "an address that is not a string": openPayload(1, '{"host":"a","port":80,"address":1}'),
    "a message that is too long": openPayload(1, { host: "a".repeat(5_000), port: 80 }),
  };
  for (const [what, payload] of Object.entries(messages)) {
    it(`is ended: an open with ${what}`, async (t) => {
      const { puppet, guest, run } = await openNetwork(t);
      puppet.say(FROM_GUEST.open, 1, payload);
      assert.equal(await run.outcome(), "task_exited");
      assert.equal(guest.ended, true);
    });
  }

  for (const payload of ["", "[", "1", '{"host":5}', "{}"]) {
    it(`is ended: a lookup of ${payload || "an empty payload"}`, async (t) => {
      const { puppet, run } = await openNetwork(t);
      puppet.say(FROM_GUEST.lookup, 1, openPayload(run.id, payload));
      assert.equal(await run.outcome(), "task_exited");
    });
  }

  const onStreams: Record<string, (network: Network, stream: PuppetStream) => void | Promise<void>> = {
    "a stream that is open already": ({ puppet, run }, { id }) => {
      puppet.say(FROM_GUEST.open, id, openPayload(run.id, DESTINATION));
    },
    "more than a frame may carry": (_, stream) => stream.sendFrame(Buffer.alloc(DATA_BYTES + 1)),
    "more than the window": async (_, stream) => {
      void stream.send(Buffer.alloc(20 * 2 ** 20));
      await stream.stuck();
      stream.sendFrame("xx");
    },
    // One write, because the service returns the window of an empty frame in its next turn of the event loop.
    "more frames than the window": ({ puppet }, { id }) => {
      const frame = bytesFrame(FROM_GUEST.sent, id, Buffer.of());
      const count = WINDOW_BYTES / DATA_FRAME_COST_BYTES + 1;
      puppet.write(Buffer.concat(Array.from({ length: count }, () => frame)));
    },
    "more room than was used": (_, stream) => stream.giveBack(1),
    "room for zero bytes": ({ puppet }, { id }) => puppet.say(FROM_GUEST.receiveMore, id, windowPayload(0)),
    "room for the maximum number of bytes": (_, stream) => stream.giveBack(0xffff_ffff),
    "a sender without a number": ({ puppet }, { id }) => puppet.say(FROM_GUEST.sender, id, Buffer.alloc(3)),
    "room without a number": ({ puppet }, { id }) => puppet.say(FROM_GUEST.receiveMore, id, Buffer.alloc(3)),
    "room with two numbers": ({ puppet }, { id }) => puppet.say(FROM_GUEST.receiveMore, id, Buffer.alloc(8)),
    "bytes after the end of its data": (_, stream) => {
      stream.end();
      stream.sendFrame("x");
    },
    "two ends": (_, stream) => {
      stream.end();
      stream.end();
    },
    "an unknown type": ({ puppet, run }) => puppet.say(FROM_GUEST.lookup + 1, run.id),
    "the highest type": ({ puppet, run }) => puppet.say(255, run.id),
  };
  for (const [what, act] of Object.entries(onStreams)) {
    it(`is ended: ${what}`, async (t) => {
      const { port } = await serveTcp(t, (socket) => socket.pause());
      const network = await openNetwork(t, { ports: [port] });
      const stream = network.wire.open(network.run.id, "127.0.0.1", port);
      await stream.opened;
      await act(network, stream);
      assert.equal(await network.run.outcome(), "task_exited");
      assert.equal(network.egress.counts.open, 0);
    });
  }

  for (const type of [FROM_GUEST.sent, FROM_GUEST.ended, FROM_GUEST.receiveMore]) {
    it(`is ended: type ${type} before the stream is open`, async (t) => {
      const { puppet, run } = await openNetwork(t, {
        ports: [80],
        names: { "never.test": [] },
        resolver: () => new Promise(() => {}),
      });
      puppet.say(FROM_GUEST.open, 1, openPayload(run.id, { host: "never.test", port: 80 }));
      puppet.say(type, 1, windowPayload(0));
      assert.equal(await run.outcome(), "task_exited");
    });
  }

  it("is ended: a second lookup with the same id while the first is in progress", async (t) => {
    const { puppet, run } = await openNetwork(t, { resolver: () => new Promise(() => {}) });
    for (let each = 0; each < 2; each++) puppet.say(FROM_GUEST.lookup, 1, openPayload(run.id, { host: "a.test" }));
    assert.equal(await run.outcome(), "task_exited");
  });
});

describe("frames of unknown streams", () => {
  it("count as unsolicited, because they can cross with an end, and affect no other stream", async (t) => {
    const { port } = await serveTcp(t, (socket) => socket.pipe(socket));
    const { wire, puppet, guest, run } = await openNetwork(t, { ports: [port] });
    const stream = wire.open(run.id, "127.0.0.1", port);
    await stream.opened;
    const before = guest.noise.frames;
    for (const id of [0, stream.id + 1, 0xffff_ffff]) {
      puppet.say(FROM_GUEST.sent, id, "unknown");
      puppet.say(FROM_GUEST.receiveMore, id, windowPayload(1));
      puppet.say(FROM_GUEST.sender, id, windowPayload(run.id));
      puppet.say(FROM_GUEST.ended, id);
      puppet.say(FROM_GUEST.reset, id);
    }
    stream.sendFrame("mine");
    await stream.has(4);
    assert.equal(stream.text, "mine");
    assert.equal(guest.noise.frames - before, 15);
    // Frames of a stream that was just reset count too.
    stream.reset();
    stream.sendFrame("late");
    stream.giveBack(0);
    stream.reset();
    const other = wire.open(run.id, "127.0.0.1", port);
    await other.opened;
    assert.equal(guest.noise.frames - before, 18);
    assert.equal(guest.ended, false);
  });

  it("end the guest if there are very many", async (t) => {
    const { puppet, run } = await openNetwork(t);
    for (let each = 0; each <= 10_000; each++) puppet.say(FROM_GUEST.reset, each);
    assert.equal(await run.outcome(), "task_exited");
  });
});

describe("frames of single bytes", () => {
  it("are delivered to the peer in order", async (t) => {
    let received = "";
    const { port } = await serveTcp(t, (socket) => {
      socket.setEncoding("latin1").on("data", (text: string) => (received += text));
      socket.on("end", () => socket.end("done"));
    });
    const { wire, run, puppet } = await openNetwork(t, { ports: [port] });
    const stream = wire.open(run.id, "127.0.0.1", port);
    await stream.opened;
    const text = Array.from({ length: 500 }, (_, index) => String.fromCodePoint(33 + (index % 90))).join("");
    for (const byte of text) stream.sendFrame(byte);
    stream.end();
    await stream.ended;
    assert.equal(received, text);
    assert.ok(!puppet.received.some(({ type }) => type === TO_GUEST.abort));
  });
});

describe("a run id", () => {
  it("is refused the network if no run has had this id", async (t) => {
    const { port, sockets } = await serveTcp(t, () => {});
    const { wire, run } = await openNetwork(t, { ports: [port] });
    for (const id of [run.id + 5, run.id + 65_536, 0xffff_ffff]) {
      const fault = await wire.open(id, "127.0.0.1", port).broke;
      assert.equal(fault.code, "EGRESS_DENIED");
      assert.match(fault.message, /no such run is in flight/);
      const answer = await wire.lookup(id, "a.test");
      assert.ok("fault" in answer && answer.fault.code === "EGRESS_DENIED");
    }
    assert.equal(sockets.length, 0);
  });
});
