import assert from "node:assert/strict";
import { once } from "node:events";
import type { Socket } from "node:net";
import { describe, it } from "node:test";

import { ConnectionShares } from "../../src/egress/connection-shares.ts";
import { FROM_GUEST } from "../../src/wire/messages.ts";
import { type Recorder, start } from "../containers/recorder.ts";
import { until } from "../contract/until.ts";
import { type Network, openNetwork, type PuppetStream, serveTcp, windowPayload } from "./puppet-network.ts";

const MIB = 2 ** 20;

/** Ends a run, and waits until the service has processed the end. */
async function finish({ puppet }: Network, run: Recorder): Promise<void> {
  puppet.say(FROM_GUEST.result, run.id, "0");
  await run.ended;
}

async function opened(network: Network, run: Recorder, port: number, count: number): Promise<PuppetStream[]> {
  const streams = Array.from({ length: count }, () => network.wire.open(run.id, "127.0.0.1", port));
  await Promise.all(streams.map((stream) => stream.opened));
  return streams;
}

describe("a run", () => {
  it("may have a limited number of open connections, and may open another after one has ended", async (t) => {
    const { port, sockets } = await serveTcp(t, (socket) => socket.on("end", () => socket.end()).resume());
    const network = await openNetwork(t, { ports: [port], limits: { connections: 3 } });
    const { wire, run, egress } = network;
    const [first] = await opened(network, run, port, 3);
    const fault = await wire.open(run.id, "127.0.0.1", port).broke;
    assert.equal(fault.code, "EGRESS_DENIED");
    assert.match(fault.message, /has 3 open connections, the maximum \(--egress-connections\)/);
    // Another run has its own limit.
    const other = start(network.guest, "2");
    await opened(network, other, port, 3);
    first!.reset();
    await once(sockets[0]!, "close");
    await opened(network, run, port, 1);
    assert.deepEqual(egress.counts.refused, { limit: 1 });
  });

  it("pays nothing for code of ended runs, which has its own limit, and opens nothing when no run is in flight", async (t) => {
    const { port } = await serveTcp(t, (socket) => socket.resume());
    const network = await openNetwork(t, { ports: [port], limits: { connections: 2 } });
    const { wire, run, guest } = network;
    const next = start(guest, "2");
    await opened(network, run, port, 1);
    await finish(network, run);
    // The limits of the run that has ended, and of one more.
    await opened(network, run, port, 4);
    const fault = await wire.open(run.id, "127.0.0.1", port).broke;
    assert.match(fault.message, /code of ended runs has 4 open connections, the maximum/);
    await opened(network, next, port, 2);
    await finish(network, next);
    assert.match((await wire.open(next.id, "127.0.0.1", port).broke).message, /no such run is in flight/);
  });

  it("leaves its limits to code of ended runs of its family, because pools reconnect in the contexts of ended runs", async (t) => {
    const network = await openNetwork(t);
    const { wire, run, guest } = network;
    start(guest, "2");
    const others = ["b", "b", "c"].map((family) => start(guest, "3", undefined, { family }));
    await wire.open(run.id, "10.0.0.1", 80).broke;
    for (const each of [run, ...others]) await finish(network, each);
    const refused = async (id: number): Promise<string> => (await wire.open(id, "10.0.0.1", 80).broke).message;
    const requested = async (id: number): Promise<number> => {
      for (let count = 0; count <= 5_000; count++) if (!(await refused(id)).includes("not public")) return count;
      return Infinity;
    };
    assert.equal(await requested(others[0]!.id), 3_000);
    assert.match(await refused(others[1]!.id), /code of ended runs has requested 3000 connections, the maximum/);
    assert.equal(await requested(others[2]!.id), 2_000);
    assert.equal(await requested(run.id), 2_000);
    // Code without a run counts for the family of the guest.
    assert.equal(await requested(0), 1_000);
  });

  it("may request a limited number of connections, refused ones included, so that it cannot scan ports", async (t) => {
    const network = await openNetwork(t);
    const { wire, run, guest } = network;
    for (let each = 0; each < 1_000; each++) {
      assert.match((await wire.open(run.id, "10.0.0.1", 80).broke).message, /not public/);
    }
    assert.match((await wire.open(run.id, "10.0.0.1", 80).broke).message, /has requested 1000 connections/);
    assert.match((await wire.open(start(guest, "2").id, "10.0.0.1", 80).broke).message, /not public/);
  });

  it("may look up a limited number of names, and its guest a limited number at a time", async (t) => {
    const { wire, run, guest } = await openNetwork(t, {
      resolver: async (name) => (name === "never.test" ? new Promise<never>(() => {}) : []),
    });
    for (let each = 0; each < 64; each++) void wire.lookup(run.id, "never.test");
    const full = await wire.lookup(run.id, "a.test");
    assert.ok("fault" in full && /64 lookups are in progress/.test(full.fault.message));

    const other = await openNetwork(t);
    for (let each = 0; each < 1_000; each++) await other.wire.lookup(other.run.id, "a.test");
    const last = await other.wire.lookup(other.run.id, "a.test");
    assert.ok("fault" in last && /has looked up 1000 names/.test(last.fault.message));
    assert.equal(guest.ended, false);
  });

  it("may send and receive a limited number of bytes in both directions together", async (t) => {
    const { port } = await serveTcp(t, (socket) => socket.pipe(socket));
    const network = await openNetwork(t, { ports: [port], limits: { bytes: MIB } });
    const { wire, run, egress } = network;
    const [stream, idle] = await opened(network, run, port, 2);
    void stream!.send(Buffer.alloc(MIB));
    const fault = await stream!.broke;
    assert.equal(fault.code, "EGRESS_DENIED");
    assert.match(fault.message, /the run has sent and received 1MiB, the maximum \(--egress-bytes\)/);
    assert.ok(egress.counts.bytes <= MIB + 65_536, `${egress.counts.bytes} bytes`);
    assert.equal((await wire.open(run.id, "127.0.0.1", port).broke).code, "EGRESS_DENIED");
    idle!.sendFrame("x");
    assert.equal((await idle!.broke).code, "EGRESS_DENIED");
    // The next run has its own limit.
    const other = start(network.guest, "2");
    const [next] = await opened(network, other, port, 1);
    next!.sendFrame("hello");
    await next!.has(5);
  });

  it("may keep a connection for a limited time, whatever its traffic", async (t) => {
    const { port, sockets } = await serveTcp(t, (socket) => socket.pipe(socket));
    const network = await openNetwork(t, { ports: [port], limits: { timeMs: 300 } });
    const [stream] = await opened(network, network.run, port, 1);
    stream!.onData = (bytes) => stream!.sendFrame(bytes);
    stream!.sendFrame("ball");
    const fault = await stream!.broke;
    assert.equal(fault.code, "EGRESS_DENIED");
    assert.match(fault.message, /was open for 300ms, the maximum \(--egress-time\)/);
    if (!sockets[0]!.destroyed) await once(sockets[0]!, "close");
  });

  it("waits for a connection no longer than the time limit of a connection", async (t) => {
    const { wire, run } = await openNetwork(t, { limits: { timeMs: 100 }, resolver: () => new Promise(() => {}) });
    const fault = await wire.open(run.id, "never.test", 443).broke;
    assert.deepEqual(
      [fault.code, fault.errno, fault.syscall, fault.port, fault.address],
      ["ETIMEDOUT", -110, "connect", 443, undefined],
    );
  });
});

