import { canonicalAddress } from "./address.ts";

/** One hop as a proxy tells it: who sent the request to that proxy. */
export interface Hop {
  /** In its one spelling, or null when the proxy does not say it or nobody can read it. */
  readonly address: string | null;
  /** What that sender asked for, where the proxy says it. */
  readonly scheme: string;
  readonly host: string;
}

const UNREADABLE: Hop = { address: null, scheme: "", host: "" };

/**
 * One parameter and the semicolon after it: a value with a colon is no token (RFC 9110, section 5.6.2) and must be quoted.
 * It is matched where the last one ended, so that a fault ends the reading: a stranger may have written this.
 */
const PAIR = /\s*(?:([!#$%&'*+.^_`|~\dA-Za-z-]+)=(?:([!#$%&'*+.^_`|~\dA-Za-z-]+)|"((?:[^"\\]|\\.)*)")\s*)?(?:;|$)/sy;
/** RFC 7239, section 6: an address, IPv6 in brackets, and perhaps a port, which may be a made-up one. */
const NODE = /^(?:\[([^\]]*)\]|([^:[\]]*))(?::(?:\d{1,5}|_[\w.-]+))?$/;

/**
 * The hops of a `Forwarded` header (RFC 7239), the nearest first, which is the last one. Each is read by itself and from
 * the end, because only the end is written by somebody we know: nothing before it can change how it is read. White space
 * around a semicolon, which the RFC does not have and people write, is taken.
 */
export function* forwardedHops(header: string): Generator<Hop> {
  for (const element of elementsFromEnd(header)) yield forwardedHop(element);
}

/** The same of `X-Forwarded-For`, which no standard describes: addresses, IPv6 with brackets or without, ports or none. */
export function* forwardedForHops(header: string): Generator<Hop> {
  for (const element of elementsFromEnd(header)) {
    yield { ...UNREADABLE, address: canonicalAddress(element) ?? nodeAddress(element) };
  }
}

/** Splits at commas that are not within quotes. Empty elements say nothing (RFC 9110, section 5.6.1.2). */
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

/** An element with a fault says nothing at all: who knows which half of it is wrong. */
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

/** Names that a proxy made up (`_hidden`) and `unknown` are no addresses. */
function nodeAddress(node: string): string | null {
  const match = NODE.exec(node);
  if (!match) return null;
  const [, six, four] = match;
  if (six !== undefined) return six.includes(":") ? canonicalAddress(six) : null;
  return canonicalAddress(four!);
}
