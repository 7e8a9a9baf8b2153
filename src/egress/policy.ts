import { lookup } from "node:dns/promises";
import { isIP, isIPv6 } from "node:net";
import { networkInterfaces } from "node:os";

import { isPublicAddress } from "./addresses.ts";
import { canonicalHost } from "./host.ts";

/** An address that was checked. Only this may be dialled: asking DNS once more may give another. */
export interface CheckedAddress {
  address: string;
  family: 4 | 6;
}

export interface EgressPolicy {
  /**
   * Resolves a name or a literal, checks every address, and gives those that may be dialled, at least one.
   *
   * @throws {EgressDenied} when it may not be dialled.
   * @throws the error of the resolver when the name does not resolve.
   */
  resolve(host: string, port: number): Promise<CheckedAddress[]>;
}

/** Gives all addresses of a name, or throws. */
export type Resolver = (name: string) => Promise<readonly { address: string }[]>;

export interface EgressOptions {
  /** `none` reaches only what `allow` names. */
  mode: "none" | "public";
  /** Names or literals with their port, which may be private. They are compared with the host that is asked for. */
  allow: readonly { readonly host: string; readonly port: number }[];
  /** Refused although public: asked anew at each call, since interfaces come and go. */
  ownAddresses?: () => readonly string[];
  /** Ports that may be dialled at public addresses. The default keeps untrusted code from mail, DNS and databases. */
  ports?: readonly number[];
  resolver?: Resolver;
}

/**
 * The reason for a refusal: the host is none, there is no egress at all, the token does not name it, or the port or an
 * address is not allowed.
 */
export type DenialReason = "host" | "mode" | "claim" | "port" | "address";

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

const WEB_PORTS: readonly number[] = [80, 443, 8080, 8443];

/**
 * Decides what may be dialled from here.
 *
 * @throws {TypeError} when an entry of `allow` is no host with a port.
 */
export function egressPolicy(options: EgressOptions): EgressPolicy {
  const allowed = new Set(options.allow.map(({ host, port }) => allowKey(host, port)));
  const ports = options.ports ?? WEB_PORTS;
  const ownAddresses = options.ownAddresses ?? interfaceAddresses;
  const resolver = options.resolver ?? ((name) => lookup(name, { all: true }));

  return {
    async resolve(host, port) {
      const name = canonicalHost(host);
      if (name === null) throw new EgressDenied(host, "host", "is not a host");
      const trusted = allowed.has(`${name} ${port}`);
      if (!trusted) {
        // Before DNS is asked: a lookup is a way out too.
        if (options.mode === "none") throw new EgressDenied(host, "mode", "may not be reached: egress is switched off");
        if (!ports.includes(port)) {
          throw new EgressDenied(host, "port", `may not be reached on port ${port}, only on ${ports.join(", ")}`);
        }
      }
      const found = isIP(name) === 0 ? await resolver(name) : [{ address: name }];
      if (found.length === 0) throw Object.assign(new Error("the name has no address"), { code: "ENOTFOUND" });
      // One bad address condemns the name: public names with a private address among others are made for attacks.
      if (!trusted && !found.every(({ address }) => isPublicAddress(address) && !isOwn(address, ownAddresses()))) {
        throw new EgressDenied(host, "address", "leads to an address that is not public");
      }
      return found.map(({ address }) => ({ address, family: isIPv6(address) ? 6 : 4 }));
    },
  };
}

function allowKey(host: string, port: number): string {
  const name = canonicalHost(host);
  if (name === null || name.includes("*") || !Number.isInteger(port) || port < 1 || port > 65_535) {
    throw new TypeError(`${JSON.stringify(`${host}:${port}`)} is not a host with a port; wildcards are not supported`);
  }
  return `${name} ${port}`;
}

function isOwn(address: string, own: readonly string[]): boolean {
  const name = canonicalHost(address);
  return own.some((each) => canonicalHost(each) === name);
}

function interfaceAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((entries) => entries?.map(({ address }) => address) ?? []);
}
