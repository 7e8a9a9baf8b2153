import type { IncomingMessage, ServerResponse } from "node:http";

import { Problem } from "../errors.ts";
import { occurrences } from "./raw-headers.ts";

/** The uri-host and port of RFC 3986, section 3.2. Both may be empty. */
const HOST = /^(?:\[[0-9A-Fa-f:.]+\]|(?:[A-Za-z0-9\-._~!$&'()*+,;=]|%[0-9A-Fa-f]{2})*)(?::\d*)?$/;
const ABSOLUTE = /^https?:\/\/([^/?#]*)/i;

/**
 * Checks what Node's parser does not check: version, framing, Host and target. Converts a target in absolute form to
 * origin form.
 *
 * Closes the connection after a request if the start of the next request is not certain.
 *
 * @param isOwn whether the host of a target in absolute form is this service, and not one that a proxy would reach
 * @throws {Problem} `request_invalid`
 */
export function checkRequest(
  request: IncomingMessage,
  response: ServerResponse,
  isOwn: (host: string, request: IncomingMessage) => boolean,
): void {
  // After a request to upgrade the connection, Node's parser drops all further bytes, even if no upgrade happens.
  if (request.headers.upgrade !== undefined) response.shouldKeepAlive = false;
  try {
    checkVersion(request);
    checkFraming(request);
    checkHost(request, isOwn);
  } catch (error) {
    response.shouldKeepAlive = false;
    throw error;
  }
}

/**
 * Node's parser also accepts the versions 0.9 and 2.0, which the service does not support (RFC 9110, section 15.6.6).
 */
function checkVersion({ httpVersion, headers }: IncomingMessage): void {
  // A client of HTTP/1.0 would take `100 Continue` for the answer (RFC 9110, section 10.1.1).
  if (httpVersion === "1.0") delete headers.expect;
  if (httpVersion === "1.1" || httpVersion === "1.0") return;
  throw new Problem(
    "request_invalid",
    `the request uses HTTP/${httpVersion}; only HTTP/1.1 and HTTP/1.0 are supported`,
    {
      status: 505,
    },
  );
}

/**
 * A proxy that interprets the framing differently would see other requests on the connection (RFC 9112, section 6.1).
 */
function checkFraming({ headers, httpVersion }: IncomingMessage): void {
  const coding = headers["transfer-encoding"];
  if (coding === undefined) return;
  if (httpVersion !== "1.1") {
    throw new Problem("request_invalid", `HTTP/${httpVersion} does not support Transfer-Encoding; send Content-Length`);
  }
  if (coding.toLowerCase() === "chunked") return;
  throw new Problem("request_invalid", `Transfer-Encoding is ${quote(coding)}; only chunked is supported`, {
    status: 501,
  });
}

/**
 * Requires exactly one Host header, which may be empty. The host of a target in absolute form replaces it (RFC 9112,
 * sections 3.2 and 3.2.2).
 */
function checkHost(request: IncomingMessage, isOwn: (host: string, request: IncomingMessage) => boolean): void {
  const { headers, rawHeaders, httpVersion, url } = request;
  if (headers.host === undefined && httpVersion === "1.1") {
    throw new Problem("request_invalid", "the request has no Host header");
  }
  if (occurrences(rawHeaders, "host") > 1)
    throw new Problem("request_invalid", "the request has more than one Host header");
  checkAuthority(headers.host ?? "");
  if (url!.startsWith("/") || url === "*") return;
  const [start, authority] = ABSOLUTE.exec(url!) ?? [];
  if (!authority) throw new Problem("request_invalid", "the request target is neither a path nor an http or https URL");
  checkAuthority(authority);
  if (!isOwn(authority.replace(/:\d*$/, ""), request)) {
    throw new Problem("request_invalid", `the request is for ${quote(authority)}, and the service is not a proxy`, {
      status: 421,
      hint: "Remove the service from http_proxy, or from -x of curl. A request to the service has only the path in its first line.",
    });
  }
  headers.host = authority;
  const rest = url!.slice(start!.length);
  request.url = rest.startsWith("/") ? rest : `/${rest}`;
}

/** The last host that was valid. Most requests have the same one. */
let lastValid = "";

/** Also refuses hosts of which no URL can be made, such as `1.2.3.4.5` and port 99999: a fetch handler receives the URL. */
function checkAuthority(host: string): void {
  if (host === lastValid || host === "") return;
  if (!HOST.test(host) || !URL.canParse(`http://${host}`)) {
    throw new Problem("request_invalid", `${quote(host)} is not a valid host`);
  }
  lastValid = host;
}

function quote(text: string): string {
  return JSON.stringify(text).slice(0, 100);
}
