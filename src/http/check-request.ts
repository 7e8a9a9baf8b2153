import type { IncomingMessage, ServerResponse } from "node:http";

import { Problem } from "../errors.ts";

/** uri-host and port of RFC 3986, section 3.2, either of which may be empty. */
const HOST = /^(?:\[[0-9A-Fa-f:.]+\]|(?:[A-Za-z0-9\-._~!$&'()*+,;=]|%[0-9A-Fa-f]{2})*)(?::\d*)?$/;
const ABSOLUTE = /^https?:\/\/([^/?#]*)/i;

/**
 * Checks what Node's parser lets through: target, Host and framing. Puts a target in absolute form into origin form.
 *
 * Closes the connection after requests behind which the next one cannot be found with certainty.
 *
 * @throws {Problem} `request_invalid`.
 */
export function checkRequest(request: IncomingMessage, response: ServerResponse): void {
  // Node's parser drops all that follows on a connection that asks for another protocol, even if it does not get it.
  if (request.headers.upgrade !== undefined) response.shouldKeepAlive = false;
  try {
    checkVersion(request);
    checkFraming(request);
    checkHost(request);
  } catch (error) {
    response.shouldKeepAlive = false;
    throw error;
  }
}

/** Node's parser also takes 0.9 and 2.0, of which the service speaks neither in this form (RFC 9110, section 15.6.6). */
function checkVersion({ httpVersion }: IncomingMessage): void {
  if (httpVersion === "1.1" || httpVersion === "1.0") return;
  throw new Problem("request_invalid", `the request is of HTTP/${httpVersion}; HTTP/1.1 and HTTP/1.0 are taken`, {
    status: 505,
  });
}

/** RFC 9112, section 6.1. A proxy that reads it in another way would see other requests on the connection. */
function checkFraming({ headers, httpVersion }: IncomingMessage): void {
  const coding = headers["transfer-encoding"];
  if (coding === undefined) return;
  if (httpVersion !== "1.1") {
    throw new Problem("request_invalid", `HTTP/${httpVersion} has no Transfer-Encoding; send Content-Length`);
  }
  if (coding.toLowerCase() === "chunked") return;
  throw new Problem("request_invalid", `Transfer-Encoding is ${shown(coding)}, where only chunked is taken`, {
    status: 501,
  });
}

/** RFC 9112, sections 3.2 and 3.2.2: exactly one Host, which may be empty; the target's own wins over it. */
function checkHost(request: IncomingMessage): void {
  const { headers, rawHeaders, httpVersion, url } = request;
  if (headers.host === undefined && httpVersion === "1.1") {
    throw new Problem("request_invalid", "the request has no Host header");
  }
  if (rawHeaders.filter(isHost).length > 1) throw new Problem("request_invalid", "the request has two Host headers");
  checkAuthority(headers.host ?? "");
  if (url!.startsWith("/") || url === "*") return;
  const [start, authority] = ABSOLUTE.exec(url!) ?? [];
  if (!authority) throw new Problem("request_invalid", "the target of the request is neither a path nor an http URL");
  checkAuthority(authority);
  headers.host = authority;
  const rest = url!.slice(start!.length);
  request.url = rest.startsWith("/") ? rest : `/${rest}`;
}

function checkAuthority(host: string): void {
  if (!HOST.test(host)) throw new Problem("request_invalid", `${shown(host)} is not a host`);
}

function isHost(text: string, index: number): boolean {
  return index % 2 === 0 && text.length === "host".length && text.toLowerCase() === "host";
}

function shown(text: string): string {
  return JSON.stringify(text).slice(0, 100);
}