describe("connections that outlive their run", () => {
  it("serve the next run of the guest, and use its limit of bytes", async (t) => {
    const { port } = await serveTcp(t, (socket) => socket.pipe(socket));
    const network = await openNetwork(t, { ports: [port], limits: { bytes: MIB } });
    const [pooled] = await opened(network, network.run, port, 1);
    await pooled!.send(Buffer.alloc(400_000));
    await pooled!.has(400_000);
    const next = start(network.guest, "2");
    await finish(network, network.run);
    // The first run has used 800,000 bytes of its 1 MiB; the second run has not used any of its bytes.
    network.puppet.say(FROM_GUEST.sender, pooled!.id, windowPayload(next.id));
    await pooled!.send(Buffer.alloc(400_000));
    await pooled!.has(800_000);
    const [own] = await opened(network, next, port, 1);
    void own!.send(Buffer.alloc(400_000));
    assert.match((await own!.broke).message, /the run has sent and received 1MiB, the maximum/);
  });

  it("use the bytes of the last run that sends on them, while their own run is in flight, too", async (t) => {
    const { port } = await serveTcp(t, (socket) => socket.pipe(socket));
    const network = await openNetwork(t, { ports: [port], limits: { bytes: MIB } });
    const [pooled] = await opened(network, network.run, port, 1);
    await pooled!.send(Buffer.alloc(400_000));
    await pooled!.has(400_000);
    const other = start(network.guest, "2");
    network.puppet.say(FROM_GUEST.sender, pooled!.id, windowPayload(other.id));
    await pooled!.send(Buffer.alloc(400_000));
    await pooled!.has(800_000);
    void pooled!.send(Buffer.alloc(400_000));
    await pooled!.broke;
    const [own] = await opened(network, network.run, port, 1);
    await own!.send(Buffer.alloc(100_000));
    await own!.has(100_000);
  });

  it("use the bytes of their own run for what they still receive, and are closed at its limit", async (t) => {
    const { port: source, sockets } = await serveTcp(t, (socket) => socket.resume());
    const { port: echo } = await serveTcp(t, (socket) => socket.pipe(socket));
    const network = await openNetwork(t, { ports: [source, echo], limits: { bytes: MIB } });
    const [left] = await opened(network, network.run, source, 1);
    const next = start(network.guest, "2");
    const [own] = await opened(network, next, echo, 1);
    await finish(network, network.run);
    sockets[0]!.write(Buffer.alloc(2 * MIB));
    const fault = await left!.broke;
    assert.match(fault.message, /the run has sent and received 1MiB, the maximum/);
    // The run in flight has its whole limit.
    await own!.send(Buffer.alloc(500_000));
    await own!.has(500_000);
  });

  it("are closed after some seconds without a run, and not while a run is in flight", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const { port, sockets } = await serveTcp(t, (socket) => socket.on("end", () => socket.end()).resume());
    const network = await openNetwork(t, { ports: [port] });
    const { wire, run, guest, egress } = network;
    const [pooled] = await opened(network, run, port, 1);
    await finish(network, run);
    t.mock.timers.tick(4_900);
    const second = start(guest, "2");
    t.mock.timers.tick(10_000);
    await finish(network, second);
    t.mock.timers.tick(4_900);
    assert.equal(egress.counts.open, 1);
    t.mock.timers.tick(200);
    assert.equal((await pooled!.broke).code, "ECONNRESET");
    if (!sockets[0]!.destroyed) await once(sockets[0]!, "close");
    assert.equal(egress.counts.open, 0);
    // The guest is alive, and connects again.
    const third = start(guest, "3");
    await wire.open(third.id, "127.0.0.1", port).opened;
  });

  it("are closed for the next run if the guest has its maximum of connections", async (t) => {
    const { port } = await serveTcp(t, (socket) => socket.resume());
    const network = await openNetwork(t, { ports: [port], limits: { connections: 256 } });
    const next = start(network.guest, "2");
    const old = await opened(network, network.run, port, 256);
    assert.match((await network.wire.open(next.id, "127.0.0.1", port).broke).message, /have 256 open connections/);
    await finish(network, network.run);
    await opened(network, next, port, 1);
    assert.equal((await old[0]!.broke).code, "ECONNRESET");
    assert.equal(network.egress.counts.open, 256);
  });
});

