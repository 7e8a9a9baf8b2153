import type { ClientRequest, IncomingMessage } from "node:http";
import type { Socket } from "node:net";

import { FetchFault } from "./fetch-fault.ts";

/** The most interim answers, such as 103, before an answer. */
const MAX_INTERIM = 16;
/** A body may have this many pieces of any size. Further ones must have at least `LEAST_BYTES` on average. */
const MAX_SMALL_PIECES = 1_024;
const LEAST_BYTES = 64;
/** The bytes that Node parses at once. It parses a whole read, which has thousands of pieces, even after the connection is destroyed. */
const PARSED_BYTES = 4_096;

/**
 * Ends a connection whose server makes much work with few bytes. Each interim answer and each chunk of a body takes several calls of the
 * one thread, and all others wait while the service parses thousands of them.
 */
export function refuseSmallPieces(socket: Socket, sent: ClientRequest): void {
  parseInParts(socket);
  let interim = 0;
  sent.on("information", () => {
    if (++interim > MAX_INTERIM) socket.destroy(fault("too many interim answers"));
  });
  sent.prependOnceListener("response", (response) => refuseSmallChunks(response));
}

function refuseSmallChunks(response: IncomingMessage): void {
  const push = response.push.bind(response);
  let pieces = 0;
  let bytes = 0;
  response.push = (piece: Buffer | null) => {
    if (piece === null) return push(null);
    pieces += 1;
    bytes += piece.length;
    if (pieces <= MAX_SMALL_PIECES || bytes >= pieces * LEAST_BYTES) return push(piece);
    response.destroy(fault("its body in pieces that are too small"));
    return false;
  };
}

function parseInParts(socket: Socket): void {
  const push = socket.push.bind(socket);
  socket.push = (read: Buffer | null) => {
    if (read === null) return push(null);
    let isWanted = true;
    for (let at = 0; at < read.length && !socket.destroyed; at += PARSED_BYTES) {
      isWanted = push(read.subarray(at, at + PARSED_BYTES));
    }
    return isWanted;
  };
}

function fault(what: string): FetchFault {
  return new FetchFault("task_url_unreachable", `sends ${what}`);
}
