import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Requests of one connection that are begun and not answered. */
const MAX_UNANSWERED = 32;
/** What Node parses at once: 300 requests of 27 bytes take about 5 ms. */
const PIECE_BYTES = 8 << 10;

/**
 * Closes connections that send many requests ahead of their answers (RFC 9112, section 9.3.2), and ends the answers that
 * wait for earlier ones with their connection.
 *
 * Node parses all that a read of 64 KiB brought before it waits for answers, also after the connection is destroyed: two
 * thousand requests of 27 bytes, without a token, would keep the one thread busy for 50 ms and more. So a read is handed
 * to Node in pieces, and what is behind the piece that closed the connection is not parsed.
 */
export class Pipelining {
  readonly #unanswered = new WeakMap<Socket, Set<ServerResponse>>();

  /** @param socket whose data Node's HTTP server reads: with TLS, the decrypted one. */
  meet(socket: Socket): void {
    const unanswered = new Set<ServerResponse>();
    this.#unanswered.set(socket, unanswered);
    // Node reports the close to the answer that has its turn only. The others would never end, nor the runs that make them.
    socket.once("close", () => {
      for (const response of unanswered) if (response.socket === null) response.destroy().emit("close");
    });
    // Without a listener for data, Node's parser reads from the kernel past the stream.
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

  /** @returns false where the connection is closed, and the request is not to be served. */
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
