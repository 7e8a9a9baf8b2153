import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { describe, it } from "node:test";

import { FROM_GUEST, TO_GUEST, WINDOW_BYTES } from "../../src/wire/messages.ts";
import { closedPort, openNetwork, serveTcp } from "./puppet-network.ts";

const MIB = 2 ** 20;

describe("a connection", () => {
  it("reaches the requested destination, reports both addresses, and carries bytes in both directions", async (t) => {
    const { port, sockets } = await serveTcp(t, (socket) => socket.pipe(socket));
    const { wire, run, dnsQueries } = await openNetwork(t, { ports: [port], names: { "echo.test": [["127.0.0.1"]] } });
    const stream = wire.open(run.id, "Echo.TEST.", port);
    const ends = await stream.opened;
    assert.deepEqual([ends.remoteAddress, ends.remotePort, ends.remoteFamily], ["127.0.0.1", port, "IPv4"]);
    // A task must not see the service's address; the port is the port that the peer sees.
    assert.deepEqual(
      [ends.localAddress, ends.localPort, ends.localFamily],
      ["0.0.0.0", sockets[0]!.remotePort, "IPv4"],
    );
    assert.equal(await stream.send(Buffer.from("hello")), true);
    await stream.has(5);
    assert.equal(stream.text, "hello");
    assert.deepEqual(dnsQueries, ["echo.test"]);
  });

  it("is attempted to each address of the name in turn, until one answers", async (t) => {
    const { port } = await serveTcp(t, (socket) => socket.end("here"), "127.0.0.3");
    const names = { "many.test": [["127.0.0.1", "127.0.0.2", "127.0.0.3"]] };
    const { wire, run } = await openNetwork(t, { ports: [port], names });
    const stream = wire.open(run.id, "many.test", port);
    assert.equal((await stream.opened).remoteAddress, "127.0.0.3");
    await stream.ended;
    assert.equal(stream.text, "here");
  });

  it("that the peer refuses is reported with Node's error", async (t) => {
    const port = await closedPort();
    const { wire, run } = await openNetwork(t, { ports: [port], names: { "two.test": [["127.0.0.1", "127.0.0.2"]] } });
    for (const host of ["127.0.0.1", "two.test"]) {
      assert.deepEqual(await wire.open(run.id, host, port).broke, {
        message: `connect ECONNREFUSED 127.0.0.1:${port}`,
        code: "ECONNREFUSED",
        errno: -111,
        syscall: "connect",
        address: "127.0.0.1",
        port,
      });
    }
  });

  it("to a name that does not exist is reported as a failed lookup", async (t) => {
    const { wire, run } = await openNetwork(t);
    assert.deepEqual(await wire.open(run.id, "nowhere.test", 80).broke, {
      message: "getaddrinfo ENOTFOUND nowhere.test",
      code: "ENOTFOUND",
      errno: -3008,
      syscall: "getaddrinfo",
      hostname: "nowhere.test",
    });
  });

  it("that the peer resets is reported as reset", async (t) => {
    const { port } = await serveTcp(t, (socket) => socket.once("data", () => socket.resetAndDestroy()));
    const { wire, run } = await openNetwork(t, { ports: [port] });
    const stream = wire.open(run.id, "127.0.0.1", port);
    await stream.opened;
    stream.sendFrame("x");
    const fault = await stream.broke;
    assert.deepEqual([fault.code, fault.errno, fault.syscall], ["ECONNRESET", -104, "read"]);
  });

  it("can be half-closed: each side may still send after the other side has ended", async (t) => {
    const { port, sockets } = await serveTcp(t, (socket) => {
      socket.setEncoding("latin1");
      let received = "";
      socket.on("data", (text: string) => {
        received += text;
        if (text.includes("you end first")) socket.end("peer ended");
      });
      socket.on("end", () => {
        if (!socket.writableEnded) socket.end(`received ${received}`);
      });
    });
    const { wire, run, egress } = await openNetwork(t, { ports: [port] });
    const guestFirst = wire.open(run.id, "127.0.0.1", port);
    await guestFirst.opened;
    guestFirst.sendFrame("all");
    guestFirst.end();
    await guestFirst.ended;
    assert.equal(guestFirst.text, "received all");

    const peerFirst = wire.open(run.id, "127.0.0.1", port);
    await peerFirst.opened;
    peerFirst.sendFrame("you end first");
    await peerFirst.ended;
    assert.equal(peerFirst.text, "peer ended");
    const [, socket] = sockets;
    peerFirst.sendFrame(", and I go on");
    assert.equal(((await once(socket!, "data")) as string[])[0], ", and I go on");
    peerFirst.end();
    await once(socket!, "close");
    const last = wire.open(run.id, "127.0.0.1", port);
    await last.opened;
    assert.equal(egress.counts.open, 1, "a connection that has ended in both directions is not held");
  });

  it("delivers the data that was sent before its reset, and then ends", async (t) => {
    const { port, sockets } = await serveTcp(t, (socket) => socket.pause());
    const { wire, run, guest } = await openNetwork(t, { ports: [port] });
    const stream = wire.open(run.id, "127.0.0.1", port);
    await stream.opened;
    const bytes = WINDOW_BYTES - 4 * 256;
    assert.ok(await stream.send(Buffer.alloc(bytes, "x")));
    stream.reset();
    let received = 0;
    sockets[0]!.on("data", (chunk: Buffer) => (received += chunk.length)).resume();
    await once(sockets[0]!, "end");
    assert.equal(received, bytes);
    assert.equal(guest.ended, false);
  });

  it("that is reset before its DNS answer is never established", async (t) => {
    const { port, sockets } = await serveTcp(t, () => {});
    const dnsAnswer = Promise.withResolvers<void>();
    const { wire, run, guest, egress } = await openNetwork(t, {
      allow: [{ host: "slow.test", port }],
      resolver: async () => {
        await dnsAnswer.promise;
        return [{ address: "127.0.0.1" }];
      },
    });
    const stream = wire.open(run.id, "slow.test", port);
    stream.reset();
    const other = wire.open(run.id, "slow.test", port);
    // The answer to this lookup arrives after the service has read the reset.
    assert.ok("fault" in (await wire.lookup(0xffff, "a.test")));
    dnsAnswer.resolve();
    await other.opened;
    assert.equal(sockets.length, 1);
    assert.equal(egress.counts.open, 1);
    assert.equal(guest.ended, false);
  });

  it("ends with its guest", async (t) => {
    const { port, sockets } = await serveTcp(t, (socket) => socket.resume());
    const { wire, run, puppet, egress } = await openNetwork(t, { ports: [port] });
    const streams = Array.from({ length: 5 }, () => wire.open(run.id, "127.0.0.1", port));
    await Promise.all(streams.map(({ opened }) => opened));
    const closed = sockets.map((socket) => once(socket, "close"));
    for (const socket of sockets) socket.on("end", () => socket.end());
    puppet.exit();
    await Promise.all(closed);
    assert.equal(egress.counts.open, 0);
  });
});

