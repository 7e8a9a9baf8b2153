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
  readonly #unanswered = new WeakMap<Socket, Unanswered>();
  readonly #requests: Pick<RequestShare, "begin" | "end">;
  /** One function for all responses, which Node calls with the response as `this`. */
  readonly #onClose: (this: ServerResponse) => void;

  /** @param requests counts the requests of each client network until their answers are closed */
  constructor(requests: Pick<RequestShare, "begin" | "end">) {
    this.#requests = requests;
    const all = this.#unanswered;
    this.#onClose = function () {
      // The event comes twice if the connection closes first.
      const network = all.get(this.req.socket)?.take(this);
      if (typeof network === "string") requests.end(network);
    };
  }

  /** @param socket the socket from which Node's HTTP server reads: with TLS, the decrypted socket */
  attach(socket: Socket): void {
    const unanswered = new Unanswered();
    this.#unanswered.set(socket, unanswered);
    // Node reports the close only to the answer that it is sending. The other answers and their runs would never end.
    socket.once("close", () => {
      // A copy, because an answer that is closed leaves the list.
      for (const response of [...unanswered.responses]) if (response.socket === null) response.destroy().emit("close");
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
    if (unanswered.responses.length === MAX_UNANSWERED) {
      socket.destroy();
      return "closed";
    }
    const isCounted = this.#requests.begin(network);
    unanswered.add(response, isCounted ? network : null);
    // Not `once`, which costs more.
    response.on("close", this.#onClose);
    return isCounted ? "admitted" : "too many";
  }
}

/** The answers of a connection that are not closed. Not a Set: V8 copies a Set that is filled and emptied all the time. */
class Unanswered {
  readonly responses: ServerResponse[] = [];
  /** The network that each of them is counted for; null if it is not counted. */
  readonly #networks: (string | null)[] = [];

  add(response: ServerResponse, network: string | null): void {
    this.responses.push(response);
    this.#networks.push(network);
  }

  /** Removes an answer. @returns the network that it is counted for; null if there is none */
  take(response: ServerResponse): string | null {
    const at = this.responses.indexOf(response);
    if (at < 0) return null;
    // Most connections have one answer at a time, and `splice` makes an array.
    if (at === this.responses.length - 1) {
      this.responses.pop();
      return this.#networks.pop()!;
    }
    this.responses.splice(at, 1);
    return this.#networks.splice(at, 1)[0]!;
  }
}
