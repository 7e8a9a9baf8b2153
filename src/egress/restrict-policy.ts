import { EgressDenied } from "./denied.ts";
import { canonicalHost, destinationText, readDestination } from "./host.ts";
import type { EgressPolicy } from "./policy.ts";

/**
 * The network access that a token permits within the operator's policy: everything (null), nothing (false), or these
 * destinations, each a host or `host:port` in the spelling of `destinationText`.
 */
export type NetClaim = readonly string[] | false | null;

/** Returns the policy, restricted to the destinations of a token's claim. The policy still applies to each of them. */
export function restrictPolicy(policy: EgressPolicy, claim: NetClaim): EgressPolicy {
  if (claim === null) return policy;
  const destinations = destinationsOf(claim);
  const hosts: ReadonlySet<string> = new Set([...destinations].map((text) => readDestination(text)?.host ?? ""));
  return {
    // Before the DNS query, because a query can carry data out too.
    async resolve(host, port, known, asker) {
      mustContain(claim, host, containsPort(destinations, port));
      return policy.resolve(host, port, known, asker);
    },
    async lookup(host, asker) {
      mustContain(claim, host, (name) => hosts.has(name));
      return policy.lookup(host, asker);
    },
  };
}

/**
 * Checks a destination against a token's claim only, for a reply that the service has already fetched from there.
 *
 * @throws {EgressDenied} if the claim does not contain the destination.
 */
export function requireNamed(claim: NetClaim, host: string, port: number): void {
  if (claim !== null) mustContain(claim, host, containsPort(destinationsOf(claim), port));
}

function destinationsOf(claim: readonly string[] | false): ReadonlySet<string> {
  return new Set(claim === false ? [] : claim);
}

function containsPort(destinations: ReadonlySet<string>, port: number): (name: string) => boolean {
  return (name) => destinations.has(name) || destinations.has(destinationText({ host: name, port }));
}

function mustContain(claim: readonly string[] | false, host: string, contains: (name: string) => boolean): void {
  const name = canonicalHost(host);
  if (name === null) throw new EgressDenied(host, "host", "is not a host");
  if (!contains(name)) throw new EgressDenied(host, "claim", claim === false ? NO_NETWORK : NOT_NAMED);
}

const NO_NETWORK = "cannot be reached: the token permits no network";
const NOT_NAMED = "is not in the net claim of the token";