describe("the service", () => {
  it("limits the open connections of all guests together", async (t) => {
    const { port } = await serveTcp(t, (socket) => socket.resume());
    const connections = new ConnectionShares(64);
    const network = await openNetwork(t, { ports: [port], connections });
    for (let other = 0; other < 63; other++) connections.add(`other-${other}`);
    await opened(network, network.run, port, 1);
    const fault = await network.wire.open(network.run.id, "127.0.0.1", port).broke;
    assert.match(fault.message, /the service has its maximum of open connections/);
  });

  it("divides its connections between token families, whatever number of guests they have", async (t) => {
    const { port } = await serveTcp(t, (socket) => socket.on("end", () => socket.end()).resume());
    const connections = new ConnectionShares(40);
    const [one, two] = [
      await openNetwork(t, { ports: [port], connections }),
      await openNetwork(t, { ports: [port], connections }),
    ];
    await opened(one, one.run, port, 12);
    await opened(two, two.run, port, 8);
    const fault = await one.wire.open(one.run.id, "127.0.0.1", port).broke;
    assert.match(
      fault.message,
      /the token and its relatives have 20 open connections, and the service has 20 more for all others/,
    );
    assert.equal(connections.whyFull("another family"), null);
    two.puppet.kill();
    await until(() => connections.whyFull("") === null, "the connections of an ended guest are free");
    await opened(one, one.run, port, 1);
  });

  it("holds a limited number of bytes of one guest for peers that do not read", async (t) => {
    const { port } = await serveTcp(t, (socket) => socket.pause());
    const network = await openNetwork(t, { ports: [port], limits: { connections: 256, bytes: 4_096 * MIB } });
    const streams = await opened(network, network.run, port, 40);
    const sent = streams.map((stream) => stream.send(Buffer.alloc(16 * MIB)));
    const broken = await Promise.race(streams.map((stream) => stream.broke));
    assert.equal(broken.code, "EGRESS_DENIED");
    assert.match(broken.message, /8MiB of data wait for servers that do not read/);
    // The other streams wait, each with an exhausted window, and stay open.
    const waiting = streams.filter((stream) => stream.sendWindow <= 256);
    assert.ok(waiting.length >= 30, `${waiting.length} streams wait`);
    assert.equal(network.guest.ended, false);
    network.puppet.kill();
    void sent;
  });
});

describe("a server that accepts and resets many connections", () => {
  it("leaves no connection open in the service", async (t) => {
    const { port } = await serveTcp(t, (socket: Socket) => socket.resetAndDestroy());
    const network = await openNetwork(t, { ports: [port] });
    for (let round = 0; round < 5; round++) {
      const streams = Array.from({ length: 50 }, () => network.wire.open(network.run.id, "127.0.0.1", port));
      await Promise.all(streams.map((stream) => stream.broke));
    }
    assert.equal(network.egress.counts.open, 0);
  });
});
