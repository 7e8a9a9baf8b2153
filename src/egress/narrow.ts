import { canonicalHost, placeText, readPlace } from "./host.ts";
import { EgressDenied, type EgressPolicy } from "./policy.ts";

/**
 * What a token leaves of the operator's policy: everything (null), nothing at all (false), or these places, each a host
 * or `host:port` in the spelling of `placeText`.
 */
export type NetClaim = readonly string[] | false | null;

/** The policy, narrowed by a token's claim: what the claim names is still judged by the policy. */
export function narrowed(policy: EgressPolicy, claim: NetClaim): EgressPolicy {
  if (claim === null) return policy;
  const places: ReadonlySet<string> = new Set(claim === false ? [] : claim);
  const hosts: ReadonlySet<string> = new Set([...places].map((text) => readPlace(text)?.host ?? ""));
  /** Before DNS is asked: a lookup is a way out too. */
  const mustName = (host: string, isNamed: (name: string) => boolean): void => {
    const name = canonicalHost(host);
    if (name === null) throw new EgressDenied(host, "host", "is not a host");
    if (!isNamed(name)) throw new EgressDenied(host, "claim", claim === false ? NO_NETWORK : NOT_NAMED);
  };
  return {
    async resolve(host, port, known) {
      mustName(host, (name) => places.has(name) || places.has(placeText({ host: name, port })));
      return policy.resolve(host, port, known);
    },
    async lookup(host) {
      mustName(host, (name) => hosts.has(name));
      return policy.lookup(host);
    },
  };
}

const NO_NETWORK = "may not be reached: the token permits no network";
const NOT_NAMED = "is not among the places that the token permits";
