import { BlockList, isIP, isIPv4 } from "node:net";

/**
 * Whether an IP address is a public unicast address, the only kind to which untrusted code may connect.
 *
 * The sources are the IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890 and its updates) and the IANA
 * IPv6 Global Unicast Address Assignments. Ranges that wrap an IPv4 address (IPv4-mapped, IPv4-compatible, NAT64 of RFC
 * 6052 and RFC 8215, 6to4, Teredo) are rejected as a whole, whatever address they wrap. A NAT64 prefix that a network
 * chose itself cannot be distinguished from other global addresses.
 *
 * @param address the text of an address: IPv4 in four decimal parts or IPv6 without brackets. Any other text is not
 *   public. An address with a zone is not public either, because it has a meaning only on one link (RFC 4007).
 */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !SPECIAL.check(address, "ipv4");
  if (isIP(address) === 0 || address.includes("%")) return false;
  return GLOBAL_UNICAST.check(address, "ipv6") && !SPECIAL.check(address, "ipv6");
}

/**
 * All other IPv6 ranges are unassigned, local or wrap IPv4: loopback, `::ffff:0:0/96`, `64:ff9b::/96`, `fc00::/7`, …
 */
const GLOBAL_UNICAST: BlockList = ranges([["2000::", 3]], "ipv6");

const SPECIAL: BlockList = ranges(
  [
    ["0.0.0.0", 8], // this network; Linux connects 0.0.0.0 to loopback
    ["10.0.0.0", 8], // private
    ["100.64.0.0", 10], // carrier-grade NAT, and Alibaba's metadata at 100.100.100.200
    ["127.0.0.0", 8], // loopback
    ["168.63.129.16", 32], // Azure's host, a public address that answers only inside Azure
    ["169.254.0.0", 16], // link-local, and the metadata service of most clouds at 169.254.169.254
    ["172.16.0.0", 12], // private
    ["192.0.0.0", 24], // protocol assignments, and Oracle's metadata at 192.0.0.192
    ["192.0.2.0", 24], // documentation
    ["192.31.196.0", 24], // AS112: anycast, so the nearest server answers, perhaps within the operator's network
    ["192.52.193.0", 24], // AMT relays, anycast
    ["192.88.99.0", 24], // 6to4 relays, anycast
    ["192.168.0.0", 16], // private
    ["192.175.48.0", 24], // AS112, anycast
    ["198.18.0.0", 15], // benchmarking
    ["198.51.100.0", 24], // documentation
    ["203.0.113.0", 24], // documentation
    ["224.0.0.0", 4], // multicast
    ["240.0.0.0", 4], // reserved, and broadcast
  ],
  "ipv4",
);
for (const [network, prefix] of [
  ["2001::", 23], // protocol assignments: Teredo, benchmarking, ORCHID, anycast
  ["2001:db8::", 32], // documentation
  ["2002::", 16], // 6to4
  ["2620:4f:8000::", 48], // AS112, anycast
  ["3ffe::", 16], // 6bone, returned to IANA
  ["3fff::", 20], // documentation
] as const) {
  SPECIAL.addSubnet(network, prefix, "ipv6");
}

function ranges(subnets: readonly (readonly [string, number])[], family: "ipv4" | "ipv6"): BlockList {
  const list = new BlockList();
  for (const [network, prefix] of subnets) list.addSubnet(network, prefix, family);
  return list;
}
