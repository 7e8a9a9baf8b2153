import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Server as TlsServer, type TLSSocket } from "node:tls";

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
  /** The connections of a TLS server by their peer, because Node does not name the TCP socket of a TLS socket. */
  readonly #byPeer = new Map<string, Connection>();

  constructor(server: Server) {
    const isSecure = server instanceof TlsServer;
    server.on("connection", (socket: Socket) => this.#opened(socket, isSecure));
    server.on("secureConnection", (socket: TLSSocket) => this.#secured(socket));
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

  #opened(socket: Socket, isSecure: boolean): void {
    // A connection above the share of its network is closed already.
    if (socket.destroyed) return;
    const connection: Connection = { socket, unanswered: 0, unusedSinceMs: performance.now() };
    const peer = isSecure ? peerOf(socket) : null;
    this.#open.add(connection);
    this.#bySocket.set(socket, connection);
    if (peer !== null) this.#byPeer.set(peer, connection);
    socket.once("close", () => {
      this.#open.delete(connection);
      if (peer !== null && this.#byPeer.get(peer) === connection) this.#byPeer.delete(peer);
    });
  }

  #secured(socket: TLSSocket): void {
    const connection = this.#byPeer.get(peerOf(socket));
    if (connection) this.#bySocket.set(socket, connection);
  }

  #requested({ socket }: IncomingMessage, response: ServerResponse): void {
    const connection = this.#bySocket.get(socket);
    if (!connection) return;
    connection.unanswered++;
    response.once("close", () => {
      connection.unanswered--;
      connection.unusedSinceMs = performance.now();
    });
  }
}

function peerOf({ localAddress, remoteAddress, remotePort }: Socket): string {
  return `${localAddress} ${remoteAddress} ${remotePort}`;
}
