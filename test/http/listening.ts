import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { TestContext } from "node:test";

export type Exchange = [request: IncomingMessage, response: ServerResponse];

/** Starts a real HTTP server for one test. @returns the port of the server */
export async function listening(
  t: TestContext,
  handlers: { connection?: (socket: Socket) => void; request?: RequestListener; checkContinue?: RequestListener },
): Promise<number> {
  const server = createServer({ requireHostHeader: false });
  for (const [event, handler] of Object.entries(handlers)) server.on(event, handler);
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}
