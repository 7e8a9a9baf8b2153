import type { IncomingMessage } from "node:http";
import { BlockList, isIPv6 } from "node:net";

/** The origin that the client addressed, as the task is told it. */
export type OriginOf = (request: IncomingMessage) => string;

const HOST = /^(?:[A-Za-z0-9._-]+|\[[0-9a-fA-F:.]+\])(?::\d{1,5})?$/;

/**
 * @param trusted the addresses, in CIDR notation, of proxies whose `X-Forwarded-Proto` and `X-Forwarded-Host` are believed.
 * From everybody else they are a caller's own words.
 */
export function originReader(trusted: string | null): OriginOf {
  const proxies = new BlockList();
  if (trusted !== null) {
    const [address, prefix] = trusted.split("/");
    proxies.addSubnet(address!, Number(prefix), isIPv6(address!) ? "ipv6" : "ipv4");
  }
  return (request) => {
    const { socket, headers } = request;
    const { remoteAddress = "", remoteFamily } = socket;
    const forwarded = trusted !== null && proxies.check(remoteAddress, remoteFamily === "IPv6" ? "ipv6" : "ipv4");
    const scheme = (forwarded && first(headers["x-forwarded-proto"])) || ("encrypted" in socket ? "https" : "http");
    const host = (forwarded && first(headers["x-forwarded-host"])) || headers.host || "";
    return `${scheme === "https" ? "https" : "http"}://${HOST.test(host) ? host : "localhost"}`;
  };
}

function first(header: string | string[] | undefined): string {
  return String(header ?? "")
    .split(",")[0]!
    .trim();
}
