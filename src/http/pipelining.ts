import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** The most requests of one connection that have begun and are not answered. */
const MAX_UNANSWERED = 32;
/** The bytes that Node parses at once: 300 requests of 27 bytes take about 5 ms. */
const PIECE_BYTES = 8 << 10;

/**
 * Closes connections on which a client sends many requests before it reads the answers (RFC 9112, section 9.3.2). When
 * a connection closes, ends its answers that wait for earlier answers.
 *
 * Node parses all bytes of a 64 KiB read before it waits for answers, even after the connection is destroyed. Two
 * thousand requests of 27 bytes, without a token, would occupy the only thread for 50 ms and more. So this class passes
 * a read to Node in pieces. Pieces that follow the piece that closed the connection are not parsed.
 */
export class Pipelining {
  readonly #unanswered = new WeakMap<Socket, Set<ServerResponse>>();

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
    const push = socket.push.bind(socket);
    socket.push = (chunk: Buffer | null) => {
      if (chunk === null || chunk.length <= PIECE_BYTES) return push(chunk);
      let wantsMore = true;
      for (let at = 0; at < chunk.length && !socket.destroyed; at += PIECE_BYTES) {
        wantsMore = push(chunk.subarray(at, at + PIECE_BYTES));
      }
      return wantsMore;
    };
  }

  /** @returns false if the connection is closed; then the request must not be served */
  admits({ socket }: IncomingMessage, response: ServerResponse): boolean {
    if (socket.destroyed) return false;
    const unanswered = this.#unanswered.get(socket)!;
    if (unanswered.size === MAX_UNANSWERED) {
      socket.destroy();
      return false;
    }
    unanswered.add(response);
    response.once("close", () => unanswered.delete(response));
    return true;
  }
}
