import { BlockList, isIP, isIPv6 } from "node:net";
import { networkInterfaces } from "node:os";

import { isPublicAddress } from "./addresses.ts";
import { canonicalHost } from "./host.ts";
import { dnsNames, type NameResolver, notFound, systemNames } from "./names.ts";

/** An address that was checked. Only this may be dialled: asking DNS once more may give another. */
export interface CheckedAddress {
  address: string;
  family: 4 | 6;
}

export interface EgressPolicy {
  /**
   * Resolves a name or a literal, checks every address, and gives those that may be dialled, at least one.
   *
   * @param known addresses that the name resolved to before; DNS is not asked, all else is checked anew.
   * @throws {EgressDenied} when it may not be dialled.
   * @throws the error of the resolver when the name does not resolve.
   */
  resolve(host: string, port: number, known?: readonly string[]): Promise<CheckedAddress[]>;
  /**
   * As `resolve`, for whoever has not said the port yet: what no port could be dialled at is refused.
   *
   * @throws as `resolve` does.
   */
  lookup(host: string): Promise<CheckedAddress[]>;
}

export interface EgressOptions {
  /** `none` reaches only what `allow` names. */
  mode: "none" | "public";
  /** Names or literals with their port, which may be private. They are compared with the host that is asked for. */
  allow: readonly { readonly host: string; readonly port: number }[];
  /** Refused although public: asked anew at each call, since interfaces come and go. */
  ownAddresses?: () => readonly string[];
  /** Ports at which the service itself listens on this machine: an allowed name that leads to them is refused. */
  ownPorts?: () => readonly number[];
  /** Where the service keeps what is its own, such as a Redis: refused although public, or allowed by a name. */
  ownPlaces?: readonly { readonly host: string; readonly port: number }[];
  /** Ports that may be dialled at public addresses. The default keeps untrusted code from mail, DNS and databases. */
  ports?: readonly number[];
  /** Instead of DNS. */
  resolver?: NameResolver;
}

/**
 * The reason for a refusal: the host is none, there is no egress at all, the token does not name it, the port or an
 * address is not allowed, or it is the service itself or its Redis.
 */
export type DenialReason = "host" | "mode" | "claim" | "port" | "address" | "self";

/** A place that may not be dialled. The message never holds what a name resolved to. */
export class EgressDenied extends Error {
  override readonly name = "EgressDenied";
  readonly reason: DenialReason;
  /** The message without its subject, for those who must not name the host. */
  readonly why: string;

  constructor(host: string, reason: DenialReason, why: string) {
    super(`${JSON.stringify(host)} ${why}`);
    this.reason = reason;
    this.why = why;
  }
}

const WEB_PORTS: readonly number[] = [80, 443, 8_080, 8_443];
/** The owner of a name can give it thousands of addresses. This many are looked at; the rest is never given or dialled. */
const MAX_CHECKED_ADDRESSES = 64;
/** This many of them are given, and so may be dialled one after the other. */
const MAX_ADDRESSES = 16;
const SELF = "leads to this service itself, which has to be allowed by its address";
const OWN_PLACE = "leads to where this service keeps what is its own, which has to be allowed by its address";

/**
 * Decides what may be dialled from here.
 *
 * @throws {TypeError} when an entry of `allow` is no host with a port.
 */
export function egressPolicy(options: EgressOptions): EgressPolicy {
  const allowed = new Set(options.allow.map(({ host, port }) => allowKey(host, port)));
  const allowedNames = new Set([...allowed].map((key) => key.split(" ", 1)[0]!));
  const ports = options.ports ?? WEB_PORTS;
  const ownAddresses = options.ownAddresses ?? interfaceAddresses;
  const publicNames = dnsNames();
  const ownPorts = options.ownPorts ?? (() => []);
  const ownPlaces = options.ownPlaces ?? [];

  const addressesOf = async (name: string, trusted: boolean): Promise<readonly string[]> => {
    if (isIP(name) !== 0) return [name];
    const found = await (options.resolver ?? (trusted ? systemNames : publicNames))(name);
    if (found.length === 0) throw notFound(name);
    return found.slice(0, MAX_CHECKED_ADDRESSES).map(({ address }) => address);
  };
  /** One bad address condemns the name: public names with a private address among others are made for attacks. */
  const mustBePublic = (host: string, addresses: readonly string[]): void => {
    const own = canonical(ownAddresses());
    if (addresses.every((address) => isPublicAddress(address) && !isOwn(address, own))) return;
    throw new EgressDenied(host, "address", "leads to an address that is not public");
  };
  /** An allowed name is its owner's, who may point it at this machine: then it must not be a way to the service. */
  const mustNotBeSelf = (host: string, name: string, port: number, addresses: readonly string[]): void => {
    if (isNamedExactly(name) || !ownPorts().includes(port)) return;
    const own = canonical(ownAddresses());
    if (addresses.some((address) => isThisMachine(address, own))) throw new EgressDenied(host, "self", SELF);
  };
  /** Asked anew each time, as the service does when it connects: only for places whose port is that of one of them. */
  const mustNotBeOwnPlace = async (host: string, port: number, addresses: readonly string[]): Promise<void> => {
    for (const place of ownPlaces.filter((each) => each.port === port)) {
      const name = canonicalHost(place.host)!;
      if (name === nameOf(host)) throw new EgressDenied(host, "self", OWN_PLACE);
      const own = await addressesOf(name, true).then(canonical, () => null);
      // Where it is cannot be known now: then it may be this one.
      if (own === null || addresses.some((address) => isOwn(address, own))) {
        throw new EgressDenied(host, "self", OWN_PLACE);
      }
    }
  };

  return {
    async resolve(host, port, known) {
      const name = nameOf(host);
      const trusted = allowed.has(`${name} ${port}`);
      if (!trusted) {
        // Before DNS is asked: a lookup is a way out too.
        mustHaveEgress(host, options.mode);
        if (!ports.includes(port)) {
          throw new EgressDenied(host, "port", `may not be reached on port ${port}, only on ${ports.join(", ")}`);
        }
      }
      const addresses = known ?? (await addressesOf(name, trusted));
      if (trusted) mustNotBeSelf(host, name, port, addresses);
      else mustBePublic(host, addresses);
      if (!trusted || !isNamedExactly(name)) await mustNotBeOwnPlace(host, port, addresses);
      return checked(addresses);
    },

    async lookup(host) {
      const name = nameOf(host);
      const trusted = allowedNames.has(name);
      if (!trusted) mustHaveEgress(host, options.mode);
      const addresses = await addressesOf(name, trusted);
      if (!trusted) mustBePublic(host, addresses);
      return checked(addresses);
    },
  };
}

/** Nobody but the operator who allowed it says where it leads. */
function isNamedExactly(name: string): boolean {
  return isIP(name) !== 0 || name === "localhost";
}

function nameOf(host: string): string {
  const name = canonicalHost(host);
  if (name === null) throw new EgressDenied(host, "host", "is not a host");
  return name;
}

function mustHaveEgress(host: string, mode: EgressOptions["mode"]): void {
  if (mode === "none") throw new EgressDenied(host, "mode", "may not be reached: egress is switched off");
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

/** Any address that this machine answers itself, whatever interfaces it has. A BlockList looks through IPv4-mapped ones. */
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

/** Addresses in their one spelling. */
function canonical(addresses: readonly string[]): ReadonlySet<string> {
  return new Set(addresses.map((address) => canonicalHost(address) ?? address));
}

function interfaceAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((entries) => entries?.map(({ address }) => address) ?? []);
}
