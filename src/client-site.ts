const OF_IPV6 = "::/64";

/**
 * Returns the site of a client network. Providers give a customer a /56 or a /48 of IPv6, which has up to 65,536 networks. So a limit
 * for each network alone would not bound one machine there.
 *
 * @param network the IPv4 address of a client, or the /64 of its IPv6 address with four groups, such as `2001:db8:0:1::/64`
 * @returns the /48 of the network. Any other text is a site by itself, such as an IPv4 address or the name of a token family
 */
export function clientSite(network: string): string {
  if (!network.endsWith(OF_IPV6)) return network;
  return `${network.slice(0, network.lastIndexOf(":", network.length - OF_IPV6.length - 1))}::/48`;
}
