import { isIPv6 } from "node:net";

/** A name of DNS has at most 253 characters (RFC 1035, section 2.3.4). */
const MAX_NAME_CHARS = 253;
/** Each of them may be percent-encoded. */
const MAX_ESCAPED_CHARS = 3 * MAX_NAME_CHARS;
const ASCII = /^[ -~]*$/;

/**
 * The one spelling of a host, so that what is judged is what is dialled: by the host parser of the WHATWG URL standard
 * (`127.1`, `0x7f000001`, percent-encoding, full-width digits), without brackets and final dot.
 *
 * @returns null when it is no host, or one with a zone.
 */
export function canonicalHost(host: string): string | null {
  // The URL parser takes milliseconds for some thousand characters beyond ASCII.
  if (host.length > MAX_NAME_CHARS && (host.length > MAX_ESCAPED_CHARS || !ASCII.test(host))) return null;
  const text = isIPv6(host) ? `[${host}]` : host;
  // What else a URL can hold, such as `@` or a port, would let the parser see another host.
  if (!/^(?:\[[\da-f:.]+\]|[^\p{Cc}\s/\\?#@:[\]]+)$/iu.test(text)) return null;
  const name = URL.parse(`http://${text}/`)?.hostname.replace(/^\[(.*)\]$|\.$/, "$1");
  return name === undefined || name === "" || name.endsWith(".") ? null : name;
}

/** A host in its one spelling, and the one port of it that is meant, or null for any. */
export interface Destination {
  readonly host: string;
  readonly port: number | null;
}

/** Reads `host` or `host:port`; an IPv6 address before a port stands in brackets. @returns null when it is neither. */
export function readDestination(text: string): Destination | null {
  const [, named = text, port] = isIPv6(text) ? [] : (/^(.*?)(?::(\d{1,5}))?$/s.exec(text) ?? []);
  const host = canonicalHost(named);
  // A pattern would be compared as a name, and so never allow what it seems to.
  if (host === null || host.includes("*") || Number(port ?? 1) < 1 || Number(port ?? 1) > 65_535) return null;
  return { host, port: port === undefined ? null : Number(port) };
}

/** The text that `readPlace` reads as this place: one for all spellings. */
export function destinationText({ host, port }: Destination): string {
  if (port === null) return host;
  return `${isIPv6(host) ? `[${host}]` : host}:${port}`;
}
