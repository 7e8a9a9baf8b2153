import { BlockList, isIP, isIPv6 } from "node:net";
import { networkInterfaces } from "node:os";

import { isPublicAddress } from "./addresses.ts";
import { EgressDenied } from "./denied.ts";
import { canonicalHost } from "./host.ts";
import { nameTurns } from "./name-turns.ts";
import { type Asker, dnsNames, type NameResolver, notFound, systemNames } from "./resolve-names.ts";
import { sharedNames } from "./shared-names.ts";

/** A checked address. The service connects only to this, because a second DNS query may return another address. */
export interface CheckedAddress {
  address: string;
  family: 4 | 6;
}

export interface EgressPolicy {
  /**
   * Resolves a name or a literal, checks every address, and returns the allowed addresses, at least one.
   *
   * @param known the addresses of an earlier lookup of the name. They replace the DNS query; all checks run again.
   * @param asker the caller, whose share of the lookups in progress a DNS query uses.
   * @throws {EgressDenied} if the destination is not allowed.
   * @throws the error of the resolver if the name does not resolve.
   */
  resolve(host: string, port: number, known?: readonly string[] | null, asker?: Asker): Promise<CheckedAddress[]>;
  /**
   * Resolves a host without a port. It refuses a host that is allowed on no port.
   *
   * @throws as `resolve` does.
   */
  lookup(host: string, asker?: Asker): Promise<CheckedAddress[]>;
}

export interface EgressOptions {
  /** `none` allows only the destinations in `allow`. */
  mode: "none" | "public";
  /** Names or literals with a port. They may be private. They are compared with the requested host. */
  allow: readonly { readonly host: string; readonly port: number }[];
  /** Returns addresses that are refused although they are public. It is called each time, because interfaces change. */
  ownAddresses?: () => readonly string[];
  /**
   * Returns the ports on which the service listens on this machine. An allowed name that resolves to them is refused.
   */
  ownPorts?: () => readonly number[];
  /** The servers of the service, such as its Redis. They are refused, also if they are public or allowed by name. */
  ownPlaces?: readonly { readonly host: string; readonly port: number }[];
  /** The allowed ports of public addresses. The default stops untrusted code from using mail, DNS and databases. */
  ports?: readonly number[];
  /** Replaces DNS. */
  resolver?: NameResolver;
  /** Replaces the clock that limits how long the addresses of allowed names are kept. */
  nowMs?: () => number;
}

const WEB_PORTS: readonly number[] = [80, 443, 8_080, 8_443];
/** The maximum number of addresses that are checked, because a name can have thousands. The others are never used. */
const MAX_CHECKED_ADDRESSES = 64;
/** The maximum number of addresses that are returned, to which the service may connect in turn. */
const MAX_ADDRESSES = 16;
const SELF = "resolves to this service itself, which only its address can allow";
const OWN_SERVER = "resolves to a server that this service itself uses, which only its address can allow";

/**
 * Creates the policy that decides to which destinations the service connects.
 *
 * @throws {TypeError} if an entry of `allow` is not a host with a port.
 */
