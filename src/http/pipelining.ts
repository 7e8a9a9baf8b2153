import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

import { clientNetwork } from "./address.ts";
import type { RequestTurns } from "./request-turns.ts";

/** The most requests of one connection that have begun and are not answered. */
const MAX_UNANSWERED = 32;
/** The bytes that Node parses at once: 300 requests of 27 bytes take about 5 ms. */
const PIECE_BYTES = 8 << 10;

/**
 * Closes connections on which a client sends many requests before it reads the answers (RFC 9112, section 9.3.2). When
 * a connection closes, ends its answers that wait for earlier answers.
 *
 * Node parses all bytes of a 64 KiB read before it waits for answers, even after the connection is destroyed. Heads
 * without a token would occupy the only thread for a tenth of a second, and for half a second on a hundred connections. So
 * this class passes a read to Node in pieces, and the pieces take turns with those of other connections. Pieces that follow
 * the piece that closed the connection are not parsed.
 */
export class Pipelining {
  readonly #unanswered = new WeakMap<Socket, Set<ServerResponse>>();
  readonly #turns: RequestTurns;

  constructor(turns: RequestTurns) {
    this.#turns = turns;
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
    this.#parseInTurns(socket);
  }

  #parseInTurns(socket: Socket): void {
    const push = socket.push.bind(socket);
    // oxlint-disable-next-line no-underscore-dangle -- the method of Node's streams that sources implement
    const read = socket._read.bind(socket);
    const network = clientNetwork(socket.remoteAddress ?? "");
    const networkOf = (): string => network;
    const pieces: (Buffer | null)[] = [];
    /** Whether the stream wants more after the latest piece. */
    let wantsMore = true;
    const passFirst = (): void => {
      const piece = pieces.shift()!;
      if (socket.destroyed) return;
      wantsMore = push(piece);
      // As Node does after the end, so that the end is emitted although nothing more is read.
      if (piece === null) socket.read(0);
      // After the requests in this piece, so that few parsed requests wait.
      if (pieces.length > 0) this.#turns.begin(socket, networkOf, passFirst);
    };
    socket.push = (chunk: Buffer | null) => {
      const isWaiting = pieces.length > 0;
      if (chunk === null || chunk.length <= PIECE_BYTES) pieces.push(chunk);
      else for (let at = 0; at < chunk.length; at += PIECE_BYTES) pieces.push(chunk.subarray(at, at + PIECE_BYTES));
      if (!isWaiting) this.#turns.begin(socket, networkOf, passFirst);
      return pieces.length === 0 && wantsMore;
    };
    // The stream asks for more after each piece. Nothing is read from the kernel while pieces wait.
    // oxlint-disable-next-line no-underscore-dangle -- as above
    socket._read = (size) => {
      if (pieces.length === 0) read(size);
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
