import { canonicalHost, destinationText, readDestination } from "./host.ts";
import { EgressDenied, type EgressPolicy } from "./policy.ts";

/**
 * What a token leaves of the operator's policy: everything (null), nothing at all (false), or these places, each a host
 * or `host:port` in the spelling of `placeText`.
 */
export type NetClaim = readonly string[] | false | null;

/** The policy, narrowed by a token's claim: what the claim names is still judged by the policy. */
export function narrowed(policy: EgressPolicy, claim: NetClaim): EgressPolicy {
  if (claim === null) return policy;
  const places = placesOf(claim);
  const hosts: ReadonlySet<string> = new Set([...places].map((text) => readDestination(text)?.host ?? ""));
  return {
    // Before DNS is asked: a lookup is a way out too.
    async resolve(host, port, known) {
      mustName(claim, host, namesPlace(places, port));
      return policy.resolve(host, port, known);
    },
    async lookup(host) {
      mustName(claim, host, (name) => hosts.has(name));
      return policy.lookup(host);
    },
  };
}

/**
 * Holds a place against a token's claim alone, for what the service has from there already.
 *
 * @throws {EgressDenied} when the claim leaves it out.
 */
export function requireNamed(claim: NetClaim, host: string, port: number): void {
  if (claim !== null) mustName(claim, host, namesPlace(placesOf(claim), port));
}

function placesOf(claim: readonly string[] | false): ReadonlySet<string> {
  return new Set(claim === false ? [] : claim);
}

function namesPlace(places: ReadonlySet<string>, port: number): (name: string) => boolean {
  return (name) => places.has(name) || places.has(destinationText({ host: name, port }));
}

function mustName(claim: readonly string[] | false, host: string, isNamed: (name: string) => boolean): void {
  const name = canonicalHost(host);
  if (name === null) throw new EgressDenied(host, "host", "is not a host");
  if (!isNamed(name)) throw new EgressDenied(host, "claim", claim === false ? NO_NETWORK : NOT_NAMED);
}

const NO_NETWORK = "may not be reached: the token permits no network";
const NOT_NAMED = "is not among the places that the token permits";
