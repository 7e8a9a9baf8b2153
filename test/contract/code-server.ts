import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/** A server that `task_url` can name. */
export interface CodeServer {
  readonly url: string;
  readonly address: string;
  /** The requests, oldest first. */
  readonly requests: readonly IncomingMessage[];
  close(): Promise<void>;
}

/** Starts a server on a free port of 127.0.0.1. */
export async function serveCode(answer: RequestListener): Promise<CodeServer> {
  const requests: IncomingMessage[] = [];
  const server: Server = createServer((request, response) => {
    requests.push(request);
    answer(request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: `http://${address}`,
    address,
    requests,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A server that has an address, and no answers yet. */
export interface ReservedServer extends Pick<CodeServer, "address" | "close"> {
  open(answer: RequestListener): CodeServer;
}

const answersNothing: RequestListener = (_, response) => void response.writeHead(503).end();

export async function reserveServer(): Promise<ReservedServer> {
  let answer = answersNothing;
  const server = await serveCode((request, response) => answer(request, response));
  return {
    address: server.address,
    close: () => server.close(),
    open: (given) => {
      answer = given;
      return server;
    },
  };
}

/** Returns an address on which no server listens any more. */
export async function closedAddress(): Promise<string> {
  const server = await serveCode(() => {});
  await server.close();
  return server.address;
}
