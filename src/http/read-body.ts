import type { IncomingMessage, ServerResponse } from "node:http";

import { isFragmented } from "./byte-collector.ts";

/** The most bytes of an unused body that are discarded, so that its client receives the answer, not a reset. */
const DISCARD_BYTES = 256 * 2 ** 20;
/** The longest time in which an unused body is discarded. */
const DISCARD_MS = 10_000;

/** Whether the request announces a body (RFC 9112, section 6). */
export function hasBody(request: IncomingMessage): boolean {
  const { "content-length": length, "transfer-encoding": encoding } = request.headers;
  return encoding !== undefined || (length !== undefined && length !== "0");
}

/**
 * Prepares the answer to a request with `Expect: 100-continue` (RFC 9110, section 10.1.1), whose client waits until
 * `wantBody` is called. If it is never called, the client receives the answer without `100 Continue`. The service then
 * cannot know whether the client still sends its body, so the connection ends.
 */
export function expectBody(response: ServerResponse): void {
  response.setHeader("Connection", "close");
}

/**
 * Ends an answer whose request body may not have been read completely. The answer is sent at once. The connection stays
 * open until the rest of the body has been discarded, within limits. Otherwise a client that is still sending would see
 * a reset connection and never read the answer.
 */
export function endAnswer(response: ServerResponse, body: string): void {
  if (!hasRest(response.req)) return void response.end(body);
  response.write(body);
  discardBody(response.req, () => response.end());
}

/** Makes `response.end` work as `endAnswer` does, for answers that other code ends. */
export function lingerAtEnd(response: ServerResponse): void {
  const end = response.end.bind(response) as (...args: unknown[]) => ServerResponse;
  response.end = (...args: unknown[]) => {
    if (!hasRest(response.req)) return end(...args);
    if (typeof args[0] === "string" || args[0] instanceof Uint8Array) response.write(args[0]);
    discardBody(response.req, () => end());
    return response;
  };
}

/** Discards the unread rest of a body when the answer is complete, so that the client can use the connection again. */
export function discardRest(response: ServerResponse): void {
  response.once("finish", () => discardBody(response.req, () => {}));
}

/** Sends `100 Continue` to a client that waits for it before it sends the body. */
export function wantBody(request: IncomingMessage, response: ServerResponse): void {
  if (request.headers.expect === undefined) return;
  response.removeHeader("Connection");
  response.writeContinue();
  // From now on the request is like any other request with a body.
  delete request.headers.expect;
}

/** The most bytes of a body in one turn of the event loop: as many as Node reads from the kernel at once. */
const BYTES_A_TURN = 65_536;

/**
 * Pauses a body for the rest of a turn of the event loop after `BYTES_A_TURN`. Node would read up to 2 MiB from each
 * connection in one turn, so 30 fast connections would make all other callers wait until 60 MiB are read.
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

/** Reads and discards the rest of a body. Closes the connection if the body exceeds the limits. */
function discardBody(request: IncomingMessage, onEnd: () => void): void {
  if (!hasRest(request)) return;
  let bytes = 0;
  let chunks = 0;
  const cut = (): unknown => request.socket.destroy();
  const timer = setTimeout(cut, DISCARD_MS).unref();
  request.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    chunks += 1;
    if (bytes > DISCARD_BYTES || isFragmented(chunks, bytes)) cut();
  });
  readInTurns(request);
  request.on("end", onEnd);
  request.on("close", () => clearTimeout(timer));
  request.resume();
}

/** Whether a part of the body has not been read. A client that waits for `100 Continue` sends no body. */
function hasRest(request: IncomingMessage): boolean {
  return !request.complete && !request.destroyed && hasBody(request) && request.headers.expect === undefined;
}
