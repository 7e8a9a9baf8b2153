/** Holds connections to a service, and reports how many of them the service has not closed (see `SlowClients`). */
import { connect, type Socket } from "node:net";

import type { OpenConnections, SlowClientsOptions } from "./slow-clients.ts";

const options = JSON.parse(process.argv[2]!) as SlowClientsOptions;
const { port, token, container, addresses } = options;
const RUN = `POST /api/run/${container} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\n`;
const IDLE = "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
const LARGE = `return "x".repeat(1e6);`;
const BYTE_MS = 1_000;
const REPORT_MS = 250;
/** A body that arrives a byte at a time ends after the row. */
const BODY_BYTES = 100_000;

process.on("disconnect", () => process.exit());

const waiting = { idle: options.idle, senders: options.senders, readers: options.readers };
const open = { idle: 0, senders: 0, readers: 0 };
let next = 0;

for (let at = 0; at < options.idle; at++) {
  hold("idle", (socket) => {
    socket.write(IDLE);
    socket.resume();
  });
}
for (let at = 0; at < options.senders; at++) {
  hold("senders", (socket) => {
    socket.write(at % 2 === 0 ? RUN : `${RUN}Content-Length: ${BODY_BYTES}\r\n\r\n`);
    socket.resume();
    const timer = setInterval(() => socket.write("x"), BYTE_MS);
    socket.on("close", () => clearInterval(timer));
  });
}
for (let at = 0; at < options.readers; at++) {
  // Without a listener for its data nothing is read from the connection.
  hold("readers", (socket) => socket.write(`${RUN}Content-Length: ${LARGE.length}\r\n\r\n${LARGE}`));
}
setInterval(report, REPORT_MS);

/** Opens a connection from the next address. @param begin makes its first step */
function hold(kind: keyof typeof open, begin: (socket: Socket) => void): void {
  const socket = connect({ port, host: "127.0.0.1", localAddress: `127.0.0.${2 + (next++ % addresses)}` });
  let isOpen = false;
  socket.on("connect", () => {
    isOpen = true;
    waiting[kind]--;
    open[kind]++;
    begin(socket);
  });
  socket.on("error", () => {});
  socket.on("close", () => {
    if (isOpen) open[kind]--;
    else waiting[kind]--;
  });
}

function report(): void {
  const started = Object.values(waiting).every((count) => count === 0);
  process.send!({ started, ...open } satisfies OpenConnections);
}
