import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Server as TlsServer } from "node:tls";

import { AcceptQueue } from "./accept-queue.ts";
import { clientNetwork } from "./address.ts";
import { ConnectionRate, RATE } from "./connection-rate.ts";
import type { ConnectionShare } from "./connection-share.ts";
import { Pieces } from "./pieces.ts";
import { Pipelining } from "./pipelining.ts";
import type { Proxies } from "./proxies.ts";
import type { RequestShare } from "./request-share.ts";
import { RequestTurns } from "./request-turns.ts";
import { readTlsAsStreams, transportOf } from "./tls-in-turns.ts";

interface IntakeDependencies {
  readonly proxies: Proxies;
  readonly connections: Pick<ConnectionShare, "admits">;
  readonly requestShare: Pick<RequestShare, "begin" | "end">;
  /** Called for each connection that is closed because of the rate of its network; it must limit its own work. */
  readonly onRefused: (network: string, why: string) => void;
}

/** A request that has arrived. */
export interface Arrival {
  /** Whether the client has its share of the requests under way, so that this request must be refused. */
  readonly isOneTooMany: boolean;
  /** Begins the request, now or in a later turn, unless its client leaves meanwhile. */
  readonly begin: (work: () => void) => void;
}

/**
 * Accepts the connections of all servers of the process. They have one thread, so bytes and requests of all of them take turns
 * together: a server without these turns would let one client without a token occupy the thread for seconds.
 */
export class Intake {
  readonly #proxies: Proxies;
  readonly #connections: IntakeDependencies["connections"];
  readonly #onRefused: IntakeDependencies["onRefused"];
  readonly #rate = new ConnectionRate();
  readonly #turns = new RequestTurns();
  readonly #pieces = new Pieces(this.#turns);
  readonly #pipelining: Pipelining;

  constructor({ proxies, connections, requestShare, onRefused }: IntakeDependencies) {
    this.#proxies = proxies;
    this.#onRefused = onRefused;
    this.#connections = connections;
    this.#pipelining = new Pipelining(requestShare);
  }

  /**
   * Makes a server read its connections in turns. Called before the server listens.
   *
   * @param ofServer limits the connections to this server further
   */
  attach(server: Server, ofServer: Pick<ConnectionShare, "admits"> | null = null): void {
    const queue = new AcceptQueue(server);
    const accept = (socket: Socket): void => {
      const othersWait = queue.accepted();
      this.#turns.accepted(othersWait);
      // The client has reset the connection before it was accepted.
      if (socket.remoteAddress === undefined) return void socket.destroy();
      this.#proxies.recordPeer(socket);
      const isAdmitted =
        this.#keepsRate(socket, othersWait) &&
        this.#connections.admits(socket) &&
        (ofServer === null || ofServer.admits(socket));
      if (!isAdmitted) return void socket.destroy();
      this.#pieces.attach(socket, { networkOf: (bytes) => this.#proxies.networkOfBytes(socket, bytes) });
    };
    if (server instanceof TlsServer) {
      readTlsAsStreams(server, accept, (socket, transport) => {
        this.#proxies.recordPeer(socket, transport);
        this.#pipelining.attach(socket);
      });
    } else {
      const [serve] = server.listeners("connection") as [(this: Server, socket: Socket) => void];
      server.off("connection", serve);
      server.on("connection", (socket: Socket) => {
        accept(socket);
        if (socket.destroyed) return;
        serve.call(server, socket);
        this.#pipelining.attach(socket);
      });
    }
  }

  /** @param othersWait whether others wait to be accepted. Otherwise a client may open as many connections as it can */
  #keepsRate(socket: Socket, othersWait: boolean): boolean {
    const network = this.#proxies.networkOf(socket);
    if (network === null || this.#rate.admits(network) || !othersWait) return true;
    this.#onRefused(network, `opens more than ${RATE} in a second while others wait to be accepted`);
    return false;
  }

  /** Counts a request until its answer is closed. @returns null if its connection is closed, so that it must not be served */
  arrived(request: IncomingMessage, response: ServerResponse): Arrival | null {
    const network = clientNetwork(this.#proxies.clientOf(request));
    const admission = this.#pipelining.admits(request, response, network);
    if (admission === "closed") return null;
    const { socket } = request;
    const begin = (work: () => void): void => {
      this.#turns.begin(
        transportOf(socket),
        () => network,
        // The client may have left while the request waited.
        () => void (socket.destroyed || work()),
      );
    };
    return { isOneTooMany: admission === "too many", begin };
  }
}
