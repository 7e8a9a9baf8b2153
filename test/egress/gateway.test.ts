import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { describe, it } from "node:test";

import { FROM_GUEST, TO_GUEST, WINDOW_BYTES } from "../../src/wire/messages.ts";
import { closedPort, openNetwork, serveTcp } from "./puppet-network.ts";

const MIB = 2 ** 20;

describe("a connection", () => {
  it("leads to the place that is named, tells both ends of it, and carries bytes both ways", async (t) => {
    const { port, sockets } = await serveTcp(t, (socket) => socket.pipe(socket));
    const { wire, run, asked } = await openNetwork(t, { ports: [port], names: { "echo.test": [["127.0.0.1"]] } });
    const stream = wire.open(run.id, "Echo.TEST.", port);
    const ends = await stream.opened;
    assert.deepEqual([ends.remoteAddress, ends.remotePort, ends.remoteFamily], ["127.0.0.1", port, "IPv4"]);
    // The service's own address is no business of a task; the port is the one that the peer sees.
    assert.deepEqual(
      [ends.localAddress, ends.localPort, ends.localFamily],
      ["0.0.0.0", sockets[0]!.remotePort, "IPv4"],
    );
    assert.equal(await stream.send(Buffer.from("hello")), true);
    await stream.has(5);
    assert.equal(stream.text, "hello");
    assert.deepEqual(asked, ["echo.test"]);
  });

  it("is made to each address of the name in turn, until one answers", async (t) => {
    const { port } = await serveTcp(t, (socket) => socket.end("here"), "127.0.0.3");
    const names = { "many.test": [["127.0.0.1", "127.0.0.2", "127.0.0.3"]] };
    const { wire, run } = await openNetwork(t, { ports: [port], names });
    const stream = wire.open(run.id, "many.test", port);
    assert.equal((await stream.opened).remoteAddress, "127.0.0.3");
    await stream.ended;
    assert.equal(stream.text, "here");
  });

  it("that is refused by the peer is told as Node tells it", async (t) => {
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

  it("to a name that is not there is told as a lookup that failed", async (t) => {
    const { wire, run } = await openNetwork(t);
    assert.deepEqual(await wire.open(run.id, "nowhere.test", 80).broke, {
      message: "getaddrinfo ENOTFOUND nowhere.test",
      code: "ENOTFOUND",
      errno: -3008,
      syscall: "getaddrinfo",
      hostname: "nowhere.test",
    });
  });

  it("that the peer resets is told so", async (t) => {
    const { port } = await serveTcp(t, (socket) => socket.once("data", () => socket.resetAndDestroy()));
    const { wire, run } = await openNetwork(t, { ports: [port] });
    const stream = wire.open(run.id, "127.0.0.1", port);
    await stream.opened;
    stream.sendFrame("x");
    const fault = await stream.broke;
    assert.deepEqual([fault.code, fault.errno, fault.syscall], ["ECONNRESET", -104, "read"]);
  });

  it("has two halves: what the guest ends the peer may still answer, and the other way round", async (t) => {
    const { port, sockets } = await serveTcp(t, (socket) => {
      socket.setEncoding("latin1");
      let heard = "";
      socket.on("data", (text: string) => {
        heard += text;
        if (text.includes("you end first")) socket.end("peer ended");
      });
      socket.on("end", () => {
        if (!socket.writableEnded) socket.end(`heard ${heard}`);
      });
    });
    const { wire, run, egress } = await openNetwork(t, { ports: [port] });
    const guestFirst = wire.open(run.id, "127.0.0.1", port);
    await guestFirst.opened;
    guestFirst.sendFrame("all");
    guestFirst.end();
    await guestFirst.ended;
    assert.equal(guestFirst.text, "heard all");

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
    assert.equal(egress.counts.open, 1, "what has ended both ways is not held");
  });

  it("delivers what was sent before it was reset, and is gone", async (t) => {
    const { port, sockets } = await serveTcp(t, (socket) => socket.pause());
    const { wire, run, guest } = await openNetwork(t, { ports: [port] });
    const stream = wire.open(run.id, "127.0.0.1", port);
    await stream.opened;
    const bytes = WINDOW_BYTES - 4 * 256;
    assert.ok(await stream.send(Buffer.alloc(bytes, "x")));
    stream.reset();
    let heard = 0;
    sockets[0]!.on("data", (chunk: Buffer) => (heard += chunk.length)).resume();
    await once(sockets[0]!, "end");
    assert.equal(heard, bytes);
    assert.equal(guest.ended, false);
  });

  it("that is reset while it is being made is never made", async (t) => {
    const { port, sockets } = await serveTcp(t, () => {});
    const question = Promise.withResolvers<void>();
    const { wire, run, guest, egress } = await openNetwork(t, {
      allow: [{ host: "slow.test", port }],
      resolver: async () => {
        await question.promise;
        return [{ address: "127.0.0.1" }];
      },
    });
    const stream = wire.open(run.id, "slow.test", port);
    stream.reset();
    const other = wire.open(run.id, "slow.test", port);
    // Its answer comes after the reset was read.
    assert.ok("fault" in (await wire.lookup(0xffff, "a.test")));
    question.resolve();
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
  it("keep a peer waiting for a guest that reads slowly, to the byte", async (t) => {
    const { port } = await serveTcp(t, (socket) => socket.end(Buffer.alloc(4 * MIB, "x")));
    const { wire, run } = await openNetwork(t, { ports: [port] });
    const [slow, other] = [wire.open(run.id, "127.0.0.1", port), wire.open(run.id, "127.0.0.1", port)];
    slow.refill = false;
    // The other one comes whole, past the one that waits.
    await other.ended;
    assert.equal(other.bytes, 4 * MIB);
    // Room that is not worth a frame is left.
    assert.ok(slow.receiveWindow >= 0 && slow.receiveWindow < 4_096 + 256, `${slow.receiveWindow} left`);
    const before = slow.bytes;
    slow.giveBack(100_000);
    await slow.has(before + 90_000);
    slow.refill = true;
    slow.giveBack(WINDOW_BYTES - slow.receiveWindow);
    await slow.ended;
    assert.equal(slow.bytes, 4 * MIB);
  });

  it("keep a guest waiting for a peer that reads slowly, and give room when it has read", async (t) => {
    const { port, sockets } = await serveTcp(t, (socket) => socket.pause());
    const { wire, run, guest } = await openNetwork(t, { ports: [port] });
    const stream = wire.open(run.id, "127.0.0.1", port);
    await stream.opened;
    const bytes = Buffer.alloc(20 * MIB, "x");
    const sent = stream.send(bytes);
    await stream.stuck();
    let heard = 0;
    sockets[0]!.on("data", (chunk: Buffer) => (heard += chunk.length)).resume();
    assert.equal(await sent, true);
    stream.end();
    await once(sockets[0]!, "end");
    assert.equal(heard, bytes.length);
    assert.equal(guest.ended, false);
  });

  it("carry 50 MB each way, whole, with little of it waiting in the service", async (t) => {
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

  it("share the guest's socket: no stream starves another", async (t) => {
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
  it("makes its peers wait, and its other frames are not far behind", async (t) => {
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
    // The kernel takes some first. Then what waits in the service no longer changes, however much the peers send.
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

  it("is ended when it asks for ever more answers", async (t) => {
    const { guest, puppet, run } = await openNetwork(t);
    puppet.stopReading();
    for (let id = 1; !guest.ended; id++) {
      // Its run is none, and each attempt is answered; 100 of them a turn are not yet a flood by their number.
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
