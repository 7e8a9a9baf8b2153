import type { Socket } from "node:net";

import { clientSite } from "../client-site.ts";
import { FairShare, type Hold } from "./fair-share.ts";
import type { RequestTurns } from "./request-turns.ts";

/** The bytes that are parsed at once: 300 requests of 27 bytes take about 5 ms. */
const PIECE_BYTES = 8 << 10;
/**
 * The memory of all bytes that wait for their turn. Each connection has at most one read of the kernel, 64 KiB, but a client
 * without a token can have thousands of connections.
 */
const MAX_BYTES = 128 << 20;

/** What a connection needs to know about its client. */
export interface PieceOwner {
  /** The network of the client, as far as it is known before the bytes are parsed. */
  readonly networkOf: (bytes: Buffer) => string;
}

/**
 * Passes the bytes of connections on in pieces, which take turns with those of other connections.
 *
 * Node parses all bytes of a 64 KiB read before it waits for answers, even after the connection is destroyed. Heads
 * without a token would occupy the only thread for a tenth of a second, and for half a second on a hundred connections. The
 * records of TLS take longer than heads: a record without data, which changes the key, costs 5 µs for its 27 bytes, and the
 * first message of a handshake costs a signature.
 */
export class Pieces {
  readonly #turns: RequestTurns;
  readonly #waiting: FairShare;

  constructor(turns: RequestTurns, maxBytes: number = MAX_BYTES) {
    this.#turns = turns;
    this.#waiting = new FairShare(maxBytes);
  }

  /** @param socket a TCP connection whose bytes are read as a stream, and not by Node's parser directly */
  attach(socket: Socket, { networkOf }: PieceOwner): void {
    const push = socket.push.bind(socket);
    // oxlint-disable-next-line no-underscore-dangle -- the method of Node's streams that sources implement
    const read = socket._read.bind(socket);
    const pieces: (Buffer | null)[] = [];
    let network = "";
    /** Whether the stream wants more after the latest piece. */
    let wantsMore = true;
    let hold: Hold | null = null;
    const release = (): void => {
      hold?.release();
      hold = null;
    };
    const first = (): string => (network = networkOf(pieces[0] ?? EMPTY));
    const later = (): string => network || first();
    const passFirst = (): void => {
      const piece = pieces.shift()!;
      if (pieces.length === 0) release();
      if (socket.destroyed) return;
      wantsMore = push(piece);
      // As Node does after the end, so that the end is emitted although nothing more is read.
      if (piece === null) socket.read(0);
      if (pieces.length > 0) this.#turns.parse(socket, later, passFirst);
    };
    socket.push = (chunk: Buffer | null) => {
      const isWaiting = pieces.length > 0;
      if (chunk === null || chunk.length <= PIECE_BYTES) pieces.push(chunk);
      else for (let at = 0; at < chunk.length; at += PIECE_BYTES) pieces.push(chunk.subarray(at, at + PIECE_BYTES));
      if (!isWaiting) this.#turns.parse(socket, first, passFirst);
      if (chunk !== null && pieces.length > 0) {
        hold ??= this.#waiting.hold(clientSite(later()), () => socket.destroy());
        hold.grow(chunk.length);
      }
      return pieces.length === 0 && wantsMore;
    };
    // The stream asks for more after each piece. Nothing is read from the kernel while pieces wait.
    // oxlint-disable-next-line no-underscore-dangle -- as above
    socket._read = (size) => {
      if (pieces.length === 0) read(size);
    };
    socket.once("close", release);
  }
}

const EMPTY = Buffer.alloc(0);
