import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import { connect, type Socket } from "node:net";
import { describe, it, type TestContext } from "node:test";

import { AcceptQueue, waitingConnections } from "../../src/http/accept-queue.ts";
import { ConnectionRate } from "../../src/http/connection-rate.ts";
import { Intake } from "../../src/http/intake.ts";
import { Proxies } from "../../src/http/proxies.ts";
import { until } from "../contract/until.ts";

/** Opens connections, which wait in the kernel until the thread is free to accept them. */
type Opening = (from: string, count: number) => Socket[];

function opening(t: TestContext, port: number): Opening {
  return (localAddress, count) =>
    Array.from({ length: count }, () => {
      const socket = connect({ port, host: "127.0.0.1", localAddress });
      socket.on("error", () => {});
      t.after(() => socket.destroy());
      return socket;
    });
}

function isOpen(socket: Socket): boolean {
  return !socket.connecting && !socket.destroyed;
}

async function listening(t: TestContext, server: Server, host = "127.0.0.1"): Promise<number> {
  await new Promise<void>((resolve) => server.listen({ port: 0, host, backlog: 4_096 }, resolve));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as { port: number }).port;
}

describe("the queue of the kernel", () => {
  it("has the connections that were opened and not accepted", async (t) => {
    for (const host of ["127.0.0.1", "::"]) {
      const port = await listening(t, createServer(), host);
      const open = opening(t, port);
      assert.equal(waitingConnections(port), 0);
      const sockets = open("127.0.0.1", 300);
      // Node opens a connection in the next tick.
      await new Promise<void>((resolve) => process.nextTick(resolve));
      assert.equal(waitingConnections(port), 300, host);
      await until(
        () => waitingConnections(port) === 0 && sockets.every((socket) => !socket.connecting),
        "all are accepted",
      );
    }
  });

  it("is found among hundreds of other listening sockets", async (t) => {
    await Promise.all(Array.from({ length: 200 }, () => listening(t, createServer())));
    for (let each = 0; each < 5; each++) {
      const port = await listening(t, createServer());
      opening(t, port)("127.0.0.1", 10);
      await new Promise<void>((resolve) => process.nextTick(resolve));
      assert.equal(waitingConnections(port), 10);
    }
  });

  it("is long if the connections in it wait for more than 50 ms at the pace of the latest ones", async (t) => {
    const server = createServer();
    const port = await listening(t, server);
    let nowMs = 0;
    let waiting = 0;
    const asked: number[] = [];
    const readQueue = (asPort: number): number => {
      asked.push(asPort);
      return waiting;
    };
    const queue = new AcceptQueue(server, readQueue, () => nowMs);
    const accept = (connections: number, inMs: number, waitingNow: number): boolean => {
      waiting = waitingNow;
      let isLong = false;
      for (let count = 0; count < connections; count++) {
        nowMs += inMs / connections;
        isLong = queue.accepted();
      }
      return isLong;
    };
    assert.equal(accept(64, 16, 199), false);
    assert.equal(accept(64, 16, 201), true, "0.25 ms each");
    assert.equal(accept(64, 16, 1), false);
    assert.equal(accept(20, 40, 32), true, "2 ms each");
    assert.equal(accept(20, 40, 31), false, "too few");
    assert.deepEqual(new Set(asked), new Set([port]));
    assert.ok(asked.length <= 8, `${asked.length} reads`);
  });

  it("is not read for the few connections of a quiet server", async (t) => {
    const server = createServer();
    await listening(t, server);
    const queue = new AcceptQueue(
      server,
      () => assert.fail("read"),
      () => 0,
    );
    for (let each = 0; each < 7; each++) assert.equal(queue.accepted(), false);
  });
});

describe("the rate of connections", () => {
  it("is 500 a second for all networks of a site, and 1,000 at once", () => {
    let nowMs = 0;
    const rate = new ConnectionRate(() => nowMs);
    const admitted = (network: string, count: number): number =>
      Array.from({ length: count }, () => rate.admits(network)).filter(Boolean).length;
    assert.equal(admitted("192.0.2.1", 1_100), 1_000);
    assert.equal(admitted("192.0.2.2", 1), 1);
    assert.equal(admitted("2001:db8:1:1::/64", 600) + admitted("2001:db8:1:2::/64", 600), 1_000);
    for (let second = 0; second < 10; second++) {
      nowMs += 1_000;
      assert.equal(admitted("192.0.2.1", 1_100), 500, `second ${second}`);
    }
    nowMs += 60_000;
    assert.equal(admitted("192.0.2.1", 1_100), 1_000);
  });
});

async function serve(
  t: TestContext,
  trusted: readonly string[] = [],
): Promise<{ refused: [string, string][]; open: Opening }> {
  const refused: [string, string][] = [];
  const server = createServer();
  const intake = new Intake({
    proxies: new Proxies(trusted, () => {}),
    connections: { admits: () => true },
    requestShare: { begin: () => true, end: () => {} },
    onRefused: (...refusal) => refused.push(refusal),
  });
  intake.attach(server);
  server.on("request", (request, response) => {
    intake.arrived(request, response)?.begin(() => response.end("answer"));
  });
  return { refused, open: opening(t, await listening(t, server)) };
}

/** The number of connections that the server has not closed when it has accepted all. */
async function left(sockets: readonly Socket[]): Promise<number> {
  let answers = 0;
  for (const socket of sockets) {
    socket.on("data", () => (answers += 1));
    socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  }
  const ended = (): number => answers + sockets.filter((socket) => socket.destroyed).length;
  await until(() => ended() >= sockets.length, "each is answered or closed");
  return sockets.filter(isOpen).length;
}

describe("a client that opens more connections than the service accepts", () => {
  it("has those above its rate closed while many others wait, and those of others are served", async (t) => {
    const { refused, open } = await serve(t);
    const flood = open("127.0.0.7", 2_500);
    const others = open("127.0.0.8", 10);
    assert.equal(await left(others), 10);
    const kept = await left(flood);
    assert.ok(kept >= 1_000 && kept < 2_000, `${kept} of 2,500`);
    assert.equal(refused.length, 2_500 - kept);
    const why = "opens more than 500 in a second while others wait to be accepted";
    assert.ok(refused.every(([network, reason]) => network === "127.0.0.7" && reason === why));
  });

  it("keeps them if no others wait, or if it is a trusted proxy", async (t) => {
    const alone = await serve(t);
    for (let round = 0; round < 60; round++) assert.equal(await left(alone.open("127.0.0.7", 25)), 25);
    const proxied = await serve(t, ["127.0.0.7/32"]);
    assert.equal(await left(proxied.open("127.0.0.7", 1_500)), 1_500);
    assert.deepEqual([alone.refused, proxied.refused], [[], []]);
  });
});
