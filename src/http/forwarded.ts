import { canonicalAddress } from "./address.ts";

/** A hop that a proxy reports: the sender from which the proxy received the request. */
export interface Hop {
  /** The sender's address in its canonical spelling, or null if the proxy reports no address or a malformed one. */
  readonly address: string | null;
  /** The scheme that the sender used, or an empty string if the proxy does not report it. */
  readonly scheme: string;
  /** The host that the sender addressed, or an empty string if the proxy does not report it. */
  readonly host: string;
}

const UNREADABLE: Hop = { address: null, scheme: "", host: "" };

/**
 * A parameter and the semicolon after it. A value with a colon is not a token (RFC 9110, section 5.6.2) and must be
 * quoted. The pattern is sticky, so parsing stops at the first fault: an untrusted client may have written the header.
 */
const PAIR = /\s*(?:([!#$%&'*+.^_`|~\dA-Za-z-]+)=(?:([!#$%&'*+.^_`|~\dA-Za-z-]+)|"((?:[^"\\]|\\.)*)")\s*)?(?:;|$)/sy;
/** An address, IPv6 in brackets, and optionally a port, which may be an obfuscated name (RFC 7239, section 6). */
const NODE = /^(?:\[([^\]]*)\]|([^:[\]]*))(?::(?:\d{1,5}|_[\w.-]+))?$/;

/**
 * Returns the hops of a `Forwarded` header (RFC 7239). The nearest hop comes first; it is the last one in the header.
 *
 * Elements are parsed separately and from the end, because only the end is written by a trusted proxy: earlier text
 * cannot change how it is parsed. White space around a semicolon is accepted, although the RFC does not allow it,
 * because some proxies write it.
 */
export function* forwardedHops(header: string): Generator<Hop> {
  for (const element of elementsFromEnd(header)) yield forwardedHop(element);
}

/**
 * Returns the hops of an `X-Forwarded-For` header, the nearest first. No standard describes this header. It lists
 * addresses, IPv6 with or without brackets, each with or without a port.
 */
export function* forwardedForHops(header: string): Generator<Hop> {
  for (const element of elementsFromEnd(header)) {
    yield { ...UNREADABLE, address: canonicalAddress(element) ?? nodeAddress(element) };
  }
}

/** Splits the header at commas outside quotes. Empty elements are ignored (RFC 9110, section 5.6.1.2). */
function* elementsFromEnd(header: string): Generator<string> {
  let end = header.length;
  let quoted = false;
  for (let at = end - 1; at >= -1; at--) {
    if (at >= 0 && header[at] === '"' && !isEscaped(header, at)) quoted = !quoted;
    if (at >= 0 && (header[at] !== "," || quoted)) continue;
    const element = header.slice(at + 1, end).trim();
    end = at;
    if (element !== "") yield element;
  }
}

function isEscaped(text: string, at: number): boolean {
  let backslashes = 0;
  while (text[at - 1 - backslashes] === "\\") backslashes++;
  return backslashes % 2 === 1;
}

/** Parses an element. An element with a fault yields no values at all, because the other half may be wrong too. */
function forwardedHop(element: string): Hop {
  const values = new Map<string, string>();
  PAIR.lastIndex = 0;
  while (PAIR.lastIndex < element.length) {
    const match = PAIR.exec(element);
    if (!match) return UNREADABLE;
    const [, name, token, quoted] = match;
    if (name === undefined) continue;
    if (values.has(name.toLowerCase())) return UNREADABLE;
    values.set(name.toLowerCase(), token ?? quoted!.replaceAll(/\\(.)/gs, "$1"));
  }
  const node = values.get("for");
  return {
    address: node === undefined ? null : nodeAddress(node),
    scheme: values.get("proto") ?? "",
    host: values.get("host") ?? "",
  };
}

/** Returns the address of a node, or null for obfuscated names (`_hidden`) and `unknown`. */
function nodeAddress(node: string): string | null {
  const match = NODE.exec(node);
  if (!match) return null;
  const [, six, four] = match;
  if (six !== undefined) return six.includes(":") ? canonicalAddress(six) : null;
  return canonicalAddress(four!);
}
