import { isIPv6 } from "node:net";

/** The maximum number of characters of a DNS name (RFC 1035, section 2.3.4). */
const MAX_NAME_CHARS = 253;
/** The maximum if each character is percent-encoded. */
const MAX_ESCAPED_CHARS = 3 * MAX_NAME_CHARS;
const ASCII = /^[ -~]*$/;

/**
 * Returns the canonical spelling of a host, without brackets and final dot, so that the policy checks the host to which
 * the service connects. It uses the host parser of the WHATWG URL standard (`127.1`, `0x7f000001`, percent-encoding,
 * full-width digits).
 *
 * @returns null if the text is not a host, or if the host has a zone.
 */
export function canonicalHost(host: string): string | null {
  // The URL parser takes milliseconds for some thousand characters beyond ASCII.
  if (host.length > MAX_NAME_CHARS && (host.length > MAX_ESCAPED_CHARS || !ASCII.test(host))) return null;
  const text = isIPv6(host) ? `[${host}]` : host;
  // Other parts of a URL, such as `@` or a port, would make the parser return another host.
  if (!/^(?:\[[\da-f:.]+\]|[^\p{Cc}\s/\\?#@:[\]]+)$/iu.test(text)) return null;
  const name = URL.parse(`http://${text}/`)?.hostname.replace(/^\[(.*)\]$|\.$/, "$1");
  return name === undefined || name === "" || name.endsWith(".") ? null : name;
}

/** A host in its canonical spelling, and a port, or null for any port. */
export interface Destination {
  readonly host: string;
  readonly port: number | null;
}

/** Parses `host` or `host:port`, where an IPv6 address with a port is in brackets. @returns null for any other text. */
export function readDestination(text: string): Destination | null {
  const [, hostText = text, port] = isIPv6(text) ? [] : (/^(.*?)(?::(\d{1,5}))?$/s.exec(text) ?? []);
  const host = canonicalHost(hostText);
  // A wildcard would be compared as a literal name, and would never allow what it seems to allow.
  if (host === null || host.includes("*") || Number(port ?? 1) < 1 || Number(port ?? 1) > 65_535) return null;
  return { host, port: port === undefined ? null : Number(port) };
}

/** Returns the canonical text of a destination, which `readDestination` parses. */
export function destinationText({ host, port }: Destination): string {
  if (port === null) return host;
  return `${isIPv6(host) ? `[${host}]` : host}:${port}`;
}
