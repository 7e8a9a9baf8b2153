import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";

import { Problem } from "../../errors.ts";
import type { Proxies } from "../proxies.ts";

/** The origin that the client of each request to this endpoint addressed. */
const addressed = new WeakMap<IncomingMessage, string>();

/** Records the origin that a request addresses, before the API changes its Host. */
export function noteOrigin(request: IncomingMessage, proxies: Pick<Proxies, "originOf">): void {
  if (request.headers.origin !== undefined) addressed.set(request, proxies.originOf(request));
}

/**
 * Returns the origin of the page that sends a request, or null for a client that is not a page.
 *
 * The own origin is permitted only if no other name can lead to it. A page may let its own name resolve to the address of this
 * service, and its origin then equals the Host of its requests (DNS rebinding).
 *
 * @param permitted the origins that the operator permits
 * @throws {Problem} `origin_forbidden`
 */
export function permittedOrigin(request: IncomingMessage, permitted: readonly string[]): string | null {
  const { origin } = request.headers;
  if (origin === undefined) return null;
  if (permitted.includes(origin)) return origin;
  if (addressed.get(request) === origin && isCertain(origin)) return origin;
  throw new Problem("origin_forbidden", "pages of the origin in the header Origin may not use this endpoint", {
    hint: "The operator permits the origin of a page with --mcp-origin.",
  });
}

/** Whether the origin is an address, or a name for which the service or its proxy has a certificate. */
function isCertain(origin: string): boolean {
  const { protocol, hostname } = URL.parse(origin) ?? { protocol: "", hostname: "" };
  return protocol === "https:" || hostname === "localhost" || isIP(hostname.replace(/^\[(.*)\]$/, "$1")) !== 0;
}
