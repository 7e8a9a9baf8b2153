import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";

import { transportOf } from "./tls-in-turns.ts";

/**
 * The listeners of one event of an answer. Each part that holds something for an answer releases it at its end; a stream has eleven.
 * Above ten, Node writes a warning to stderr, which no level of the log and no share of a token bounds.
 */
const MAX_LISTENERS = 32;

interface Connection {
  /** The TCP socket. */
  readonly socket: Socket;
  /** The number of its requests that are not answered. */
  unanswered: number;
  /** When the connection was opened, or when its latest request was answered, on the clock of `performance.now()`. */
  unusedSinceMs: number;
}

/**
 * The open connections of a server, with the requests under way on each. Node's `closeIdleConnections` ends only connections
 * whose client has sent a complete request before and nothing since. It spares TLS handshakes and unfinished heads, and Node
 * stops its check of `headersTimeout` when the server is closed. So one client without a token could delay a stop.
 */
export class OpenConnections {
  readonly #open = new Set<Connection>();
  readonly #bySocket = new WeakMap<Socket, Connection>();

  constructor(server: Server) {
    server.on("connection", (socket: Socket) => this.#opened(socket));
    for (const event of ["request", "checkContinue", "checkExpectation"]) {
      server.on(event, (request: IncomingMessage, response: ServerResponse) => this.#requested(request, response));
    }
  }

  /** Ends the connections that have had no request under way for at least this time. */
  endUnused(unusedMs: number): void {
    const sinceMs = performance.now() - unusedMs;
    for (const { socket, unanswered, unusedSinceMs } of this.#open) {
      if (unanswered === 0 && unusedSinceMs <= sinceMs) socket.destroy();
    }
  }

  #opened(socket: Socket): void {
    // A connection above the share of its network is closed already.
    if (socket.destroyed) return;
    const connection: Connection = { socket, unanswered: 0, unusedSinceMs: performance.now() };
    this.#open.add(connection);
    this.#bySocket.set(socket, connection);
    socket.once("close", () => this.#open.delete(connection));
  }

  #requested({ socket }: IncomingMessage, response: ServerResponse): void {
    response.setMaxListeners(MAX_LISTENERS);
    const connection = this.#bySocket.get(transportOf(socket));
    if (!connection) return;
    connection.unanswered++;
    response.once("close", () => {
      connection.unanswered--;
      connection.unusedSinceMs = performance.now();
    });
  }
}
