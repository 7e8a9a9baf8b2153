import { isIPv4, isIPv6 } from "node:net";

/**
 * Returns the canonical spelling of an address: IPv6 as in RFC 5952, but without dots. An IPv4-mapped IPv6 address
 * (`::ffff:0:0/96`) becomes its IPv4 address, because a socket that listens on both reports IPv4 clients in this form.
 *
 * @returns null if the text is not an address, or has a zone, which has a meaning on one link only
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
 * Returns the network that belongs to one client: the address itself for IPv4, its /64 for IPv6. A single machine may
 * use any address of its /64 (RFC 4291, section 2.5.4; RFC 8981).
 *
 * @param address the address in its canonical spelling
 */
export function clientNetwork(address: string): string {
  if (!address.includes(":")) return address;
  const [left = "", right] = address.split("::");
  const groups = left === "" ? [] : left.split(":");
  if (right !== undefined) {
    const after = right === "" ? 0 : right.split(":").length;
    // Groups may be missing in the middle, so the end of the first half may come from the text after `::`.
    while (groups.length + after < 8) groups.push("0");
    if (right !== "") groups.push(...right.split(":"));
  }
  return `${groups.slice(0, 4).join(":")}::/64`;
}