export function egressPolicy(options: EgressOptions): EgressPolicy {
  const allowed = new Set(options.allow.map(({ host, port }) => allowKey(host, port)));
  const allowedNames = new Set([...allowed].map((key) => key.split(" ", 1)[0]!));
  const ports = options.ports ?? WEB_PORTS;
  const ownAddresses = options.ownAddresses ?? interfaceAddresses;
  const publicNames = nameTurns(options.resolver ?? dnsNames());
  // Only names of the operator's lists: the allowed destinations and the servers of the service.
  const trustedNames = sharedNames(options.resolver ?? systemNames, options.nowMs);
  const ownPorts = options.ownPorts ?? (() => []);
  const ownPlaces = options.ownPlaces ?? [];

  const addressesOf = async (name: string, trusted: boolean, asker?: Asker): Promise<readonly string[]> => {
    if (isIP(name) !== 0) return [name];
    const found = await (trusted ? trustedNames : publicNames)(name, asker);
    if (found.length === 0) throw notFound(name);
    return found.slice(0, MAX_CHECKED_ADDRESSES).map(({ address }) => address);
  };
  /** Rejects the name if any address is not public, because public names with a private address serve attacks. */
  const mustBePublic = (host: string, addresses: readonly string[]): void => {
    const own = canonical(ownAddresses());
    if (addresses.every((address) => isPublicAddress(address) && !isOwn(address, own))) return;
    throw new EgressDenied(host, "address", "resolves to an address that is not public");
  };
  /** The owner of an allowed name can point it at this machine. That name must not give access to the service. */
  const mustNotBeSelf = (host: string, name: string, port: number, addresses: readonly string[]): void => {
    if (isNamedExactly(name) || !ownPorts().includes(port)) return;
    const own = canonical(ownAddresses());
    if (addresses.some((address) => isThisMachine(address, own))) throw new EgressDenied(host, "self", SELF);
  };
  /**
   * Resolves the service's servers for each connection, as the service does, but only those with the same port.
   */
  const mustNotBeOwnServer = async (host: string, port: number, addresses: readonly string[]): Promise<void> => {
    for (const server of ownPlaces.filter((each) => each.port === port)) {
      const name = canonicalHost(server.host)!;
      if (name === nameOf(host)) throw new EgressDenied(host, "self", OWN_SERVER);
      const own = await addressesOf(name, true).then(canonical, () => null);
      // If its addresses cannot be resolved now, the destination could be this server.
      if (own === null || addresses.some((address) => isOwn(address, own))) {
        throw new EgressDenied(host, "self", OWN_SERVER);
      }
    }
  };

  return {
    async resolve(host, port, known, asker) {
      const name = nameOf(host);
      const trusted = allowed.has(`${name} ${port}`);
      if (!trusted) {
        // Before the DNS query, because a query can carry data out too.
        mustHaveEgress(host, options.mode);
        if (!ports.includes(port)) {
          throw new EgressDenied(host, "port", `cannot be reached on port ${port}, only on ${ports.join(", ")}`);
        }
      }
      const addresses = known ?? (await addressesOf(name, trusted, asker));
      if (trusted) mustNotBeSelf(host, name, port, addresses);
      else mustBePublic(host, addresses);
      if (!trusted || !isNamedExactly(name)) await mustNotBeOwnServer(host, port, addresses);
      return checked(addresses);
    },

    async lookup(host, asker) {
      const name = nameOf(host);
      const trusted = allowedNames.has(name);
      if (!trusted) mustHaveEgress(host, options.mode);
      const addresses = await addressesOf(name, trusted, asker);
      if (!trusted) mustBePublic(host, addresses);
      return checked(addresses);
    },
  };
}

/** Whether only the operator who allowed the host determines its address. */
function isNamedExactly(name: string): boolean {
  return isIP(name) !== 0 || name === "localhost";
}

function nameOf(host: string): string {
  const name = canonicalHost(host);
  if (name === null) throw new EgressDenied(host, "host", "is not a host");
  return name;
}

function mustHaveEgress(host: string, mode: EgressOptions["mode"]): void {
  if (mode === "none") throw new EgressDenied(host, "mode", "cannot be reached: egress is switched off");
}

function checked(addresses: readonly string[]): CheckedAddress[] {
  return addresses.slice(0, MAX_ADDRESSES).map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
}

function allowKey(host: string, port: number): string {
  const name = canonicalHost(host);
  if (name === null || name.includes("*") || !Number.isInteger(port) || port < 1 || port > 65_535) {
    throw new TypeError(`${JSON.stringify(`${host}:${port}`)} is not a host with a port; wildcards are not supported`);
  }
  return `${name} ${port}`;
}

/** The local addresses of any machine, whatever its interfaces. A BlockList also matches IPv4-mapped addresses. */
const LOCAL = new BlockList();
LOCAL.addSubnet("127.0.0.0", 8, "ipv4");
LOCAL.addSubnet("0.0.0.0", 8, "ipv4");
LOCAL.addAddress("::1", "ipv6");
LOCAL.addAddress("::", "ipv6");

function isThisMachine(address: string, own: ReadonlySet<string>): boolean {
  if (LOCAL.check(address, isIPv6(address) ? "ipv6" : "ipv4")) return true;
  const wrapped = /^::ffff:([\d.]+)$/i.exec(address);
  return isOwn(wrapped ? wrapped[1]! : address, own);
}

function isOwn(address: string, own: ReadonlySet<string>): boolean {
  return own.has(canonicalHost(address) ?? address);
}

/** Returns addresses in their canonical spelling. */
function canonical(addresses: readonly string[]): ReadonlySet<string> {
  return new Set(addresses.map((address) => canonicalHost(address) ?? address));
}

function interfaceAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((entries) => entries?.map(({ address }) => address) ?? []);
}
