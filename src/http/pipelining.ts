import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

import type { RequestShare } from "./request-share.ts";

/** The most requests of one connection that have begun and are not answered. */
const MAX_UNANSWERED = 32;

/** What happens to a request that has arrived. */
export type Admission = "admitted" | "closed" | "too many";

/**
 * Closes connections on which a client sends many requests before it reads the answers (RFC 9112, section 9.3.2). When
 * a connection closes, ends its answers that wait for earlier answers.
 */
export class Pipelining {
  readonly #unanswered = new WeakMap<Socket, Set<ServerResponse>>();
  readonly #requests: Pick<RequestShare, "begin" | "end">;

  /** @param requests counts the requests of each client network until their answers are closed */
  constructor(requests: Pick<RequestShare, "begin" | "end">) {
    this.#requests = requests;
  }

  /** @param socket the socket from which Node's HTTP server reads: with TLS, the decrypted socket */
  attach(socket: Socket): void {
    const unanswered = new Set<ServerResponse>();
    this.#unanswered.set(socket, unanswered);
    // Node reports the close only to the answer that it is sending. The other answers and their runs would never end.
    socket.once("close", () => {
      for (const response of unanswered) if (response.socket === null) response.destroy().emit("close");
    });
    // Without a listener for data, Node's parser reads directly from the kernel and bypasses the stream.
    socket.on("data", () => {});
  }

  /**
   * Counts a request until its answer is closed.
   *
   * @param network the network of its client
   * @returns `closed` if the connection is closed; then the request must not be served. `too many` if the client has its
   *   share of the requests under way; then the request is not counted and must be refused.
   */
  admits({ socket }: IncomingMessage, response: ServerResponse, network: string): Admission {
    if (socket.destroyed) return "closed";
    const unanswered = this.#unanswered.get(socket)!;
    if (unanswered.size === MAX_UNANSWERED) {
      socket.destroy();
      return "closed";
    }
    unanswered.add(response);
    const isCounted = this.#requests.begin(network);
    // Not `once`, which costs more. The event comes twice if the connection closes first.
    response.on("close", () => {
      if (unanswered.delete(response) && isCounted) this.#requests.end(network);
    });
    return isCounted ? "admitted" : "too many";
  }
}
