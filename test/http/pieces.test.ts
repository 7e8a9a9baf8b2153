import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { it, type TestContext } from "node:test";

import { Pieces } from "../../src/http/pieces.ts";
import { RequestTurns } from "../../src/http/request-turns.ts";
import { until } from "../contract/until.ts";

/** Turns in which nothing begins until `serve` is called. */
function heldTurns(): { turns: RequestTurns; serve: () => void } {
  const waiting: (() => void)[] = [];
  const turns = Object.assign(new RequestTurns(), {
    parse: (_: object, networkOf: () => string, work: () => void) => {
      networkOf();
      waiting.push(work);
    },
  });
  return { turns, serve: () => waiting.shift()?.() };
}

/** Starts a server whose connections from each address are a network. */
async function holding(t: TestContext, turns: RequestTurns, maxBytes: number): Promise<(from: string) => Socket> {
  const pieces = new Pieces(turns, maxBytes);
  const server = createServer((socket) => {
    pieces.attach(socket, { networkOf: () => socket.remoteAddress! });
    socket.on("error", () => {}).on("data", () => {});
    t.after(() => socket.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  return (localAddress) => {
    const socket = connect({ port, host: "127.0.0.1", localAddress });
    t.after(() => socket.destroy());
    socket.on("error", () => {}).resume();
    return socket;
  };
}

it("if the bytes that wait for their turn fill their memory, the network with the most loses its oldest connection", async (t) => {
  const { turns } = heldTurns();
  const open = await holding(t, turns, 200_000);
  const other = open("127.0.0.2");
  other.write("x".repeat(60_000));
  const many: Socket[] = [];
  for (let count = 0; count < 6; count++) {
    const socket = open("127.0.0.1");
    many.push(socket);
    socket.write("x".repeat(60_000));
  }
  await until(() => many.filter(({ closed }) => closed).length >= 3, "connections are closed");
  assert.equal(other.closed, false);
  assert.ok(many.some(({ closed }) => !closed));
});

it("bytes that wait are no longer counted when they have had their turn, or their connection is closed", async (t) => {
  const { turns, serve } = heldTurns();
  const timer = setInterval(serve, 1);
  t.after(() => clearInterval(timer));
  const open = await holding(t, turns, 200_000);
  const lasting = open("127.0.0.2");
  for (let round = 0; round < 20; round++) {
    lasting.write("x".repeat(60_000));
    const socket = open("127.0.0.1");
    await new Promise((resolve) => socket.write("x".repeat(60_000), resolve));
    socket.destroy();
  }
  await until(() => lasting.writableLength === 0, "all bytes are sent");
  assert.equal(lasting.closed, false);
});
