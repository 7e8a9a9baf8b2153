/** Holds connections to a service (see `SlowClients`), and sends a message when all have made their first step. */
import { connect, type Socket } from "node:net";

import { type Kind, NETWORKS, type SlowClientsOptions } from "./slow-clients.ts";

const { port, token, containers, idle, senders, readers } = JSON.parse(process.argv[2]!) as SlowClientsOptions;
const HEAD = `Host: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\n`;
const IDLE = `GET /healthz HTTP/1.1\r\n${HEAD}\r\n`;
/** More than the kernel buffers, and less than the limit of a result. */
const LARGE = `return "x".repeat(5e6);`;
const BYTE_MS = 1_000;
/** A body that arrives a byte at a time ends after the row. */
const BODY_BYTES = 100_000;
/** The number of client addresses of each kind. With so many, the share of one network limits none. */
const ADDRESSES = 16;

process.on("disconnect", () => process.exit());

let connecting = idle + senders + readers;

for (let at = 0; at < idle; at++) hold("idle", at, (socket) => socket.resume().write(IDLE));
for (let at = 0; at < senders; at++) {
  hold("senders", at, (socket) => {
    const head = `POST /api/run/slow0 HTTP/1.1\r\n${HEAD}`;
    socket.resume().write(at % 2 === 0 ? `${head}X-Slow: ` : `${head}Content-Length: ${BODY_BYTES}\r\n\r\n`);
    const timer = setInterval(() => socket.write("x"), BYTE_MS);
    socket.on("close", () => clearInterval(timer));
  });
}
for (let at = 0; at < readers; at++) {
  const head = `POST /api/run/slow${at % containers} HTTP/1.1\r\n${HEAD}Content-Length: ${LARGE.length}\r\n\r\n`;
  // Nothing is read from a connection without a listener for its data.
  hold("readers", at, (socket) => socket.write(head + LARGE));
}

/** Opens a connection. @param begin makes its first step */
function hold(kind: Kind, number: number, begin: (socket: Socket) => void): void {
  const localAddress = `127.0.${NETWORKS[kind]}.${2 + (number % ADDRESSES)}`;
  const socket = connect({ port, host: "127.0.0.1", localAddress });
  socket.on("connect", () => {
    begin(socket);
    if (--connecting === 0) process.send!("started");
  });
  socket.on("error", () => {});
}
