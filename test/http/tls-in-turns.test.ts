import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:https";
import { type AddressInfo, connect, type Socket } from "node:net";
import { it, type TestContext } from "node:test";
import { setImmediate } from "node:timers/promises";
import { connect as connectSecurely } from "node:tls";

import { Pieces } from "../../src/http/pieces.ts";
import { RequestTurns } from "../../src/http/request-turns.ts";
import { readTlsAsStreams, transportOf } from "../../src/http/tls-in-turns.ts";
import { until } from "../contract/until.ts";
import { SELF_SIGNED } from "../source/self-signed.ts";
import { keyUpdates, secured } from "./tls-records.ts";

/** Starts an HTTPS server that reads its connections in turns. It answers each request with the body. */
async function serving(t: TestContext, turns: RequestTurns): Promise<{ port: number; transports: Socket[] }> {
  const pieces = new Pieces(turns);
  const transports: Socket[] = [];
  const server = createServer(SELF_SIGNED, (request, response) => {
    assert.equal(transportOf(request.socket), transports.at(-1));
    request.pipe(response);
  });
  readTlsAsStreams(
    server,
    (transport) => {
      transports.push(transport);
      pieces.attach(transport, { networkOf: () => "network" });
    },
    () => {},
  );
  server.on("tlsClientError", () => {});
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.close();
    for (const transport of transports) transport.destroy();
  });
  return { port: (server.address() as AddressInfo).port, transports };
}

/** Sends a POST, and returns all that arrives until the server closes the connection. */
async function post(port: number, body: Buffer): Promise<string> {
  const socket = connectSecurely({ port, host: "127.0.0.1", rejectUnauthorized: false });
  socket.write(`POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n`);
  socket.write(body);
  let text = "";
  for await (const chunk of socket) text += (chunk as Buffer).toString("latin1");
  return text;
}

it("requests over TLS are served, small and large, and the body of the answer is complete", async (t) => {
  const { port } = await serving(t, new RequestTurns());
  for (const bytes of [0, 1, 100_000, 3_000_000]) {
    const answer = await post(port, Buffer.alloc(bytes, "a"));
    assert.match(answer, /^HTTP\/1\.1 200 OK\r\n/);
    assert.equal(answer.replaceAll(/[^a]/g, "").length >= bytes, true, String(bytes));
  }
});

it("no byte of a TLS connection is handled before its turn, so a handshake waits", async (t) => {
  const waiting: (() => void)[] = [];
  const turns = Object.assign(new RequestTurns(), {
    parse: (_: object, __: () => string, work: () => void) => void waiting.push(work),
  });
  const { port } = await serving(t, turns);
  const client = connect(port, "127.0.0.1");
  let isAnswered = false;
  client.on("data", () => (isAnswered = true));
  const socket = connectSecurely({ socket: client, rejectUnauthorized: false });
  t.after(() => socket.destroy());
  const isSecure = once(socket, "secureConnect");
  await until(() => waiting.length > 0, "the first message has arrived");
  // The server would answer in its next turns.
  for (let turn = 0; turn < 20; turn++) await setImmediate();
  assert.equal(isAnswered, false);
  const serve = setInterval(() => waiting.shift()?.(), 1);
  t.after(() => clearInterval(serve));
  await isSecure;
});

it("a client that sends records without data is disconnected, and one that sends a byte in each record is not", async (t) => {
  const { port, transports } = await serving(t, new RequestTurns());
  const bad = await secured(port);
  const closed = once(transports[0]!, "close");
  bad.transport.resume().write(keyUpdates(bad.secret, 100_000));
  await closed;

  const good = await secured(port);
  t.after(() => good.socket.destroy());
  good.socket.setNoDelay(true);
  good.socket.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10000\r\n\r\n");
  let received = "";
  good.socket.setEncoding("latin1").on("data", (text: string) => (received += text));
  for (let sent = 0; sent < 10_000; sent++) good.socket.write("a");
  await until(() => received.split("a").length > 10_000, "all bytes come back");
});
