import { type IncomingMessage, request as httpRequest } from "node:http";
import type { Socket } from "node:net";

import { ENCODINGS } from "./response-body.ts";
import { refuseSmallPieces } from "./small-pieces.ts";

/**
 * Sends a GET over a connection that serves only this request, and waits for the head of the answer.
 *
 * @param conditions the headers of a conditional request. No other headers are added, because callers share the answer.
 */
export function requestHead(
  url: URL,
  socket: Socket,
  conditions: Readonly<Record<string, string>>,
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const request = httpRequest({
    createConnection: () => socket,
    method: "GET",
    path: url.pathname + url.search,
    headers: { Host: url.host, "User-Agent": "caisson", Accept: "*/*", "Accept-Encoding": ENCODINGS, ...conditions },
  });
  refuseSmallPieces(socket, request);
  request.once("response", resolve);
  request.on("error", reject);
  // A reply that is not an HTTP answer, for example a switch of protocols, closes the connection without an error.
  request.once("close", () => reject(Object.assign(new Error("closed before the answer"), { code: "ECONNRESET" })));
  request.end();
  return promise;
}
