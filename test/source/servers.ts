import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, createServer as createRawServer, type Server as RawServer, type Socket } from "node:net";
import type { TestContext } from "node:test";

import { SELF_SIGNED } from "./self-signed.ts";

/** Starts an HTTP server on 127.0.0.1 that ends with the test, and returns its port. */
export function serveHttp(context: TestContext, listener: RequestListener): Promise<number> {
  const server = createServer(listener);
  return listening(context, server, () => server.closeAllConnections());
}

/** Starts the same server with TLS and an untrusted certificate. */
export function serveHttps(context: TestContext, listener: RequestListener): Promise<number> {
  const server = createTlsServer(SELF_SIGNED, listener);
  return listening(context, server, () => server.closeAllConnections());
}

/** Starts a TCP server whose connections the test controls, to break HTTP. */
export function serveRaw(context: TestContext, onConnection: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createRawServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    onConnection(socket);
  });
  return listening(context, server, () => sockets.forEach((socket) => socket.destroy()));
}

/** Returns a port on which nothing listens. */
export async function closedPort(): Promise<number> {
  const server = createRawServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function listening(context: TestContext, server: Server | RawServer, cut: () => void): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  context.after(async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    cut();
    await closed;
  });
  return (server.address() as AddressInfo).port;
}