describe("the windows", () => {
  it("stop a peer exactly at the window of a guest that reads slowly", async (t) => {
    const { port } = await serveTcp(t, (socket) => socket.end(Buffer.alloc(4 * MIB, "x")));
    const { wire, run } = await openNetwork(t, { ports: [port] });
    const [slow, other] = [wire.open(run.id, "127.0.0.1", port), wire.open(run.id, "127.0.0.1", port)];
    slow.refill = false;
    // The other stream completes while the slow stream waits.
    await other.ended;
    assert.equal(other.bytes, 4 * MIB);
    // Room below the minimum frame size is left.
    assert.ok(slow.receiveWindow >= 0 && slow.receiveWindow < 4_096 + 256, `${slow.receiveWindow} left`);
    const before = slow.bytes;
    slow.giveBack(100_000);
    await slow.has(before + 90_000);
    slow.refill = true;
    slow.giveBack(WINDOW_BYTES - slow.receiveWindow);
    await slow.ended;
    assert.equal(slow.bytes, 4 * MIB);
  });

  it("stop a guest whose peer reads slowly, and give room after the peer has read", async (t) => {
    const { port, sockets } = await serveTcp(t, (socket) => socket.pause());
    const { wire, run, guest } = await openNetwork(t, { ports: [port] });
    const stream = wire.open(run.id, "127.0.0.1", port);
    await stream.opened;
    const bytes = Buffer.alloc(20 * MIB, "x");
    const sent = stream.send(bytes);
    await stream.stuck();
    let received = 0;
    sockets[0]!.on("data", (chunk: Buffer) => (received += chunk.length)).resume();
    assert.equal(await sent, true);
    stream.end();
    await once(sockets[0]!, "end");
    assert.equal(received, bytes.length);
    assert.equal(guest.ended, false);
  });

  it("carry 50 MB unchanged in each direction, with little data waiting in the service", async (t) => {
    const { port } = await serveTcp(t, (socket) => socket.pipe(socket));
    const { wire, run, guest } = await openNetwork(t, { ports: [port] });
    const stream = wire.open(run.id, "127.0.0.1", port);
    await stream.opened;
    const [there, back] = [createHash("sha256"), createHash("sha256")];
    let mostWaiting = 0;
    stream.onData = (bytes) => {
      back.update(bytes);
      mostWaiting = Math.max(mostWaiting, guest.process.socket.writableLength);
    };
    for (let megabyte = 0; megabyte < 50; megabyte++) {
      const bytes = Buffer.alloc(1_000_000, megabyte);
      there.update(bytes);
      assert.ok(await stream.send(bytes));
    }
    stream.end();
    await stream.ended;
    assert.equal(stream.bytes, 50_000_000);
    assert.equal(back.digest("hex"), there.digest("hex"));
    assert.ok(mostWaiting < 512 * 1_024, `${mostWaiting} bytes waited`);
  });

  it("share the guest's socket so that no stream starves another", async (t) => {
    const { port } = await serveTcp(t, (socket) => socket.end(Buffer.alloc(2 * MIB)));
    const { wire, run } = await openNetwork(t, { ports: [port] });
    const streams = Array.from({ length: 20 }, () => wire.open(run.id, "127.0.0.1", port));
    const order: number[] = [];
    await Promise.all(streams.map(async ({ ended }, index) => ended.then(() => order.push(index))));
    assert.equal(order.length, 20);
    assert.ok(streams.every(({ bytes }) => bytes === 2 * MIB));
  });
});

