import { isIPv4, isIPv6 } from "node:net";

/**
 * An address in its one spelling: IPv6 after RFC 5952, but without dots, and IPv4 as such where IPv6 wraps it
 * (`::ffff:0:0/96`), which is how a socket that listens on both tells it.
 *
 * @returns null when the text is no address. One with a zone is none: the zone means something on one link only.
 */
export function canonicalAddress(text: string): string | null {
  if (isIPv4(text)) return text;
  if (!isIPv6(text) || text.includes("%")) return null;
  const canonical = new URL(`http://[${text}]`).hostname.slice(1, -1);
  const mapped = /^::ffff:([\da-f]{1,4}):([\da-f]{1,4})$/.exec(canonical);
  if (!mapped) return canonical;
  const [high, low] = [Number.parseInt(mapped[1]!, 16), Number.parseInt(mapped[2]!, 16)];
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
}

/**
 * What one client has: an IPv4 address, or of an IPv6 one its /64, in which a single machine may take any address
 * (RFC 4291, section 2.5.4; RFC 8981).
 *
 * @param address in its one spelling.
 */
export function clientNetwork(address: string): string {
  if (!address.includes(":")) return address;
  const [left = "", right] = address.split("::");
  const groups = left === "" ? [] : left.split(":");
  if (right !== undefined) {
    const after = right === "" ? 0 : right.split(":").length;
    // The address may be short on both sides of the gap, and its first half may lie beyond it.
    while (groups.length + after < 8) groups.push("0");
    if (right !== "") groups.push(...right.split(":"));
  }
  return `${groups.slice(0, 4).join(":")}::/64`;
}
