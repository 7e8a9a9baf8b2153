import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/**
 * Of one connection, begun and not answered. Node parses all that a read brought before it waits for answers: two thousand
 * requests of 27 bytes, without a token, would keep the one thread busy for half a second.
 */
const MAX_UNANSWERED = 32;

/** Closes connections that send many requests ahead of their answers (RFC 9112, section 9.3.2). */
export class Pipelining {
  readonly #unanswered = new WeakMap<Socket, number>();

  /** @returns false where the connection is closed, and the request is not to be served. */
  admits({ socket }: IncomingMessage, response: ServerResponse): boolean {
    if (socket.destroyed) return false;
    const unanswered = (this.#unanswered.get(socket) ?? 0) + 1;
    if (unanswered > MAX_UNANSWERED) {
      socket.destroy();
      return false;
    }
    this.#unanswered.set(socket, unanswered);
    response.once("close", () => this.#unanswered.set(socket, this.#unanswered.get(socket)! - 1));
    return true;
  }
}
