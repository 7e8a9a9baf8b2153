import type { IncomingMessage, ServerResponse } from "node:http";

import { isDribble } from "./byte-collector.ts";

/** How much of a body that nobody wants is read, so that its sender sees the answer instead of a reset connection. */
const DISCARD_BYTES = 256 * 2 ** 20;
const DISCARD_MS = 10_000;

/** Whether the request announces a body (RFC 9112, section 6). */
export function hasBody(request: IncomingMessage): boolean {
  const { "content-length": length, "transfer-encoding": encoding } = request.headers;
  return encoding !== undefined || (length !== undefined && length !== "0");
}

/**
 * Keeps a client that asked whether its body is wanted (RFC 9110, section 10.1.1) waiting until somebody reads it. Where
 * nobody does, the answer stands in for `100 Continue`; whether the body still comes is then unknown, and the connection ends.
 */
export function expectBody(response: ServerResponse): void {
  response.setHeader("Connection", "close");
}

/**
 * Ends an answer whose request may not have been read to its end. The answer goes out at once; the connection stays until the rest of the body
 * has run out, within bounds, because a client that is still sending would see it reset and never read the answer.
 */
export function endAnswer(response: ServerResponse, body: string): void {
  if (!hasRest(response.req)) return void response.end(body);
  response.write(body);
  discardBody(response.req, () => response.end());
}

/** Makes an answer that others end do so as `endAnswer` does. */
export function lingerAtEnd(response: ServerResponse): void {
  const end = response.end.bind(response) as (...words: unknown[]) => ServerResponse;
  response.end = (...words: unknown[]) => {
    if (!hasRest(response.req)) return end(...words);
    if (typeof words[0] === "string" || words[0] instanceof Uint8Array) response.write(words[0]);
    discardBody(response.req, () => end());
    return response;
  };
}

/** Lets what nobody has read of a body run out once the answer is made: the connection may be used again. */
export function discardRest(response: ServerResponse): void {
  response.once("finish", () => discardBody(response.req, () => {}));
}

/** Says that the body is wanted, to a client that asked before it sends it. */
export function wantBody(request: IncomingMessage, response: ServerResponse): void {
  if (request.headers.expect === undefined) return;
  response.removeHeader("Connection");
  response.writeContinue();
  // From now on it comes, like that of any other.
  delete request.headers.expect;
}

/** Of a body in one turn of the event loop: what Node reads from the kernel at once. */
const BYTES_A_TURN = 65_536;

/**
 * Stops reading a body for the rest of a turn of the event loop when so much of it was read. Node would read up to 2 MiB of
 * each connection in one turn: 30 connections that send as fast as they can would make every other caller wait for 60 MiB.
 */
export function readInTurns(request: IncomingMessage): void {
  let bytes = 0;
  let isWaiting = false;
  request.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes < BYTES_A_TURN || isWaiting) return;
    isWaiting = true;
    request.pause();
    setImmediate(() => {
      bytes = 0;
      isWaiting = false;
      request.resume();
    });
  });
}

/** Lets what is left of a body run out, within bounds; beyond them the connection is cut. */
function discardBody(request: IncomingMessage, onEnd: () => void): void {
  if (!hasRest(request)) return;
  let bytes = 0;
  let chunks = 0;
  const cut = (): unknown => request.socket.destroy();
  const timer = setTimeout(cut, DISCARD_MS).unref();
  request.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    chunks += 1;
    if (bytes > DISCARD_BYTES || isDribble(chunks, bytes)) cut();
  });
  readInTurns(request);
  request.on("end", onEnd);
  request.on("close", () => clearTimeout(timer));
  request.resume();
}

/** A body that waits for `100 Continue` and did not get it does not come. */
function hasRest(request: IncomingMessage): boolean {
  return !request.complete && !request.destroyed && hasBody(request) && request.headers.expect === undefined;
}
