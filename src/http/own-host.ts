import type { IncomingMessage } from "node:http";

import { canonicalAddress } from "./address.ts";
import type { Proxies } from "./proxies.ts";

/**
 * Whether a host in the target of a request (RFC 9112, section 3.2.2) is this service. A client that takes the service for a proxy
 * names another host there. Behind a trusted proxy, the service may have any name.
 *
 * @param host without a port
 * @param listening the address or name of `--host`
 */
export function isOwnHost(
  host: string,
  listening: string,
  { socket }: IncomingMessage,
  proxies: Pick<Proxies, "networkOf">,
): boolean {
  const name = host.toLowerCase();
  if (name === "localhost" || name === listening.toLowerCase()) return true;
  if (proxies.networkOf(socket) === null) return true;
  const address = canonicalAddress(name.replace(/^\[(.*)\]$/, "$1"));
  if (address === null) return false;
  return /^127\.|^::1$/.test(address) || address === canonicalAddress((socket.localAddress ?? "").split("%", 1)[0]!);
}
