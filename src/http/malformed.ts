import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

import { Problem } from "../errors.ts";
import { VERSION_HEADERS } from "./headers.ts";
import { headerHint, type ParserError } from "./malformed-header.ts";
import { problemAnswer } from "./problem.ts";

export const MAX_HEADER_BYTES: number = 16 * 2 ** 10;
/**
 * The most header fields of a request; browsers and proxies send some thirty. Each takes a hundred bytes of memory, however short
 * it is, and a connection keeps its latest head.
 */
export const MAX_HEADERS: number = 256;
/** How long a client may take to read the last answer of a connection, in milliseconds. */
const CLOSE_MS = 1_000;

/** The last response of a connection, and the response before it if that has not been sent completely; null if there is none. */
interface Exchange {
  response: ServerResponse | null;
  previous: ServerResponse | null;
}

/**
 * Answers requests that Node's HTTP parser rejects with a problem document. Then it closes the connection, because the
 * start of the next request cannot be determined. Answers to earlier requests of the connection are sent first, and
 * completely.
 */
export class MalformedRequests {
  /** By connection. Each object stays for the life of its connection: V8 copies a table that is filled and emptied all the time. */
  readonly #last = new WeakMap<Duplex, Exchange>();
  readonly #refused = new WeakSet<Duplex>();
  /** One function for all responses, which Node calls with the response as `this`. */
  readonly #onClose: (this: ServerResponse) => void;

  constructor() {
    const lasts = this.#last;
    this.#onClose = function () {
      const last = lasts.get(this.req.socket);
      if (last?.response !== this) return;
      // Otherwise each idle connection would keep its last request, and V8 would copy these requests at each collection.
      last.response = null;
      last.previous = null;
    };
  }

  /** Records a request. Must be called for each request before it is answered. */
  track({ socket }: IncomingMessage, response: ServerResponse): void {
    let last = this.#last.get(socket);
    if (!last) this.#last.set(socket, (last = { response: null, previous: null }));
    const before = last.response;
    // Node sends answers in order, so all earlier answers have been sent when the last answer has.
    last.previous = before && !before.closed ? before : null;
    last.response = response;
    response.on("close", this.#onClose);
  }

  /** @param error from Node's `clientError` event: an error of the parser, a timeout, or an error of the connection. */
  refuse(error: ParserError, socket: Duplex): void {
    if (!socket.writable || !isProtocolError(error)) return void socket.destroy();
    // The parser reports an error again for each chunk after the first malformed chunk.
    if (this.#refused.has(socket)) return;
    this.#refused.add(socket);
    const [status, reason, detail] = malformed(error);
    const hint = headerHint(error);
    const problem = new Problem("request_invalid", detail, { status, ...(hint !== null && { hint }) });
    this.#afterAnswers(socket, (broken) => {
      if (broken?.headersSent) close(socket);
      else answerRaw(socket, reason, problem);
    });
  }

  /** Answers `CONNECT` requests, for which Node removes its parser from the connection. */
  refuseConnect({ socket }: IncomingMessage): void {
    socket.on("error", () => {});
    socket.resume();
    const allow = "GET, POST, PUT, PATCH, DELETE, OPTIONS";
    const problem = new Problem("method_not_allowed", `the service is not a proxy; allowed methods: ${allow}`, {
      headers: { Allow: allow },
      hint: "Send the request to the service itself: remove the service from http_proxy and https_proxy, or from -x of curl.",
    });
    this.#afterAnswers(socket, () => answerRaw(socket, "Method Not Allowed", problem));
  }

  /**
   * Calls `then` after the earlier answers of the connection have been sent.
   *
   * @param then receives the response to the malformed request if the head of this request was valid; otherwise null
   */
  #afterAnswers(socket: Duplex, then: (broken: ServerResponse | null) => void): void {
    const { response = null, previous = null } = this.#last.get(socket) ?? {};
    if (!response || response.closed) return then(null);
    const isBroken = !response.req.complete;
    // A finished answer is sent even if the rest of its request is malformed.
    const pending = isBroken && !response.writableEnded ? previous : response;
    if (!pending || pending.closed) return then(isBroken ? response : null);
    const onClientEnd = (): unknown => socket.destroy();
    // As for any other request, a client that has closed its end of the connection does not wait for answers.
    if (socket.readableEnded) return void onClientEnd();
    socket.once("end", onClientEnd);
    pending.once("close", () => {
      socket.off("end", onClientEnd);
      if (socket.writable) then(isBroken ? response : null);
    });
  }
}

/** Returns false for errors of the connection, such as ECONNRESET and TLS errors: no request needs an answer. */
function isProtocolError({ code }: NodeJS.ErrnoException): boolean {
  return code !== undefined && (code.startsWith("HPE_") || code === "ERR_HTTP_REQUEST_TIMEOUT");
}

function malformed({ code, reason }: ParserError): [status: number, reason: string, detail: string] {
  // The parser reports this after the head, perhaps before the request begins and is refused with the same status.
  if (code === "HPE_INVALID_TRANSFER_ENCODING" && reason?.startsWith("Request has")) {
    return [501, "Not Implemented", "the last Transfer-Encoding is not chunked; only chunked is supported"];
  }
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return [
        431,
        "Request Header Fields Too Large",
        `the request has more than ${MAX_HEADER_BYTES} bytes of headers, or more than ${MAX_HEADERS} headers`,
      ];
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return [408, "Request Timeout", "the request did not arrive completely in time"];
    case "HPE_INVALID_METHOD":
      return [
        400,
        "Bad Request",
        "the method of the request is not one that HTTP defines; methods are in upper case, such as POST",
      ];
    default:
      return [400, "Bad Request", "the request is not valid HTTP/1.1"];
  }
}

function answerRaw(socket: Duplex, reason: string, problem: Problem): void {
  const { status, headers, body } = problemAnswer(problem);
  const all = [...headers, ...VERSION_HEADERS, "Content-Length", String(Buffer.byteLength(body))];
  let head = `HTTP/1.1 ${status} ${reason}\r\nConnection: close\r\n`;
  for (let index = 0; index < all.length; index += 2) head += `${all[index]}: ${all[index + 1]}\r\n`;
  close(socket, `${head}\r\n${body}`);
}

/** Closes a connection when the client has read all data that was written to it, or after `CLOSE_MS`. */
function close(socket: Duplex, last?: string): void {
  if (last === undefined) socket.end();
  else socket.end(last);
  // Node reports a broken connection once. Without this timer, a client without a token could keep the connection
  // forever by not closing its end.
  const timer = setTimeout(() => socket.destroy(), CLOSE_MS).unref();
  socket.once("close", () => clearTimeout(timer));
}
