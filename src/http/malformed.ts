import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

import { Problem } from "../errors.ts";
import { VERSION_HEADERS } from "./headers.ts";
import { problemAnswer } from "./problem.ts";

export const MAX_HEADER_BYTES: number = 16 * 2 ** 10;
/** The most header fields that Node's parser takes, whatever `maxHeaderSize` is. */
const MAX_HEADERS = 1_000;
/** How long the client may take to read the last answer of a connection. */
const CLOSE_MS = 1_000;

/** The last exchange of a connection, and the response before it if that one is not over. */
interface Exchange {
  readonly response: ServerResponse;
  readonly previous: ServerResponse | null;
}

/**
 * Refuses what the parser of HTTP refuses: answers it with a problem and closes the connection, because where the next
 * request begins cannot be known. The answers to earlier requests of the connection come first, and stay whole.
 */
export class MalformedRequests {
  readonly #last = new WeakMap<Duplex, Exchange>();
  readonly #refused = new WeakSet<Duplex>();

  /** Must be called for each request, before it is answered. */
  began({ socket }: IncomingMessage, response: ServerResponse): void {
    const last = this.#last.get(socket)?.response;
    // Node answers in order, so that the last one is over only after all others.
    this.#last.set(socket, { response, previous: last && !last.closed ? last : null });
  }

  /** @param error of Node's `clientError`: of the parser, of a timeout, or of the connection itself. */
  refuse(error: NodeJS.ErrnoException, socket: Duplex): void {
    if (!socket.writable || !isOfProtocol(error)) return void socket.destroy();
    // The parser reports each chunk that follows the first malformed one.
    if (this.#refused.has(socket)) return;
    this.#refused.add(socket);
    const [status, reason, detail] = malformed(error.code);
    const problem = new Problem("request_invalid", detail, { status });
    this.#afterAnswers(socket, (broken) => {
      if (broken?.headersSent) close(socket);
      else answerRaw(socket, reason, problem);
    });
  }

  /** `CONNECT`, for which Node gives up the connection's parser. */
  refuseConnect({ socket }: IncomingMessage): void {
    socket.on("error", () => {});
    socket.resume();
    const allow = "GET, POST, PUT, PATCH, DELETE, OPTIONS";
    const problem = new Problem("method_not_allowed", `the service is no proxy; ${allow} apply`, {
      headers: { Allow: allow },
    });
    this.#afterAnswers(socket, () => answerRaw(socket, "Method Not Allowed", problem));
  }

  /** @param then gets the response whose request is the malformed one, if its head was good. */
  #afterAnswers(socket: Duplex, then: (broken: ServerResponse | null) => void): void {
    const last = this.#last.get(socket);
    if (!last || last.response.closed) return then(null);
    const { response, previous } = last;
    const isBroken = !response.req.complete;
    // An answer that is made is sent also if the rest of its request is malformed.
    const awaited = isBroken && !response.writableEnded ? previous : response;
    if (!awaited || awaited.closed) return then(isBroken ? response : null);
    const left = (): unknown => socket.destroy();
    // As for any other request: a client that has closed its end does not wait for answers.
    if (socket.readableEnded) return void left();
    socket.once("end", left);
    awaited.once("close", () => {
      socket.off("end", left);
      if (socket.writable) then(isBroken ? response : null);
    });
  }
}

/** Errors of a connection, such as ECONNRESET and those of TLS, are no requests. */
function isOfProtocol({ code }: NodeJS.ErrnoException): boolean {
  return code !== undefined && (code.startsWith("HPE_") || code === "ERR_HTTP_REQUEST_TIMEOUT");
}

function malformed(code: string | undefined): [status: number, reason: string, detail: string] {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return [
        431,
        "Request Header Fields Too Large",
        `the headers are longer than ${MAX_HEADER_BYTES} bytes, or more than ${MAX_HEADERS}`,
      ];
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return [408, "Request Timeout", "the request did not come whole in time"];
    default:
      return [400, "Bad Request", "the request is not HTTP/1.1"];
  }
}

function answerRaw(socket: Duplex, reason: string, problem: Problem): void {
  const { status, headers, body } = problemAnswer(problem);
  const all = [...headers, ...VERSION_HEADERS, "Content-Length", String(Buffer.byteLength(body))];
  let head = `HTTP/1.1 ${status} ${reason}\r\nConnection: close\r\n`;
  for (let index = 0; index < all.length; index += 2) head += `${all[index]}: ${all[index + 1]}\r\n`;
  close(socket, `${head}\r\n${body}`);
}

/** Closes a connection when the client has read what was written to it, or after a while. */
function close(socket: Duplex, last?: string): void {
  if (last === undefined) socket.end();
  else socket.end(last);
  // Node reports a connection once. A client that does not close its end would keep it for ever, and needs no token.
  const timer = setTimeout(() => socket.destroy(), CLOSE_MS).unref();
  socket.once("close", () => clearTimeout(timer));
}