describe("a guest that does not read its socket", () => {
  it("makes its peers wait, and its other frames are not delayed long", async (t) => {
    const { port } = await serveTcp(t, (socket) => {
      const more = (): void => {
        while (socket.write(Buffer.alloc(65_536)));
      };
      socket.on("drain", more);
      more();
    });
    const { wire, run, guest, puppet } = await openNetwork(t, { ports: [port], limits: { bytes: 4_096 * MIB } });
    const streams = Array.from({ length: 30 }, () => wire.open(run.id, "127.0.0.1", port));
    for (const stream of streams) stream.onData = () => {};
    await Promise.all(streams.map(({ opened }) => opened));
    puppet.stopReading();
    const { socket } = guest.process;
    let most = 0;
    // The kernel buffers some data first. After that, the data waiting in the service no longer grows.
    for (let [turns, written] = [0, 0]; turns < 1_000; turns++) {
      most = Math.max(most, socket.writableLength);
      if (socket.bytesWritten !== written) turns = 0;
      written = socket.bytesWritten;
      await new Promise(setImmediate);
    }
    assert.ok(most > 0 && most < 512 * 1_024, `${most} bytes waited`);
    guest.ping(performance.now());
    puppet.read();
    await puppet.next(TO_GUEST.ping);
  });

  it("is ended if it requests answers without end", async (t) => {
    const { guest, puppet, run } = await openNetwork(t);
    puppet.stopReading();
    for (let id = 1; !guest.ended; id++) {
      // The run is unknown, and each attempt is answered. The limit on frames allows 100 attempts in a turn.
      for (let each = 0; each < 100; each++) {
        puppet.say(FROM_GUEST.open, id * 100 + each, Buffer.concat([Buffer.alloc(4, 0xff), OPEN]));
      }
      guest.tick(1);
      await new Promise(setImmediate);
    }
    assert.equal(await run.outcome(), "task_exited");
  });
});

const OPEN = Buffer.from(JSON.stringify({ host: "x".repeat(250), port: 80 }));
